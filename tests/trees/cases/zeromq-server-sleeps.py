# truth: healthy
# then: ends
# about: a client has sent its request to a server of the same tree, which sleeps before it answers; each has a thread of the library for its sockets (ZeroMQ, REQ and REP)
from lib import tree, more
tree.show('''
import os, time, zmq
if os.fork() == 0:
    s = zmq.Context().socket(zmq.REP); s.bind("ipc://sock"); s.recv(); open("got", "w").close(); time.sleep(float(os.environ["SECS"])); s.send(b"answer"); s.close(); zmq.Context.instance(); os._exit(0) if time.sleep(.5) is None else 0
c = zmq.Context(); s = c.socket(zmq.REQ); s.connect("ipc://sock"); s.send(b"ask"); s.recv(); os.wait()
''', lambda pid: more.there('got') and tree.in_call(pid, 'poll'))
