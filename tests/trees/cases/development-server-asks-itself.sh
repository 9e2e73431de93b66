# truth: hung
# verdict: HUNG WAITING
# cause: python3|127\.0\.0\.1|itself|own
# moves: curl looks each second
# needs: curl python3
# about: a server that takes one request at a time asks itself in a request's handler, without a limit (Python, http.server.HTTPServer; urllib has no default limit)
. "${0%/*}/lib/tree.sh"
cat >server.py <<'W'
import http.server, os, urllib.request
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        urllib.request.urlopen(f'http://127.0.0.1:{self.server.server_address[1]}/inner').read()
s = http.server.HTTPServer(('127.0.0.1', 0), H)
open('port.new', 'w').write(str(s.server_address[1])); os.rename('port.new', 'port')
s.serve_forever()
W
python3 server.py 2>log &
S=$!
await test -s port
curl -s "http://127.0.0.1:$(<port)/" &
P=$!
await in_call $S recv
await in_call $P poll
ready $P
wait $P
