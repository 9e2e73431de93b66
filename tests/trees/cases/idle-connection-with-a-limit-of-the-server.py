# truth: healthy
# then: ends
# about: a client opens a connection in advance and asks on a second one; the server takes one connection at a time and gives up on the first after its limit (Python, socketserver.StreamRequestHandler.timeout)
import os
os.environ["LIMIT"] = os.environ.get("SECS", "900")
from lib import tree
tree.write('server.py', '''
import http.server, os
class H(http.server.SimpleHTTPRequestHandler):
    timeout = float(os.environ.get("LIMIT") or 0) or None
s = http.server.HTTPServer(("127.0.0.1", 0), H)
open("port.new", "w").write(str(s.server_address[1])); os.rename("port.new", "port")
s.serve_forever()
''')
tree.write('client.py', '''
import http.client, os, subprocess, sys, time
p = subprocess.Popen([sys.executable, "server.py"], stderr=subprocess.DEVNULL)
while not os.path.exists("port"): time.sleep(.05)
ahead = http.client.HTTPConnection("127.0.0.1", int(open("port").read())); ahead.connect()
asks = http.client.HTTPConnection("127.0.0.1", int(open("port").read())); asks.request("GET", "/"); open("asked", "w").close()
asks.getresponse().read(); p.kill(); p.wait()
''')
tree.show(['python3', 'client.py'], lambda pid: os.path.exists(f'{tree.D}/asked') and tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'recv', 'poll'))
