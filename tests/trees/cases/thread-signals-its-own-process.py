# truth: healthy
# then: ends
# about: the first thread pauses; another one sleeps and then sends a signal to its own process (pause(2), kill(2))
from lib import tree
tree.show('''
import os, signal, threading, time
def later(): time.sleep(float(os.environ["SECS"])); os.kill(os.getpid(), signal.SIGTERM)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
threading.Thread(target=later, daemon=True).start(); signal.pause()
''', lambda pid: tree.in_call(pid, 'pause') and len(tree.threads(pid)) == 2)
