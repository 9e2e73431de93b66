# truth: healthy
# then: ends
# about: an event loop has not reaped a helper that has ended, and waits for the first client at its socket, which calls after a time from outside of its tree (asyncio; wait(2), zombies)
import subprocess
from lib import tree
subprocess.run(['python3', '-c', '''
import os, signal, socket, time
if os.fork(): os._exit(0)
os.setsid()
while not os.path.exists("waiter"): time.sleep(.05)
time.sleep(float(os.environ["SECS"]))
socket.socket(socket.AF_UNIX).connect("s")
'''], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('''
import os, signal, socket, subprocess, select
p = subprocess.Popen(["true"])
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
import asyncio
async def main():
    done = asyncio.Event(); s = await asyncio.start_unix_server(lambda r, w: done.set(), "s"); open("waiter", "w"); await done.wait(); os._exit(0)
asyncio.run(main())
''', tree.in_call, 'epoll')
