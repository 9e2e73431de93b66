# truth: healthy
# then: ends
# about: a client's request goes through two relays outside of its tree, event loops without timers, to a server that answers after a time (RFC 9110, 3.7 Intermediaries)
import os
from lib import tree, more
RELAY = '''
import asyncio, os, sys
os.chdir("%s"); mine, next = sys.argv[1:]
async def copy(r, w):
    while (d := await r.read(4096)): w.write(d); await w.drain()
    w.close()
async def one(r, w):
    r2, w2 = await asyncio.open_unix_connection(next); await asyncio.gather(copy(r, w2), copy(r2, w)); os._exit(0)
async def main():
    s = await asyncio.start_unix_server(one, mine); await s.serve_forever()
asyncio.run(main())
''' % tree.D
more.foreign('''
import os, socket, time
os.chdir("%s"); l = socket.socket(socket.AF_UNIX); l.bind("c"); l.listen(1); c, _ = l.accept(); c.recv(9); open("asked", "w"); time.sleep(float(os.environ["SECS"])); c.send(b"answer")
''' % tree.D)
more.foreign(RELAY, 'b', 'c'); more.foreign(RELAY, 'a', 'b')
tree.until(lambda: all(map(more.there, 'abc')))
tree.show('import socket; s = socket.socket(socket.AF_UNIX); s.connect("a"); s.send(b"ask"); s.recv(9)', lambda pid: more.there('asked'))
