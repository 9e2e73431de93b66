# truth: healthy
# then: ends
# about: a script at a terminal ends at SIGWINCH; it waits for a job on a pipe that it holds itself; the driver makes the window larger after a time (bash(1), trap and wait)
import os, fcntl, struct, termios, time, sys
from lib import tree
os.chdir(tree.D)
tree.write('menu.sh', "mkfifo p; exec 3<>p; rm p\ntrap 'exec 3>&-; kill $S; exit 0' WINCH\ncat <&3 & S=$!\nwhile :; do wait $S; done\n")
pid, fd = tree.terminal(['bash', 'menu.sh'])
tree.announce(pid, lambda: tree.below(pid, 'cat') and tree.in_call(tree.below(pid, 'cat'), 'read') and tree.in_call(pid, 'wait'))
time.sleep(tree.SECS)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
