# truth: healthy
# then: ends
# needs: node
# about: node's http server ends a request that is not complete within server.requestTimeout with 408; the client has sent half of its body, and reads the answer without a limit.
import socket, subprocess, sys
from lib import tree
tree.write('s.js', "const s=require('http').createServer({requestTimeout:+process.env.SECS*1000,headersTimeout:+process.env.SECS*1000,connectionsCheckingInterval:1000},(q,r)=>{q.on('data',()=>{});q.on('error',()=>{});q.on('end',()=>r.end('ok'))});s.listen(0,'127.0.0.1',()=>require('fs').writeFileSync('port',''+s.address().port))")
d = subprocess.Popen(['node', 's.js'], cwd=tree.D)
port = tree.until(lambda: open(tree.D + '/port').read())
c = subprocess.Popen([sys.executable, '-c', f"import socket; s=socket.create_connection(('127.0.0.1',{port})); s.sendall(b'POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 10\\r\\n\\r\\nhalf'); print(s.recv(999))"])
tree.until(tree.in_call, c.pid, 'recv')
tree.ready(c.pid)
r = c.wait(); d.terminate(); d.wait(); sys.exit(r)
