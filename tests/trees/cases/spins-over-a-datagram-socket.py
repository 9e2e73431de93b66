# truth: healthy
# then: ends
# about: a script receives without blocking again and again; a process outside of its tree sends a datagram after a time (recv(2), MSG_DONTWAIT)
from lib import tree
tree.show('''
import os, socket, subprocess, time
def foreign(do):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(float(os.environ["SECS"])); exec(do); os._exit(0)
    os.wait()
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("s"); foreign("import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(bytes(1), chr(115))"); open("begun", "w")
while True:
    try: s.recv(9, socket.MSG_DONTWAIT); break
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
