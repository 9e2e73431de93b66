# truth: healthy
# then: ends
# about: a writer waits in SQLite's busy handler while another connection's transaction is open for a time (sqlite3_busy_timeout)
from lib import tree
tree.show('''
import os, sqlite3, time
a = sqlite3.connect("data", isolation_level=None); a.execute("create table t (n)"); a.close()
r, w = os.pipe()
if os.fork() == 0:
    a = sqlite3.connect("data", isolation_level=None); a.execute("begin exclusive"); os.write(w, b"x")
    time.sleep(float(os.environ["SECS"])); a.execute("commit"); os._exit(0)
os.read(r, 1)
b = sqlite3.connect("data", timeout=100000, isolation_level=None); open("asks", "w").close(); b.execute("insert into t values (1)"); os.wait()
''', lambda pid: __import__('os').path.exists(f'{tree.D}/asks') and tree.in_call(pid, 'nanosleep'))
