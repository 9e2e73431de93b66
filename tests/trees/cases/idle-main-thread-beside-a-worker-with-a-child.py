# truth: healthy
# then: ends
# about: the main thread sleeps in select without a limit, and a worker thread waits for a command and then ends the process (Python, threading, subprocess.run, os._exit)
from lib import tree
tree.show('''
import os, select, subprocess, threading
def work(): os._exit(subprocess.run(["sleep", os.environ["SECS"]]).returncode)
threading.Thread(target=work).start(); select.select([], [], [])
''', lambda pid: tree.in_call(pid, 'select') and tree.child_in_call(pid, 'nanosleep'))
