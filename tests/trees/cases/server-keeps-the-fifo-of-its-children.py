# truth: healthy
# then: ends
# about: a supervisor keeps a control FIFO open for reading and writing, as daemontools does, and polls it; a process of another tree writes later (fifo(7))
import os
import subprocess
from lib import tree
os.mkfifo(f'{tree.D}/control')
subprocess.run(['python3', '-c', 'import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(float(os.environ["SECS"])); open("control", "w").write("x")'], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('import os, select; f = os.open("control", os.O_RDWR); p = select.poll(); p.register(f, select.POLLIN); p.poll(); os.read(f, 9)', lambda pid: tree.in_call(pid, 'poll'))
