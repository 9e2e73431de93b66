# truth: healthy
# then: ends
# about: a script asks again and again, without a pause, whether its command, which sleeps, has ended (subprocess, Popen.poll)
from lib import tree
tree.show('''
import os, socket, subprocess, time
def foreign(do):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(float(os.environ["SECS"])); exec(do); os._exit(0)
    os.wait()
p = subprocess.Popen(["sleep", os.environ["SECS"]]); open("begun", "w")
while p.poll() is None: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
