# truth: healthy
# then: ends
# about: one thread spins over a stdin at its end, another works and ends the process (read(2), end of file)
import subprocess
from lib import tree
code = '''
import os, threading, time
def work(): time.sleep(float(os.environ["SECS"])); os._exit(0)
threading.Thread(target=work, daemon=True).start()
while True: os.read(0, 9)
'''
p = subprocess.Popen(['python3', '-c', code], stdin=subprocess.DEVNULL)
tree.until(lambda: len(tree.threads(p.pid)) == 2)
tree.ready(p.pid)
raise SystemExit(p.wait())
