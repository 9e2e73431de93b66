# truth: healthy
# then: ends
# about: a package tool asks each second for a record lock that an upgrade has for a time (apt.conf(5), DPkg::Lock::Timeout)
from lib import tree
tree.show('''
import fcntl, os, time
f = open("lock", "w"); r, w = os.pipe()
if os.fork() == 0:
    fcntl.lockf(f, fcntl.LOCK_EX); os.write(w, b"x"); time.sleep(float(os.environ["SECS"])); os._exit(0)
os.read(r, 1); open("asks", "w").close()
while True:
    try: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB); break
    except OSError: time.sleep(1)
os.wait()
''', lambda pid: __import__('os').path.exists(f'{tree.D}/asks') and tree.in_call(pid, 'nanosleep'))
