"""What the cases share: a folder of their own, waits for conditions, terminals, names of processes.

`D` is the case's folder, `SECS` how many seconds its event takes. A condition is looked at again for at most a minute.
As a command: `tree.py in_call PID NAME…`, `tree.py below PID NAME`, `tree.py pty [--below NAME] [--call NAME] -- CMD…`.
"""
import os
import select
import sys
import time

D = os.environ.get('TREE_DIR') or ''
if not D:
    import tempfile
    D = os.environ['TREE_DIR'] = tempfile.mkdtemp()
os.environ['D'] = D
SECS = float(os.environ.setdefault('SECS', '900'))
LIB = os.environ['LIB'] = os.path.dirname(os.path.abspath(__file__))
os.environ['PYTHONDONTWRITEBYTECODE'] = '1'

# System calls of x86-64 in which cases wait; elsewhere a process counts as in its call when it sleeps.
CALLS = {
    'read': (0,), 'write': (1,), 'poll': (7, 271), 'ioctl': (16,), 'pread': (17,), 'select': (23, 270),
    'pause': (34,), 'nanosleep': (35, 230), 'connect': (42,), 'accept': (43, 288), 'sendto': (44, 46), 'recv': (45, 47),
    'wait': (61, 247), 'semop': (65, 220), 'msgrcv': (70,), 'fcntl': (72,), 'flock': (73,), 'open': (2, 257),
    'sigwait': (128,), 'sigsuspend': (130,), 'futex': (202,), 'epoll': (232, 281), 'mq': (242, 243), 'splice': (275, 276),
    'stat': (4, 5, 6, 262, 332), 'uring': (426,), 'vfork': (56, 57, 58, 435), 'msgsnd': (69,), 'writev': (20,),
}


def state(pid):
    """The letter of a process's state, or '' if there is no such process."""
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rpartition(') ')[2][:1]
    except OSError:
        return ''


def in_call(pid, *names):
    """Whether a thread (by its process's number: the first one) is in one of these system calls."""
    try:
        with open(f'/proc/{pid}/syscall') as f:
            word = f.read().split()[0]
    except (OSError, IndexError):
        return state(pid) == 'S'
    if os.uname().machine != 'x86_64':
        return state(pid) == 'S' and word != 'running'
    return word.isdigit() and int(word) in {n for name in names for n in CALLS[name]}


def threads(pid):
    return sorted(int(t) for t in os.listdir(f'/proc/{pid}/task'))


def any_in_call(pid, *names):
    return any(in_call(t, *names) for t in threads(pid))


def all_in_call(pid, *names):
    return all(in_call(t, *names) for t in threads(pid))


def children(pid):
    found = []
    for task in threads(pid):
        with open(f'/proc/{pid}/task/{task}/children') as f:
            found += [int(w) for w in f.read().split()]
    return found


def below(pid, name):
    """The first process below `pid` that has this name, or None."""
    todo, top = [pid], pid
    while todo:
        pid = todo.pop(0)
        try:
            todo += children(pid)
            with open(f'/proc/{pid}/comm') as f:
                if f.read().startswith(name[:15]) and pid != top:
                    return pid
        except OSError:
            pass
    return None


def until(condition, *args):
    """Repeats a condition until it is true, and returns what it returned; gives up after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            found = condition(*args)
        except OSError:
            found = None
        if found:
            return found
        time.sleep(.03)
    now = [describe(a) for a in args if isinstance(a, int)]
    print('never:', getattr(condition, '__name__', condition), args, *now, file=sys.stderr)
    os._exit(99)


def describe(pid):
    """What a process is and is doing, for the word on a case that never got ready."""
    try:
        words = [open(f'/proc/{pid}/{name}').read().strip() for name in ('comm', 'wchan', 'syscall')]
    except OSError as fault:
        words = [str(fault)]
    return ' '.join([state(pid), *words])


def ready(*pids):
    print('ready', *pids, flush=True)


def announce(pid, condition, *args):
    """Says `ready PID` when a condition holds, from a process that is no child of the caller's and then ends."""
    sys.stdout.flush()
    if os.fork() == 0:
        if os.fork() == 0:
            try:
                until(condition, *args)
                ready(pid)
            finally:
                os._exit(0)
        os._exit(0)
    os.wait()


def start(name, argv, **options):
    """Starts a program under another name."""
    import shutil
    import subprocess
    env = dict(options.pop('env', os.environ))
    if argv[0] in ('python3', sys.executable):
        env['PYTHONHOME'] = sys.prefix
        argv = [sys.executable] + list(argv[1:])
    return subprocess.Popen([name] + list(argv[1:]), executable=shutil.which(argv[0]), env=env, **options)


def show(argv, condition, *args, **options):
    """A case of one program (Python's, if it is a text): ready when a condition of its process holds; ends as it does."""
    import subprocess
    if isinstance(argv, str):
        argv = ['python3', '-c', argv]
    options.setdefault('cwd', D)
    p = subprocess.Popen(argv, **options)
    until(condition, p.pid, *args)
    ready(p.pid)
    left = p.wait()
    sys.exit(left if left >= 0 else 128 - left)


def child_in_call(pid, *names):
    """Whether the first child is in one of these system calls."""
    found = children(pid)
    return found and in_call(found[0], *names)


