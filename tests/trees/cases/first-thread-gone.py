# truth: healthy
# then: ends
# about: the first thread has called pthread_exit, another one works (pthread_exit(3), NOTES)
import subprocess
from lib import tree
code = '''
import ctypes, os, threading, time
def work(): time.sleep(float(os.environ["SECS"])); os._exit(0)
threading.Thread(target=work).start(); ctypes.CDLL(None).pthread_exit(None)
'''
p = subprocess.Popen(['python3', '-c', code])
tree.until(lambda: tree.state(p.pid) == 'Z' and len(tree.threads(p.pid)) == 2)
tree.ready(p.pid)
raise SystemExit(p.wait())
