# truth: hung
# cause: pipe|output|full
# culprit: python3
# about: an event loop waits for its child's end while nobody takes what it has read: it reads no further, and the child blocks (asyncio, Process.wait: note on deadlocks)
from lib import tree
tree.show('''
import asyncio, sys
async def main():
    p = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('x' * (1 << 20))", stdout=-1)
    await p.wait()
asyncio.run(main())
''', lambda pid: tree.in_call(pid, 'epoll') and tree.child_in_call(pid, 'write') and all(tree.child_in_call(pid, 'write') for _ in range(50)))
