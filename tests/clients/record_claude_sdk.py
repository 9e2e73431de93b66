"""Records what Claude Code says to a client that is made as the Claude Agent SDK's: fake-agents/tests/golden/claude-sdk-VERSION.

    python3 tests/clients/record_claude_sdk.py VERSION... [--only NAME...]

Each release runs in the sandbox of `rehang upstream --record` (`rehang` is taken from PATH), in virtual time, started by this same
program, which plays the client there and prints all that goes over the streams. Ids and folders are masked; lines of stderr are
left out. A recording without `EXIT` is of a release that was still there when the recording ended.
"""
import json
import subprocess

import recorder
from recorder import ROOT, Peer

BASH = '[{ bash = { command = "step1", does = [{ print = "installed" }] } }, { say = "Told: {answer}" }]'
ASK = '{ ask = [{ question = "Which %s?", options = [{ label = "sqlite" }, { label = "postgres" }] }] }'
# The models that it meets.
MODELS = {
    "text": '[{ say = "All is well." }]',
    "two": '[{ say = "All is well." }, { finish = "stop" }, { say = "All is still well." }]',
    "bash": BASH,
    "bash-more": BASH[:-1] + ', { finish = "stop" }, { say = "Again." }]',
    "holds": '[{ bash = { command = "step1", does = ["hold"] } }, { say = "Told: {answer}" }, { finish = "stop" }, { say = "Again." }]',
    "ask": f'[{ASK % "database"}, {{ say = "Told: {{answer}}" }}]',
    "both": f'[{{ together = [{ASK % "database"}, {ASK % "port"}] }}, {{ say = "Told: {{answer}}" }}]',
    "stall": '[{ say = "Half of " }, { say = "it." }]',
    "own": '[{ permit = { tool = "mcp__client__client_tool", permission = "mcp" } }, { say = "Told: {answer}" }]',
}
# Recording: the model. What comes before the dash is what is asked for, what comes after it what the client does then.
FLOWS = {
    "text": "text", "text-open": "text", "text-init": "text", "text-uninitialized": "text", "text-unknown": "text",
    "text-eof": "text", "text-interrupt": "text", "text-late": "text", "two-turns": "two", "two-once": "two",
    "holds-second": "holds", "holds-eof": "holds", "holds-interrupt": "holds", "holds-twice": "holds", "holds-mode": "holds",
    "holds-unknown": "holds", "stall-interrupt": "stall", "stall-eof": "stall", "both-reversed": "both", "both-second": "both",
    "both-interrupt": "both",
}
ACTS = ["ok", "never", "twice", "late", "error", "shape", "deny", "interrupt", "eof"]
FLOWS |= {f"ask-{act}": "ask" for act in ["ok", "deny", "never", "twice", "error", "shape", "interrupt", "eof"]}
FLOWS |= {f"permission-{act}": "bash" for act in [*ACTS, "bogus", "ends", "always", "stale", "mode", "second"]}
FLOWS |= {f"{hook}-{act}": "bash" for hook in ["prompt", "pre", "post", "stop"]
          for act in (ACTS if hook == "pre" else ["ok", "never", "error", "interrupt", "eof"])}
FLOWS["permission-second"] = "bash-more"
FLOWS |= {f"server-{act}": "own" for act in ["ok", "begin", "list", *ACTS[1:], "sdk"]}
HOOKS = {"prompt": "UserPromptSubmit", "pre": "PreToolUse", "post": "PostToolUse", "stop": "Stop"}
HEAD = """
title = "TITLE"
mechanism = "F1"
agent = { claude = { as = "2.1.329", mode = "json" } }
terminals = ["null"]
turns = TURNS
FAULTS
[[expect]]
outcome = "completed"
"""
# For how many seconds of virtual time nothing may come: 2.1.329 works in each of them.
LONG = {"2.0.77": 900, "2.1.329": 150}
FAULTS = "faults = [{ model = { response = 1, after = 1, does = \"stall\" } }]"


