"""A server on a free port of loopback: `server.py MODE FILE` writes its port into FILE.

silent: takes requests and never answers.  answered: answers the first request of each connection.
late: answers after SECS seconds and closes.  ticks: sends a line of an event stream each second.
"""
import os
import socket
import sys
import threading
import time

mode, path = sys.argv[1:3]
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(64)
with open(path + '.new', 'w') as f:
    f.write(str(listener.getsockname()[1]))
os.rename(path + '.new', path)
kept = []


def serve(peer):
    peer.recv(65536)
    if mode == 'answered':
        peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
    elif mode == 'late':
        time.sleep(float(os.environ.get('SECS', '900')))
        peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
        peer.close()
    elif mode == 'ticks':
        end = time.monotonic() + float(os.environ.get('SECS', '900'))
        while time.monotonic() < end:
            peer.sendall(b'data: tick\n\n')
            time.sleep(1)
        peer.close()


while True:
    peer, _ = listener.accept()
    kept.append(peer)
    threading.Thread(target=serve, args=(peer,), daemon=True).start()
