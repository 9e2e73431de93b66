# truth: healthy
# then: ends
# about: a program polls a pipe of its own with a limit; it was stopped and continued, and its call is started anew with the rest of the limit (restart_syscall(2))
import os, signal
from lib import tree
seen = []
def stopped(pid):
    if not seen and tree.in_call(pid, 'poll'):
        os.kill(pid, signal.SIGSTOP); tree.until(lambda: tree.state(pid) == 'T'); os.kill(pid, signal.SIGCONT); seen.append(1)
    return seen and open(f'/proc/{pid}/syscall').read().startswith('219 ')
tree.show('''
import os, select
r, w = os.pipe(); p = select.poll(); p.register(r, select.POLLIN); p.poll(float(os.environ["SECS"]) * 1000)
''', stopped)
