# truth: hung
# verdict: HUNG WORKING
# cause: processor|CPU|spin|epoll|loop
# moves: it spins
# certain: no
# about: an asyncio host whose callback schedules itself again never sleeps, while its agent waits (asyncio, call_soon)
import subprocess
import sys
from lib import tree
tree.write('host.py', '''
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("bash", "-c", "exec -a claude sleep 100000", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    loop = asyncio.get_running_loop()
    def again(): loop.call_soon(again)
    again(); print(flush=True); await asyncio.Event().wait()
asyncio.run(main())
''')
p = subprocess.Popen(['python3', 'host.py'], cwd=tree.D, stdout=subprocess.PIPE)
p.stdout.readline()
tree.until(tree.below, p.pid, 'sleep')
tree.ready(p.pid)
sys.exit(p.wait())
