# truth: healthy
# then: ends
# about: a client and its server both read their connection; the handler of the server's alarm says the rest of the body after a time (alarm(2); RFC 9112, 6.3)
from lib import tree
import os
tree.write('server.py', '''
import os, signal, socket
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(4)
open("port.new", "w").write(str(l.getsockname()[1])); os.rename("port.new", "port")
c = l.accept()[0]
signal.signal(signal.SIGALRM, lambda *_: c.sendall(b"67890"))
while c.recv(9999):
    c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 10\\r\\n\\r\\n12345"); signal.alarm(int(float(os.environ["SECS"]))); open("said", "w").close()
''')
tree.write('client.py', '''
import os, subprocess, sys, time, urllib.request
p = subprocess.Popen([sys.executable, "server.py"])
while not os.path.exists("port"): time.sleep(.05)
print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open("http://127.0.0.1:" + open("port").read()).read()); p.wait()
''')
tree.show(['python3', 'client.py'], lambda pid: os.path.exists(f'{tree.D}/said') and tree.in_call(pid, 'read', 'recv') and tree.child_in_call(pid, 'recv'))
