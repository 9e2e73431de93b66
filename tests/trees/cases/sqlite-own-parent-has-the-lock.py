# truth: hung
# verdict: HUNG WAITING WORKING UNKNOWN
# cause: lock|again|child|data
# moves: the busy handler tries again
# certain: no
# about: a parent has an open transaction and waits for its child, which asks for the same database with a busy timeout of days
from lib import tree
tree.show('''
import os, sqlite3, subprocess, sys
a = sqlite3.connect("data", isolation_level=None); a.execute("create table t (n)"); a.execute("begin exclusive")
subprocess.run([sys.executable, "-c", "import sqlite3; b = sqlite3.connect('data', timeout=1000000, isolation_level=None); b.execute('insert into t values (1)')"])
''', tree.child_in_call, 'nanosleep')
