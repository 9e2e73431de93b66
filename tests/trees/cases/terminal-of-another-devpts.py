# truth: hung
# cause: terminal|pts/
# not: reads the other side|output is stopped
# needs: root unshare mount
# about: a sandbox has a devpts of its own, whose numbers begin at 0 again (devpts.rst: "each mount of devpts is a distinct
# about: file system"); nobody there reads what a program writes, and who has the host's terminal of that number is no matter
import os
import pty
import signal
import sys
from lib import tree
if len(sys.argv) > 1:
    number = int(sys.argv[1])
    pairs = [pty.openpty() for _ in range(number + 1)]
    master, slave = next(pair for pair in pairs if os.ttyname(pair[1]) == f'/dev/pts/{number}')
    writer = os.fork()
    if writer == 0:
        os.setsid()
        for fd in range(3):
            os.dup2(slave, fd)
        os.closerange(3, 1000)
        os.execvp('python3', ['python3', '-c', 'while True: print("x" * 200)'])
    for pair in pairs:
        os.close(pair[1])
        if pair[0] != master:
            os.close(pair[0])
    tree.until(lambda: all(tree.in_call(writer, 'write') for _ in range(20)))
    tree.ready(writer)
    signal.pause()
host, other = pty.openpty()
number = os.ttyname(other).rpartition('/')[2]
os.set_inheritable(host, True)
if os.fork() == 0:
    os.environ['PYTHONHOME'] = sys.prefix
    os.execvp('bash', ['bash', '-c', f'exec -a hostterm python3 -c "import os; os.read({host}, 1)"'])
os.close(host)
mounts = 'mount -t devpts -o newinstance,ptmxmode=0666 none /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx'
os.execvp('unshare', ['unshare', '-m', 'sh', '-c', f'{mounts} && exec python3 "$0" {number}', os.path.abspath(__file__)])
