# truth: healthy
# then: ends
# about: a program of trio waits for its process, which sleeps, and for nothing else (trio.run_process: a descriptor of the process or a thread in waitid)
from lib import tree
tree.show('import os, trio\ntrio.run(lambda: trio.run_process(["sleep", os.environ["SECS"]]))', lambda pid: tree.in_call(pid, 'epoll') and tree.child_in_call(pid, 'nanosleep'))
