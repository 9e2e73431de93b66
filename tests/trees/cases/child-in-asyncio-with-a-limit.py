# truth: healthy
# then: ends 7
# about: an event loop waits for a child that reads a pipe which the loop keeps, with a limit of its own (asyncio, wait_for)
from lib import tree
tree.show('''
import asyncio, os, sys
async def main():
    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    try: await asyncio.wait_for(p.wait(), float(os.environ["SECS"]))
    except asyncio.TimeoutError: p.kill(); await p.wait(); sys.exit(7)
asyncio.run(main())
''', lambda pid: tree.in_call(pid, 'epoll') and tree.child_in_call(pid, 'read'))
