# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: answer|silent|connection|stream|server|request
# certain: no
# moves: the server's pings
# needs: node
# about: an agent has posted a tool's call to a server and waits for its answer on the server's event stream, which says a ping every two seconds and nothing else; the server has dropped the request (MCP, HTTP with SSE)
import os
import subprocess
from lib import tree
tree.write('server.py', '''
import http.server, os, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.send_header("Connection", "close"); self.end_headers()
        self.wfile.write(b"event: endpoint\\ndata: /messages\\n\\n")
        while True: self.wfile.write(b": ping\\n\\n"); time.sleep(2)
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(202); self.send_header("Content-Length", "0"); self.end_headers(); open("taken", "w").close()
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
open("port.new", "w").write(str(s.server_address[1])); os.rename("port.new", "port")
s.serve_forever()
''')
tree.write('agent.js', '''
const http = require('http');
http.get({ port: process.env.PORT, host: '127.0.0.1', path: '/sse' }, stream => {
  stream.on('data', d => { if (String(d).includes('"id":1')) process.exit(0); });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search' } });
  http.request({ port: process.env.PORT, host: '127.0.0.1', path: '/messages', method: 'POST', headers: { 'content-length': body.length } }, a => a.resume()).end(body);
});
''')
server = subprocess.Popen(['python3', 'server.py'], cwd=tree.D)
tree.until(os.path.exists, f'{tree.D}/port')
p = tree.start('claude', ['node', 'agent.js', '-p', 'go'], cwd=tree.D, stdin=subprocess.DEVNULL, env=dict(os.environ, PORT=open(f'{tree.D}/port').read()))
tree.until(os.path.exists, f'{tree.D}/taken')
tree.ready(p.pid)
raise SystemExit(p.wait())
