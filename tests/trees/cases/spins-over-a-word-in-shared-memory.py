# truth: healthy
# then: ends
# about: a script looks at a word in shared memory again and again and yields its processor; a process outside of its tree sets it after a time (sched_yield(2), mmap(2))
from lib import tree
tree.show('''
import os, socket, subprocess, time
def foreign(do):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(float(os.environ["SECS"])); exec(do); os._exit(0)
    os.wait()
import mmap
m = mmap.mmap(-1, 4096); foreign("m[0] = 1"); open("begun", "w")
while not m[0]: os.sched_yield()
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
