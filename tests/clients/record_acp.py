"""Records what `opencode acp` says to an editor: the exchanges of fake-agents/tests/golden/opencode-acp-VERSION.

    python3 tests/clients/record_acp.py VERSION... [--only NAME]

Each release runs in the sandbox of `rehang record` (`rehang` is taken from PATH), started by this same program, which plays
the editor there and prints all that goes over the streams. Ids and folders are masked by `rehang record`; lines of stderr are
left out. A recording without `EXIT` is of a release that hung.
"""
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

# Recording: how the editor acts, and the scenario whose model it meets.
FLOWS = {
    "text": "text", "modes": "text", "malformed": "text", "authenticate": "text", "bash": "bash-runs",
    "bash-cancel": "bash-never-ends", "bash-eof": "bash-never-ends", "stall-cancel": "stream-stalled",
    "stall-eof": "stream-stalled", "question": "question", "subagent-permission": "subagent-permission",
    "permission-once": "bash-permission", "permission-always": "bash-permission", "permission-reject": "bash-permission",
    "permission-never": "bash-permission", "permission-cancel": "bash-permission",
    "permission-cancelled": "bash-permission", "permission-error": "bash-permission", "permission-eof": "bash-permission",
    "permission-bogus": "bash-permission",
}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


class Editor:
    def __init__(self, flow, argv):
        self.flow, self.began, self.next, self.heard = flow, time.monotonic(), 0, queue.Queue()
        pipe = subprocess.PIPE
        self.agent = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in iter(self.agent.stdout.readline, b""):
            self.heard.put(json.loads(line))
        self.heard.put(None)

    def note(self, direction, message):
        print(json.dumps({"at": round(time.monotonic() - self.began, 3), "is": direction, "what": message}), flush=True)

    def send(self, message):
        self.note("IN", message)
        text = message if isinstance(message, str) else json.dumps(message)
        self.agent.stdin.write(text.encode() + b"\n")
        self.agent.stdin.flush()

    def close(self):
        if not self.agent.stdin.closed:
            self.agent.stdin.close()
            self.note("IN", "<close>")

    def request(self, method, params):
        self.next += 1
        self.send({"jsonrpc": "2.0", "id": self.next - 1, "method": method, "params": params})
        return self.next - 1

    def cancel(self):
        self.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": self.session}})

    def permission(self, request):
        choice = {"once": "once", "always": "always", "reject": "reject", "bogus": "bogus"}
        act = self.flow.partition("-")[2]
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if act in choice:
            self.send({**answer, "result": {"outcome": {"outcome": "selected", "optionId": choice[act]}}})
        elif act == "cancelled":
            self.send({**answer, "result": {"outcome": {"outcome": "cancelled"}}})
        elif act == "error":
            self.send({**answer, "error": {"code": -32000, "message": "no"}})
        elif act == "cancel":
            self.cancel()
        elif act == "eof":
            self.close()

    def hear(self, limit, until=None):
        """Takes what the agent says for so many seconds, or until it has answered this request."""
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            try:
                message = self.heard.get(timeout=left)
            except queue.Empty:
                return None
            if message is None:
                return None
            self.note("OUT", message)
            if message.get("method") == "session/request_permission":
                self.permission(message)
            elif until is not None and "method" not in message and message.get("id") == until:
                return message
        return None

    def malformed(self, cwd):
        for line in ["not json", "{}", "[]"]:
            self.send(line)
            self.hear(2)
        self.request("nosuch", {})
        self.hear(2)
        self.send({"jsonrpc": "2.0", "method": "nosuch", "params": {}})
        self.hear(2)
        self.request("session/prompt", {"sessionId": "nosuch", "prompt": [{"type": "text", "text": "hi"}]})
        self.hear(3)
        self.request("session/new", {})
        self.hear(3)
        self.request("session/load", {"sessionId": "nosuch", "cwd": cwd, "mcpServers": []})
        self.hear(3)

    def play(self):
        cwd, flow = os.getcwd(), self.flow
        if flow == "malformed":
            self.malformed(cwd)
        self.hear(30, self.request("initialize", {"protocolVersion": 1, "clientCapabilities": CAPABILITIES}))
        if flow == "authenticate":
            self.hear(5, self.request("authenticate", {"methodId": "opencode-login"}))
        made = self.hear(30, self.request("session/new", {"cwd": cwd, "mcpServers": []}))
        self.session = made["result"]["sessionId"]
        self.hear(1)
        if flow == "modes":
            for method, more in [("session/set_mode", {"modeId": "plan"}), ("session/set_model", {"modelId": "fake/m"}),
                                 ("session/load", {"cwd": cwd, "mcpServers": []})]:
                self.hear(5, self.request(method, {"sessionId": self.session, **more}))
            self.hear(1)
        prompt = [{"type": "text", "text": "go"}]
        asked = self.request("session/prompt", {"sessionId": self.session, "prompt": prompt})
        if flow in ("bash-cancel", "stall-cancel"):
            self.hear(4)
            self.cancel()
        elif flow in ("bash-eof", "stall-eof"):
            self.hear(4)
            self.close()
        self.hear(20, asked)
        self.hear(1)
        self.close()
        self.note("EXIT", self.agent.wait(10))


def agent_file(folder, flow):
    """The shipped agent file, with this program in front of the release and `acp` behind it."""
    text = open(f"{ROOT}/scenarios/agents/opencode.toml").read()
    binary = '["{root}/node_modules/opencode-linux-{arch}/bin/opencode"]'
    run = 'run         = { args = ["run", "--format", "json", "{args}", "{prompt}"] }'
    assert binary in text and run in text, "the agent file has changed"
    text = text.replace(binary, f'["python3", "{{home}}/editor.py", "--editor", "{flow}", {binary[1:]}')
    text = text.replace(run, 'run = { args = ["acp"] }')
    own = open(__file__).read().replace("{", "{{").replace("}", "}}").replace("\\", "\\\\").replace('"""', '\\"""')
    text = text.replace("[recipe.allow]", f'"{{home}}/editor.py" = """\n{own}"""\n\n[recipe.allow]', 1)
    os.mkdir(f"{folder}/agents")
    open(f"{folder}/agents/opencode.toml", "w").write(text)


def record(version, flow):
    with tempfile.TemporaryDirectory() as folder:
        agent_file(folder, flow)
        command = ["rehang", "record", f"opencode@{version}", FLOWS[flow], "--terminal", "null", "--for", "60"]
        done = subprocess.run([*command, "--agents", f"{folder}/agents", "--out", f"{folder}/out"], cwd=ROOT)
        if done.returncode:
            sys.exit(done.returncode)
        recorded = f"{folder}/out/opencode-{version}/{FLOWS[flow]}-null.jsonl"
        lines = [json.loads(line)["msg"] for line in open(recorded) if '"is":' in line]
    lines = [{"t": line["at"], "dir": line["is"], "msg": line["what"]} for line in lines]
    out = f"{ROOT}/fake-agents/tests/golden/opencode-acp-{version}"
    os.makedirs(out, exist_ok=True)
    with open(f"{out}/{flow}.jsonl", "w") as file:
        for line in lines:
            file.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n")
    print(f"recorded {version} {flow}: {len(lines)} lines", flush=True)


def main():
    words = sys.argv[1:]
    if words[:1] == ["--editor"]:
        return Editor(words[1], words[2:]).play()
    only = words.index("--only") if "--only" in words else len(words)
    if not words[:only]:
        sys.exit(__doc__)
    for version in words[:only]:
        for flow in words[only + 1:] or FLOWS:
            record(version, flow)


main()
