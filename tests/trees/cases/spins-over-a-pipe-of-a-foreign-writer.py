# truth: healthy
# then: ends
# about: a script reads a pipe that does not block again and again, without a pause; a process outside of its tree writes after a time (read(2): EAGAIN)
from lib import tree
tree.show('''
import os, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid(); os.close(r)
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); os.write(w, b"x"); os._exit(0)
os.close(w); os.wait(); os.set_blocking(r, False); open("begun", "w")
while True:
    try: os.read(r, 1); break
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