class Client(Peer):
    def __init__(self, version, flow, argv):
        super().__init__(argv)
        self.long = 400 if flow == "stall-eof" else LONG[version]
        self.flow, (self.kind, _, self.act) = flow, flow.partition("-")
        self.asked, self.acted, self.nth = [], False, 0

    def request(self, subtype, **more):
        self.nth += 1
        self.send({"type": "control_request", "request_id": f"c{self.nth}", "request": {"subtype": subtype} | more})
        return f"c{self.nth}"

    def prompt(self, text="go"):
        self.send({"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None, "session_id": "default"})

    def replies(self, id, reply, error=None):
        said = {"subtype": "error", "request_id": id, "error": error} if error else {
            "subtype": "success", "request_id": id, "response": reply}
        self.send({"type": "control_response", "response": said})

    def answer(self, id, request, act="ok"):
        """What the client answers to a request of the agent's."""
        kind, said = request["subtype"], {}
        refuses = act == "deny"
        if kind == "can_use_tool":
            given = request["input"]
            if request["tool_name"] == "AskUserQuestion":
                given |= {"answers": {one["question"]: one["options"][0]["label"] for one in given["questions"]}}
            said = {"behavior": "allow", "updatedInput": given}
            if refuses or act == "ends":
                said = {"behavior": "deny", "message": "not today"} | ({"interrupt": True} if act == "ends" else {})
            elif act == "always":
                said["updatedPermissions"] = request["permission_suggestions"]
            elif act == "bogus":
                said["behavior"] = "perhaps"
        elif kind == "mcp_message":
            message = request["message"]
            results = {"initialize": {"protocolVersion": message.get("params", {}).get("protocolVersion"),
                                      "capabilities": {"tools": {}}, "serverInfo": {"name": "client", "version": "1.0.0"}},
                       "tools/list": {"tools": [{"name": "client_tool", "description": "A tool of the client's.",
                                                 "inputSchema": {"type": "object", "properties": {}}}]},
                       "tools/call": {"content": [{"type": "text", "text": "done"}]}}
            result = {"jsonrpc": "2.0", "result": results.get(message["method"], {})}
            said = {"mcp_response": result | ({"id": message["id"]} if "id" in message else {})}
            if refuses and "id" in message:
                said = {"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "no"}}}
        elif refuses:
            said = {"decision": "block", "reason": "not today"}
        if act == "error":
            return self.replies(id, None, "the callback failed")
        self.replies(id, {} if act == "shape" else said)

    def is_meant(self, request):
        """Whether this request is the one that the recording is about."""
        kind = request["subtype"]
        if kind == "mcp_message":
            method = {"begin": "initialize", "list": "tools/list"}.get(self.act, "tools/call")
            return self.kind == "server" and request["message"]["method"] == method
        if kind == "hook_callback":
            return HOOKS.get(self.kind) == request["input"]["hook_event_name"]
        return self.kind in ("permission", "ask", "both")

    def is_last(self, message, until):
        if message["type"] == "control_request":
            self.hears(message["request_id"], message["request"])
        if message["type"] == "control_response":
            return message["response"]["request_id"] == until
        return message["type"] == until

    def hears(self, id, request):
        if not self.is_meant(request):
            return self.answer(id, request)
        self.asked.append((id, request))
        if self.kind == "both":
            if len(self.asked) == 2:
                self.both()
            return
        act = self.act
        if act in ("never", "begin", "list"):
            return
        if self.acted:
            return self.answer(id, request)
        self.acted = True
        if act == "eof":
            self.close()
        elif act == "interrupt":
            self.request("interrupt")
        elif act == "mode":
            self.request("set_permission_mode", mode="bypassPermissions")
        elif act == "second":
            self.prompt("more")
            self.hear(2)
            self.answer(id, request)
        else:
            if act == "late":
                self.hear(4)
            self.answer(id, request, act)
            if act == "twice":
                self.answer(id, request)

    def both(self):
        if self.act == "interrupt":
            self.request("interrupt")
            return
        self.answer(*self.asked[1])
        if self.act == "reversed":
            self.hear(2)
            self.answer(*self.asked[0])

    def play(self):
        flow = self.flow
        hook = HOOKS.get(self.kind)
        hooks = {"hooks": {hook: [{"matcher": None, "hookCallbackIds": ["hook_0"]}]} if hook else None}
        if self.act == "sdk":
            hooks["sdkMcpServers"] = ["client"]
        if flow != "text-uninitialized":
            self.hear(6, self.request("initialize", **hooks))
        self.hear(1)
        if flow == "text-init":
            self.hear(3, self.request("initialize", **hooks))
            self.hear(1)
        elif flow != "text-late":
            self.turns(flow)
        if flow == "text-late":
            self.hear(3, self.request("interrupt"))
        self.hear(1)
        if self.act != "open":
            self.close()
        self.hear(self.long)
        try:
            self.note("EXIT", self.agent.wait(1))
        except subprocess.TimeoutExpired:
            self.agent.kill()

    def turns(self, flow):
        if flow == "text-unknown":
            self.hear(3, self.request("nosuch"))
        self.prompt()
        if flow == "two-once":
            self.prompt("more")
        if flow == "text-eof":
            self.close()
        if flow == "text-interrupt":
            self.request("interrupt")
        if self.kind in ("holds", "stall"):
            self.hear(4)
            self.holds()
        is_long = self.act in ("never", "begin", "list") or flow == "both-second"
        self.hear(self.long if is_long else 30, "result")
        if self.act == "stale":
            self.answer(*self.asked[0])
            self.hear(2)
        if flow == "two-turns":
            self.hear(1)
            self.prompt("more")
        if self.kind == "two" or flow in ("permission-second", "holds-second"):
            self.hear(6, "result")

    def holds(self):
        if self.act == "eof":
            self.close()
        elif self.act == "second":
            self.prompt("more")
            self.hear(3)
            self.request("interrupt")
        elif self.act == "mode":
            self.hear(3, self.request("set_permission_mode", mode="plan"))
            self.request("interrupt")
        elif self.act == "unknown":
            self.hear(3, self.request("nosuch"))
            self.request("interrupt")
        else:
            self.request("interrupt")
            if self.act == "twice":
                self.request("interrupt")


def agent_file(version, flow):
    """The shipped agent file, with this program in front of the release, and the arguments of an SDK's client after it."""
    text = open(f"{ROOT}/scenarios/agents/claude.toml").read()
    run = 'run         = { args = ["-p", "{prompt}", "--output-format", "stream-json", "--verbose", "{args}"] }'
    programs = ['program    = ["{root}/', 'program = ["node", ']
    assert run in text and all(program in text for program in programs), "the agent file has changed"
    peer = f'"python3", "{{home}}/record_claude_sdk.py", "--peer", "{version}", "{flow}", '
    for program in programs:
        text = text.replace(program, program.replace('["', f'[{peer}"'))
    server = flow.startswith("server") and flow != "server-sdk"
    more = ["--mcp-config", '{"mcpServers":{"client":{"type":"sdk","name":"client"}}}'] if server else []
    args = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--permission-prompt-tool", "stdio",
            "--permission-mode", "bypassPermissions" if flow.partition("-")[0] in ("holds", "server") else "default", *more]
    shown = json.dumps(args).replace("{", "{{").replace("}", "}}")
    return recorder.embedded(text.replace(run, f"run = {{ args = {shown} }}"), __file__)


def record(version, flow):
    model = FLOWS[flow]
    own = HEAD.replace("TITLE", model).replace("TURNS", MODELS[model]).replace("FAULTS", FAULTS if model == "stall" else "")
    lines = recorder.record(f"claude@{version}", agent_file(version, flow), model, own, "60m")
    recorder.keep(f"claude-sdk-{version}", flow, lines)


if __name__ == "__main__":
    recorder.main(__doc__, lambda words: Client(words[0], words[1], words[2:]), record, lambda _: FLOWS)
