# truth: healthy
# then: ends
# about: a stdio server reads requests in its first thread, and another thread sleeps before it answers
import subprocess
import sys
from lib import tree
code = '''
import os, sys, threading, time
def work():
    time.sleep(float(os.environ["SECS"])); os.write(1, b"done\\n"); os._exit(0)
for line in sys.stdin: threading.Thread(target=work).start()
'''
p = subprocess.Popen(['python3', '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(b'go\n')
p.stdin.flush()
tree.until(lambda: len(tree.threads(p.pid)) == 2)
tree.ready(p.pid)
p.stdout.readline()
sys.exit(p.wait())
