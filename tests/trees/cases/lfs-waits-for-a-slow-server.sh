# truth: healthy
# then: ends
# needs: git git-lfs
# about: git lfs waits for its server, which answers after a time that it has no such file; its own limit of inactivity is longer (git-lfs-config(5), lfs.activitytimeout)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
export HOME=$D
git init -q w; git config --global user.name a; git config --global user.email a@b; git config --global lfs.activitytimeout 1000000; git lfs install --skip-repo >/dev/null 2>&1
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5\n' 7 >w/a.bin; echo '*.bin filter=lfs' >w/.gitattributes; GIT_LFS_SKIP_SMUDGE=1 git -C w add -A; git -C w commit -qm x
cat >web.py <<J
import http.server, os, time
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length'])); open('$D/asked', 'w').close(); time.sleep($S+2)
        self.send_response(404); self.send_header('Content-Type', 'application/vnd.git-lfs+json'); b = b'{"message":"none"}'; self.send_header('Content-Length', str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self, *_): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
open('port.new', 'w').write(str(s.server_address[1])); os.rename('port.new', 'port'); s.serve_forever()
J
python3 web.py & W=$!
await test -s port
git -C w config lfs.url http://127.0.0.1:$(<port)/lfs
git -C w lfs pull >out 2>&1 </dev/null &
P=$!
await test -e asked
ready $P
wait $P
kill $W; exit 0
