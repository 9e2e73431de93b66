# truth: hung
# cause: stdin|standard input|each other|pipe
# culprit: python
# about: an event loop waits for the end of sort, whose stdin it never closes (asyncio.subprocess, Process.wait; sort(1) reads to the end)
from lib import tree
tree.show('''
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("sort", stdin=-1, stdout=-1); p.stdin.write(b"b\\\\na\\\\n"); await p.wait()
asyncio.run(main())
''', lambda pid: tree.in_call(pid, 'epoll') and tree.child_in_call(pid, 'read'))
