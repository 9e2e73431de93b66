# truth: healthy
# then: ends 3
# about: a host and its worker are both blocked in a send into a full pair of sockets; the handler of the host's interval timer ends it, and the worker with it (setitimer(2); unix(7))
import os
from lib import tree
tree.show('''
import multiprocessing, os, signal
m = multiprocessing.get_context("fork")
a, b = m.Pipe()
def work(): a.close(); b.send_bytes(b"x" * 5000000); b.recv_bytes()
p = m.Process(target=work); p.start(); b.close()
def over(*_): p.kill(); p.join(); os._exit(3)
signal.signal(signal.SIGALRM, over); signal.setitimer(signal.ITIMER_REAL, float(os.environ["SECS"]))
a.send_bytes(b"y" * 5000000); a.recv_bytes(); p.join()
''', lambda pid: tree.in_call(pid, 'write', 'sendto') and tree.child_in_call(pid, 'write', 'sendto'))
