"""Records what `opencode acp` says to an editor: the exchanges of fake-agents/tests/golden/opencode-acp-VERSION.

    python3 tests/clients/record_acp.py VERSION... [--only NAME]

Each release runs in the sandbox of `rehang-lab record` (`rehang-lab` is taken from PATH), started by this same program, which plays
the editor there and prints all that goes over the streams. Ids and folders are masked by `rehang-lab record`; lines of stderr are
left out. A recording without `EXIT` is of a release that hung.
"""
import os

import recorder
from recorder import ROOT, Peer

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
CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


class Editor(Peer):
    def __init__(self, flow, argv):
        super().__init__(argv)
        self.flow = flow

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

    def is_last(self, message, until):
        if message.get("method") == "session/request_permission":
            self.permission(message)
            return False
        return until is not None and "method" not in message and message.get("id") == until

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


def agent_file(flow):
    """The shipped agent file, with this program in front of the release and `acp` behind it."""
    text = open(f"{ROOT}/scenarios/agents/opencode.toml").read()
    binary = '["{root}/node_modules/opencode-linux-{arch}/bin/opencode"]'
    run = 'run         = { args = ["run", "--format", "json", "{args}", "{prompt}"] }'
    assert binary in text and run in text, "the agent file has changed"
    text = text.replace(binary, f'["python3", "{{home}}/record_acp.py", "--peer", "{flow}", {binary[1:]}')
    return recorder.embedded(text.replace(run, 'run = { args = ["acp"] }'), __file__)


def record(version, flow):
    lines = recorder.record(f"opencode@{version}", agent_file(flow), FLOWS[flow])
    recorder.keep(f"opencode-acp-{version}", flow, lines)


recorder.main(__doc__, lambda words: Editor(words[0], words[1:]), record, lambda version: FLOWS)
