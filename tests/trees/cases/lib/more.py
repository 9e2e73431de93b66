"""Helpers of the cases: a process outside of the tree, a system call of a thread, a tool on a held stdin."""
import os
import subprocess
import sys
from lib import tree


def foreign(code, *args):
    """Runs Python code in a process that is no child of the case, has its own session and none of the case's descriptors."""
    sys.stdout.flush()
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open('/dev/null', os.O_RDWR)
        for n in (0, 1, 2):
            os.dup2(null, n)
        os.closerange(3, 64)
        os.execv(sys.executable, [sys.executable, '-c', code, *map(str, args)])
    os.waitpid(first, 0)


def number(pid):
    """The system call's number, or None."""
    try:
        word = open(f'/proc/{pid}/syscall').read().split()[0]
    except (OSError, IndexError):
        return None
    return int(word) if word.lstrip('-').isdigit() else None


def there(name):
    return os.path.exists(os.path.join(tree.D, name))


def tool_on_a_held_stdin(command, program):
    """An agent runs a command, keeps the write end of its stdin without a word, and waits for its end."""
    tool = {'cmd': command, 'stdio': ['pipe', 'pipe', 'pipe']}
    p = tree.agent('claude', '-p', 'go', do={'tools': [tool], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)

    def waits():
        pid = tree.below(p.pid, program)
        return pid and tree.any_in_call(pid, 'read', 'poll', 'select', 'epoll', 'recv')

    tree.until(waits)
    tree.ready(p.pid)
    p.wait()
