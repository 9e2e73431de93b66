"""lazy.py FILE: takes one connection on a free port of loopback, whose port it writes into FILE, reads its first bytes, sleeps SECS, reads the rest and answers."""
import os, socket, sys, time
l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096); l.bind(('127.0.0.1', 0)); l.listen(9)
open(sys.argv[1] + '.new', 'w').write(str(l.getsockname()[1])); os.rename(sys.argv[1] + '.new', sys.argv[1])
c, _ = l.accept(); c.recv(500); time.sleep(float(os.environ['SECS'])); c.settimeout(2); data = b''
try:
    while not data.endswith(b'0\r\n\r\n'):
        d = c.recv(1 << 20)
        if not d: break
        data = (data + d)[-99:]
except OSError: pass
try: c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok')
except OSError: pass
c.close()
