# truth: hung
# verdict: HUNG
# cause: pipe
# about: a program waits for its child's end and does not take its output, beyond what the stream keeps (Python, asyncio.subprocess, Process.wait: "this method can deadlock")
from lib import tree
tree.show('''
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("head", "-c", "9000000", "/dev/zero", stdout=asyncio.subprocess.PIPE)
    await p.wait()
asyncio.run(main())
''', lambda pid: tree.in_call(pid, 'epoll') and tree.child_in_call(pid, 'write'))
