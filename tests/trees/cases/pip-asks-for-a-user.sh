# truth: hung
# cause: stdin|pipe|input
# culprit: pip|python
# needs: pip node
# about: an agent's tool installs from an index that wants a password: pip asks for the user on its stdin, a pipe that the agent keeps open (pip, --no-input)
. "${0%/*}/lib/tree.sh"
cat >web.py <<'S'
import http.server, os
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(401); self.send_header('WWW-Authenticate', 'Basic realm=x'); self.send_header('Content-Length', '0'); self.end_headers()
    def log_message(self, *_): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
open('port.new', 'w').write(str(s.server_address[1])); os.rename('port.new', 'port'); s.serve_forever(1e6)
S
python3 web.py &
await test -s port
export HOME=$D PIP_CONFIG_FILE=/dev/null
DO='{"tools":[{"cmd":["python3","-m","pip","download","--disable-pip-version-check","-i","http://127.0.0.1:'$(<port)'/simple","nothing-of-this-name"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent opencode run go </dev/null &
A=$!
await waits_below $A python3 read
ready $A
wait $A
