# truth: healthy
# then: ends
# about: an event loop without any descriptor of others waits for a future that a thread sets after a time (asyncio, run_in_executor)
from lib import tree
tree.show('''
import asyncio, os, time
async def main(): await asyncio.to_thread(time.sleep, float(os.environ["SECS"]))
asyncio.run(main())
''', lambda pid: len(tree.threads(pid)) == 2 and tree.in_call(pid, 'epoll'))
