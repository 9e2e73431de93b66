# truth: healthy
# then: ends
# needs: docker
# about: docker wait asks its daemon, outside of the tree, for the end of a container, which comes after a time (Docker Engine API, POST /containers/{id}/wait)
import os
from lib import tree, more
more.foreign('''
import http.server, os, socketserver, time, threading
os.chdir("%s")
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def say(self, body, code=200):
        self.send_response(code); self.send_header("Api-Version", "1.43"); self.send_header("Content-Type", "application/json"); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body); self.wfile.flush()
    def do_HEAD(self): self.say(b"")
    def do_GET(self): self.say(b"OK")
    def do_POST(self):
        open("asked", "w").close(); time.sleep(float(os.environ["SECS"])); self.say(b'{"StatusCode":0}'); threading.Timer(1, os._exit, (0,)).start()
    def log_message(self, *_): pass
    def address_string(self): return ""
class S(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    def get_request(self): return self.socket.accept()[0], ("", 0)
s = S("sock", H); open("listens", "w").close(); s.serve_forever()
''' % tree.D)
tree.until(more.there, 'listens')
tree.show(['docker', '-H', f'unix://{tree.D}/sock', 'wait', 'abc'], lambda pid: more.there('asked'), env=dict(os.environ, HOME=tree.D))
