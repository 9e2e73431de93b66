# truth: hung
# cause: lock|futex|thread|loop
# about: a coroutine asks, blocking, for the result of another one that its own loop should run (asyncio, run_coroutine_threadsafe: "meant to be called from a different OS thread")
from lib import tree
tree.show('''
import asyncio
async def work(): return 1
async def main(): return asyncio.run_coroutine_threadsafe(work(), asyncio.get_running_loop()).result()
asyncio.run(main())
''', lambda pid: tree.in_call(pid, 'futex'))
