# truth: healthy
# then: ends
# about: a script reads a pipe that does not block again and again, without a pause; its child writes after a time (read(2): EAGAIN)
from lib import tree
tree.show('''
import os, socket, subprocess, time
def foreign(do):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(float(os.environ["SECS"])); exec(do); os._exit(0)
    os.wait()
r, w = os.pipe()
if os.fork() == 0: os.close(r); time.sleep(float(os.environ["SECS"])); os.write(w, b"x"); os._exit(0)
os.close(w); os.set_blocking(r, False); open("begun", "w")
while True:
    try: os.read(r, 1); break
    except BlockingIOError: pass
os.wait()
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
