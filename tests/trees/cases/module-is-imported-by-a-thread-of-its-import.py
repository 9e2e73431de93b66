# truth: hung
# cause: thread|lock|futex|each other|itself
# about: a module's first import starts a thread that imports the same module, and joins it: the thread waits for the module's lock (Python, importlib: per-module locks)
from lib import tree
tree.write('m.py', 'import threading\ndef f():\n    import m\n    m.done\nt = threading.Thread(target=f); t.start(); t.join(); done = 1\n')
tree.show('import sys; sys.path.insert(0, "."); import m', lambda pid: len(tree.threads(pid)) == 2 and tree.all_in_call(pid, 'futex'))
