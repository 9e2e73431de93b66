# truth: hung
# cause: terminal|/dev/tty
# culprit: git
# needs: git node
# about: below an agent's screen git asks at /dev/tty for a user name, since a server wants one (gitcredentials(7))
. "${0%/*}/lib/tree.sh"
cat >web.py <<'S'
import http.server, os
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(401); self.send_header('WWW-Authenticate', 'Basic realm=x'); self.send_header('Content-Length', '0'); self.end_headers()
    def log_message(self, *_): pass
s = http.server.HTTPServer(('127.0.0.1', 0), H)
open('port.new', 'w').write(str(s.server_address[1])); os.rename('port.new', 'port'); s.serve_forever(1e6)
S
python3 web.py &
await test -s port
export HOME=$D GIT_CONFIG_NOSYSTEM=1 DO='{"raw":true,"tools":[["git","ls-remote","http://127.0.0.1:'$(<port)'/x.git"]]}'
unset GIT_ASKPASS SSH_ASKPASS GIT_TERMINAL_PROMPT
exec python3 "$LIB/tree.py" pty --below git-remote-http --call read -- bash -c 'exec -a claude node "$LIB/agent.js"'
