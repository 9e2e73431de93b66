# truth: healthy
# then: ends
# about: a script writes to a full pipe that does not block again and again; its reader, a child, takes a time over what it has (write(2): EAGAIN)
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
if os.fork() == 0:
    os.close(w); time.sleep(float(os.environ["SECS"]))
    while os.read(r, 65536): pass
    os._exit(0)
os.close(r); os.set_blocking(w, False); n = os.write(w, bytes(65536)); open("begun", "w")
while n < 200000:
    try: n += os.write(w, bytes(4096))
    except BlockingIOError: pass
os.close(w); os.wait()
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
