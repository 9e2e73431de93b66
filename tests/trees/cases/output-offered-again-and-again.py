# truth: healthy
# then: ends
# about: a script offers its log again and again, without a pause, to a named pipe that is full; a reader from outside of its tree opens and empties it after a time (fifo(7); write(2): EAGAIN)
from lib import tree
tree.show('''
import os, time
os.mkfifo("log"); w = os.open("log", os.O_RDWR | os.O_NONBLOCK); n = os.write(w, bytes(65536))
if os.fork() == 0:
    os.setsid(); os.close(w)
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); os.read(os.open("log", os.O_RDONLY), 65536); os._exit(0)
os.wait(); open("begun", "w")
while True:
    try: os.write(w, bytes(4096)); break
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
