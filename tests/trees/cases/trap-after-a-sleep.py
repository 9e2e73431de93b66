# truth: healthy
# then: ends
# about: a harness asks a shell to end with SIGTERM and waits; the shell's trap runs when its foreground command has ended, which is a sleep (bash(1), SIGNALS)
import os
from lib import tree
tree.show('''
import os, subprocess, time
p = subprocess.Popen(["bash", "-c", "trap 'exit 0' TERM; touch up; sleep $SECS; echo over"], stdin=subprocess.DEVNULL)
while not os.path.exists("up"): time.sleep(.05)
p.terminate(); open("asked", "w").close()
p.wait()
''', lambda pid: os.path.exists(f'{tree.D}/asked') and tree.in_call(pid, 'wait') and tree.below(pid, 'sleep'))
