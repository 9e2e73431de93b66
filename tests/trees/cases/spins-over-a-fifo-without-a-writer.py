# truth: healthy
# then: ends
# about: a script reads a FIFO that has no writer and does not block again and again, until a job outside of its tree opens it and writes after a time (fifo(7), read(2): 0 without a writer)
from lib import tree
tree.show('''
import os, time
os.mkfifo("f")
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); os.write(os.open("f", os.O_WRONLY), b"x"); time.sleep(1); os._exit(0)
os.wait(); f = os.open("f", os.O_RDONLY | os.O_NONBLOCK); open("begun", "w")
while True:
    try:
        if os.read(f, 1): break
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
