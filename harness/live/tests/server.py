"""A small server of our own: it asks its model once, answers its client, and tells of its session a while later.

A question of the model's waits until somebody aborts the session."""
import http.server, json, queue, sys, threading, time, urllib.request

BASE, PORT = sys.argv[1], int(sys.argv[2])
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("bash", "question")]
CLIENTS = []
ABORTED = threading.Event()


def tell(kind):
    for client in CLIENTS:
        client.put({"type": kind, "properties": {"sessionID": "ses_1"}})


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        if body is not None:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body or b"")

    def do_GET(self):
        events = queue.Queue()
        events.put({"type": "server.connected", "properties": {}})
        CLIENTS.append(events)
        self.answer("text/event-stream", None)
        while True:
            self.wfile.write(f"data: {json.dumps(events.get())}\n\n".encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/session":
            return self.answer("application/json", b'{"id":"ses_1"}')
        if self.path.endswith("/abort"):
            ABORTED.set()
            return self.answer("application/json", b"true")
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": TOOLS}).encode()
        request = urllib.request.Request(BASE + "/v1/chat/completions", body, {"content-type": "application/json"})
        message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
        if message.get("tool_calls"):
            ABORTED.wait()
        self.answer("application/json", b'{"info":{}}')
        # what a busy machine makes of a few milliseconds
        for _ in range(2):
            time.sleep(1.2)
            tell("session.updated")


server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
print(f"listening on http://127.0.0.1:{PORT}", flush=True)
server.serve_forever()
