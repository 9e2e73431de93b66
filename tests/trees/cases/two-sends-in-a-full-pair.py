# truth: hung
# cause: each other|full|socket|circle|write
# about: a host and its worker each send a long message over a socketpair before they receive: both are blocked in send (unix(7); multiprocessing, Connection.send)
import os
from lib import tree
tree.show('''
import multiprocessing
m = multiprocessing.get_context("fork")
a, b = m.Pipe()
def work(): a.close(); b.send_bytes(b"x" * 5000000); b.recv_bytes()
p = m.Process(target=work); p.start(); b.close()
a.send_bytes(b"y" * 5000000); a.recv_bytes(); p.join()
''', lambda pid: tree.in_call(pid, 'write', 'sendto') and tree.child_in_call(pid, 'write', 'sendto'))