BROWSER = """
import json, os, socket, sys, threading, time
page = float(sys.argv[1]) if len(sys.argv) > 1 else None
broker, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
control, zygote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:  # the zygote waits for the broker's word to fork a renderer
    broker.close(); control.close(); os.close(3); os.close(4)
    zygote.recv(99)
    if os.fork() == 0:
        zygote.close(); child.send(b"ready")
        while True:
            if child.recv(99) == b"":
                os._exit(0)
            child.send(b"need the page"); child.recv(99); child.send(b"loaded")
    zygote.send(b"forked")
    while zygote.recv(99): pass
    os._exit(0)
child.close(); zygote.close(); control.send(b"fork"); control.recv(99); broker.recv(99)
done = threading.Semaphore(0)
def network():
    time.sleep(page); done.release()
while True:
    open(os.environ["D"] + "/idle", "w").close()
    command = os.read(3, 999)
    if not command: os._exit(0)
    broker.send(b"load"); broker.recv(99); threading.Thread(target=network).start(); done.acquire()
    broker.send(b"page"); broker.recv(99); os.write(4, b"{}")
"""
DRIVER = """
import os, subprocess, sys, tempfile
a, b = os.pipe(); c, d = os.pipe()
def place():
    e, f = os.dup(a), os.dup(d); e, f = (os.dup2(e, 20), os.dup2(f, 21)); os.dup2(20, 3); os.dup2(21, 4)
    os.closerange(5, 30)
p = subprocess.Popen(["chrome", "-c", sys.argv[1], *sys.argv[2:]], executable=sys.executable, preexec_fn=place, close_fds=False)
os.close(a); os.close(d)
if len(sys.argv) > 2:
    os.write(b, b"Page.navigate"); os.read(c, 99)
    os.close(b); sys.exit(p.wait())
import socket
s = socket.socket(socket.AF_UNIX); s.bind("driver"); s.listen(5); s.accept(); os.close(b); p.wait()
"""


def browser(page):
    """Starts a driver of a browser with its processes; with a page, which takes `page` seconds, the driver waits for it."""
    import subprocess
    import threading
    words = [sys.executable, '-c', DRIVER, BROWSER] + ([str(page)] if page else [])
    p = subprocess.Popen(words, stdin=subprocess.DEVNULL, cwd=D)
    until(os.path.exists, os.path.join(D, 'idle'))
    return p


def frozen(root, seconds):
    """A shell waits for a child in a frozen control group, which is thawed after some seconds, or never."""
    import signal
    import subprocess
    group = f'{root}/tree-{os.getpid()}'
    os.mkdir(group)
    write('cleanup', f'[ -d {group} ] || exit 0; echo 0 >{group}/cgroup.freeze; for i in $(seq 100); do rmdir {group} && exit; sleep .05; done')
    p = subprocess.Popen(['sh', '-c', 'sleep 1; exit 0'])
    with open(f'{group}/cgroup.procs', 'w') as f:
        f.write(str(p.pid))
    with open(f'{group}/cgroup.freeze', 'w') as f:
        f.write('1')
    until(lambda: 'frozen 1' in open(f'{group}/cgroup.events').read())
    ready(p.pid if seconds is None else os.getpid())
    if seconds is None:
        signal.pause()
    time.sleep(seconds)
    with open(f'{group}/cgroup.freeze', 'w') as f:
        f.write('0')
    sys.exit(p.wait())


def has_node():
    import shutil
    return shutil.which('node') is not None


def agent(name, *args, do=None, **options):
    """Starts a stand-in for an agent, which does what `do` says."""
    import json
    env = dict(options.pop('env', os.environ), DO=json.dumps(do or {}))
    return start(name, ['node', f'{LIB}/agent.js', *args], env=env, **options)


def write(name, text):
    path = os.path.join(D, name)
    with open(path, 'w') as f:
        f.write(text)
    return path


def code(status):
    status = os.waitstatus_to_exitcode(status)
    return status if status >= 0 else 128 - status


def terminal(argv, env=None, size=(24, 80)):
    """Starts a program on a new terminal; returns its process and the terminal's other end."""
    import fcntl
    import pty
    import struct
    import termios
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, env or dict(os.environ, TERM='xterm'))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', *size, 0, 0))
    os.set_inheritable(fd, False)
    return pid, fd


def keep(pid, fd, shown=None):
    """Reads a terminal until its program ends; who connects to the socket `keyboard` of the case's folder can type there."""
    import socket
    listener = socket.socket(socket.AF_UNIX)
    os.chdir(D)
    listener.bind('keyboard')
    listener.listen(4)
    peers = []
    while True:
        for one in select.select([fd, listener, *peers], [], [])[0]:
            if one is listener:
                peers.append(listener.accept()[0])
            elif one is not fd:
                data = one.recv(4096)
                if data:
                    os.write(fd, data)
                else:
                    peers.remove(one)
                    one.close()
            else:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    data = b''
                if not data:
                    return code(os.waitpid(pid, 0)[1])
                if shown is not None:
                    shown.extend(data)


def run_terminal(argv, name=None, calls=(), condition=None):
    """A case on a terminal: ready when the program (or the one below it with this name) is in one of these calls."""
    pid, fd = terminal(argv)

    def settled():
        found = below(pid, name) if name else pid
        return found and (not calls or in_call(found, *calls)) and (condition is None or condition(found))

    announce(pid, settled)
    sys.exit(keep(pid, fd))


if __name__ == '__main__':
    verb, rest = sys.argv[1], sys.argv[2:]
    if verb == 'in_call':
        sys.exit(not in_call(rest[0], *rest[1:]))
    elif verb == 'below':
        found = below(int(rest[0]), rest[1])
        print(found or '')
        sys.exit(not found)
    elif verb == 'pty':
        at = rest.index('--')
        options = dict(zip(rest[:at:2], rest[1:at:2]))
        run_terminal(rest[at + 1:], options.get('--below'), options.get('--call', '').split())
    else:
        sys.exit(f'no {verb}')
