# truth: waiting
# verdict: WAITING UNKNOWN WORKING
# then: types n\r
# needs: node npx
# about: a person at a terminal is asked whether to install a package (npx: "Ok to proceed?")
. "${0%/*}/lib/tree.sh"
export HOME=$D npm_config_update_notifier=false
unset CI
cat >web.py <<'J'
import http.server, os, json
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        b = json.dumps({'name': 'some-tool', 'dist-tags': {'latest': '1.0.0'}, 'versions': {'1.0.0': {'name': 'some-tool', 'version': '1.0.0', 'bin': {'some-tool': 'a.js'}, 'dist': {'tarball': 'http://127.0.0.1:1/a.tgz', 'shasum': '0' * 40}}}}).encode()
        self.send_response(200); self.send_header('Content-Type', 'application/json'); self.send_header('Content-Length', str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self, *_): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
open('port.new', 'w').write(str(s.server_address[1])); os.rename('port.new', 'port'); s.serve_forever()
J
python3 web.py &
await test -s port
cat >t.py <<'J'
import os, sys, threading
sys.path.insert(0, os.environ['LIB'] + '/..')
from lib import tree
shown = bytearray()
pid, fd = tree.terminal(sys.argv[1:])
def look():
    tree.until(lambda: b'proceed' in shown)
    tree.ready(pid)
threading.Thread(target=look, daemon=True).start()
sys.exit(tree.keep(pid, fd, shown))
J
exec python3 t.py npx --registry http://127.0.0.1:$(<port)/ --cache "$D/c" some-tool
