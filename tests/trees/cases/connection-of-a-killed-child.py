# truth: hung
# cause: itself|own|only|socket|pipe|connection
# about: a parent receives from a pair of connections; the child was killed, and the parent still has the child's end open itself (multiprocessing, Connection.recv: EOFError only if the other end was closed)
import os
from lib import tree
tree.show('''
import multiprocessing, os, signal
m = multiprocessing.get_context("fork")
mine, its = m.Pipe()
p = m.Process(target=signal.pause); p.start(); os.kill(p.pid, 9); p.join()
open("joined", "w").close()
mine.recv()
''', lambda pid: os.path.exists(f'{tree.D}/joined') and tree.in_call(pid, 'read', 'recv'))
