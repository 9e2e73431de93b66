# truth: healthy
# then: ends
# about: a child has inherited the lock's open file description and ends after a time, which gives the lock back (flock(2))
import subprocess
from lib import tree
code = '''
import fcntl, os, time
path = os.environ["D"] + "/lock"
f = open(path, "a"); fcntl.flock(f, 2)
if os.fork() == 0: time.sleep(float(os.environ["SECS"])); os._exit(0)
f.close(); g = open(path, "a"); fcntl.flock(g, 2); os.wait()
'''
p = subprocess.Popen(['python3', '-c', code])
tree.until(tree.in_call, p.pid, 'flock')
tree.ready(p.pid)
raise SystemExit(p.wait())
