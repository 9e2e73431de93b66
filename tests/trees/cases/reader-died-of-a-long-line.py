# truth: hung
# cause: pipe|full|read|stdout|output
# about: a host's reader died of a line over asyncio's limit of 64 KiB; its agent blocks writing the rest (asyncio streams, LimitOverrunError)
import subprocess
import sys
from lib import tree
tree.write('agent.py', 'import sys\nsys.stdin.readline(); sys.stdout.write("{" + "x" * 400000 + "\\n"); sys.stdout.flush(); sys.stdin.readline()\n')
tree.write('host.py', '''
import asyncio, os, sys
async def read(p):
    while True: await p.stdout.readline()
async def main():
    p = await asyncio.create_subprocess_exec("bash", "-c", "exec -a codex python3 agent.py app-server", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=dict(os.environ, PYTHONHOME=sys.prefix))
    print(p.pid, flush=True)
    task = asyncio.create_task(read(p)); p.stdin.write(b"{}\\n"); await p.stdin.drain()
    await asyncio.Event().wait()
asyncio.run(main())
''')
p = subprocess.Popen(['python3', 'host.py'], cwd=tree.D, stdout=subprocess.PIPE)
agent = int(p.stdout.readline())
tree.until(tree.in_call, agent, 'write')
tree.ready(agent)
sys.exit(p.wait())
