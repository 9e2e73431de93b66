# truth: hung
# cause: nothing|event|itself|loop
# about: an event loop awaits a future that nobody will ever set: no timer, no thread, no descriptor but its own (asyncio, Future)
from lib import tree
tree.show('import asyncio\nasync def main(): await asyncio.get_running_loop().create_future()\nasyncio.run(main())', tree.in_call, 'epoll')
