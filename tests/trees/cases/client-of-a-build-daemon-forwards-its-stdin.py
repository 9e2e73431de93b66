# truth: healthy
# then: ends
# needs: node
# about: a build tool's client has a thread that forwards its silent stdin, and waits for its daemon on loopback, which left the tree and whose worker builds (Gradle, build daemon)
import os
import subprocess
import sys
from lib import tree
tree.write('daemon.py', '''
import os, socket, subprocess, sys, threading
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen(8)
def build(peer, file):
    worker = subprocess.Popen([sys.executable, "worker.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    worker.stdin.write(b"compile\\n"); worker.stdin.flush()
    worker.stdout.readline(); peer.sendall(b"built\\n"); peer.close(); worker.stdin.close(); worker.wait(); os._exit(0)
def serve(peer):
    file = peer.makefile("rb")
    if file.readline() == b"build\\n": threading.Thread(target=build, args=(peer, file)).start()
    while file.readline(): pass
open("port.new", "w").write(str(listener.getsockname()[1])); os.rename("port.new", "port")
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
''')
tree.write('worker.py', '''
import os, sys, time
for line in sys.stdin: open("works", "w").close(); time.sleep(float(os.environ["SECS"])); print("done", flush=True)
''')
tree.write('client.py', '''
import os, socket, sys, threading
s = socket.create_connection(("127.0.0.1", int(open("port").read())))
def forward():
    while data := os.read(0, 4096): s.sendall(data)
threading.Thread(target=forward, daemon=True).start()
s.sendall(b"build\\n"); s.recv(99); os._exit(0)
''')
tree.start('python3', ['python3', 'daemon.py'], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=tree.D)
tree.until(os.path.exists, f'{tree.D}/port')
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['python3', 'client.py'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(os.path.exists, f'{tree.D}/works')
client = tree.until(tree.below, p.pid, 'python3')
tree.until(tree.all_in_call, client, 'recv', 'read')
tree.ready(p.pid)
sys.exit(p.wait())
