"""Records what `codex app-server` says to a client: the exchanges of fake-agents/tests/golden/codex-app-server-VERSION.

    python3 tests/clients/record_app_server.py VERSION... [--only NAME...]

Each release runs in the sandbox of `rehang-lab record` (`rehang-lab` is taken from PATH), started by this same program, which plays
the client there and prints all that goes over the streams. Ids and folders are masked by `rehang-lab record`; lines of stderr are
left out. 0.45.0 and 0.58.0 also speak an older protocol: their recordings of it are named `old-…`. A recording without `EXIT`
is of a release that hung.
"""
import glob
import json
import os
import re
import signal
import subprocess
import sys

import recorder
from recorder import ROOT, Peer

# Recording: how the client acts, and the scenario whose model it meets.
FLOWS = {
    "text": "text", "two-turns": "two-turns", "threads": "text", "busy": "bash-never-ends", "malformed": "text",
    "uninitialized": "text", "bash": "bash-runs", "background": "bash-never-ends", "question": "question",
    "approval-accept": "bash-permission", "approval-acceptForSession": "bash-permission",
    "approval-decline": "bash-permission", "approval-cancel": "bash-permission", "approval-error": "bash-permission",
    "approval-bogus": "bash-permission", "approval-never": "bash-permission", "approval-eof": "bash-permission",
    "approval-interrupt": "bash-permission", "escalated-accept": "bash-permission", "escalated-decline": "bash-permission",
    "escalated-refused": "bash-permission", "stall-interrupt": "stream-stalled", "stall-eof": "stream-stalled",
    "stall-term": "stream-stalled", "stall-int": "stream-stalled", "bash-interrupt": "bash-never-ends",
    "bash-eof": "bash-never-ends", "stall-resume": "stream-stalled", "bash-resume": "bash-never-ends",
    "approval-resume": "bash-permission", "bash-term": "bash-never-ends", "late-interrupt": "text", "idle-term": "text", "idle-int": "text",
    "fails": "model-500", "cut": "stream-cut", "retried": "stream-cut", "fails-retried": "model-500",
    "limited": "model-429", "steer": "bash-never-ends", "prints": "prints", "overrides-accept": "bash-permission",
    "interrupt-at-once": "text", "prompt-twice": "two-turns", "interrupt-twice": "bash-never-ends", "interrupt-wrong": "bash-never-ends",
    "interrupt-unknown": "bash-never-ends", "two-reversed": "two", "two-second": "two", "two-interrupt": "two",
}
# What the client can be asked for, and what it does then. `escalated` is a command outside of the sandbox, `patch` a change of a
# file, `ask` a question, `mcp` a call of a tool server's tool, `elicit` a question of that server's, `tool` a
# call of a tool of the client's own.
ACTS = {
    "escalated": ["acceptForSession", "cancel", "error", "bogus", "never", "twice", "late", "shape", "null", "stale", "stray",
                  "interrupt", "eof", "resume"],
    "patch": ["accept", "acceptForSession", "decline", "cancel", "error", "bogus", "never", "twice", "shape", "stale",
              "interrupt", "eof"],
    "ask": ["accept", "decline", "error", "never", "twice", "shape", "stale", "interrupt", "eof"],
    "mcp": ["accept", "decline", "cancel", "error", "bogus", "never", "twice", "shape", "interrupt", "eof"],
    "elicit": ["accept", "decline", "cancel", "error", "bogus", "never", "twice", "shape", "interrupt", "eof"],
    "tool": ["accept", "decline", "error", "never", "twice", "shape", "interrupt", "eof"],
}
FLOWS |= {f"{kind}-{act}": kind for kind, acts in ACTS.items() for act in acts}
FLOWS |= {flow: "bash-permission" for flow in FLOWS if flow.startswith("escalated")}
# What the older protocol has of them.
OLD = ["text", "two-turns", "bash", "malformed", "approval-accept", "approval-acceptForSession", "approval-decline",
       "approval-cancel", "approval-error", "approval-bogus", "approval-never", "approval-eof", "approval-interrupt",
       "escalated-accept", "stall-interrupt", "stall-eof", "stall-term", "bash-interrupt", "bash-eof", "idle-term",
       "idle-int", "fails", "cut", "retried", "uninitialized", "busy", "fails-retried", "limited", "steer",
       "prints"]
# The scenarios of this file's own.
OWN = {
    "two-turns": '[{ say = "All is well." }, { finish = "stop" }, { say = "All is still well." }]',
    "prints": """[{ bash = { command = "make", does = [{ print = "one" }, { sleep = "2s" }, { print = "two" }, { exit = 3 }] } },
                  { say = "Told: {answer}" }]""",
    "two": """[{ together = [{ bash = { command = "step1", does = [{ print = "one" }] } },
                              { bash = { command = "step2", does = [{ print = "two" }] } }] }, { say = "Told: {answer}" }]""",
    "patch": '[{ bash = { command = "step1", does = [] } }, { say = "Told: {answer}" }]',
    "ask": """[{ ask = [{ question = "Which database?", options = [{ label = "sqlite" }, { label = "postgres" }] }] },
                { say = "Told: {answer}" }]""",
    "mcp": '[{ permit = { tool = "TOOL", permission = "mcp" } }, { say = "Told: {answer}" }]',
    "elicit": '[{ permit = { tool = "TOOL", permission = "mcp" } }, { say = "Told: {answer}" }]',
    "tool": '[{ permit = { tool = "query", permission = "mcp" } }, { say = "Told: {answer}" }]',
}
# The command that changes a file: the release takes it for a call of `apply_patch`.
PATCH = r"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\nEOF"
# The tool server that the agent is given.
SERVER = """
[mcp_servers.db]
command = "python3"
args = ["{home}/record_app_server.py", "--tool-server", "KIND"]
"""
HEAD = """
title = "TITLE"
mechanism = "F1"
agent = { codex = { as = "0.169.0", mode = "json" } }
terminals = ["null"]
turns = TURNS
[[expect]]
outcome = "completed"
"""
# How the older protocol calls the same decisions.
DECISIONS = {"accept": "approved", "acceptForSession": "approved_for_session", "decline": "denied", "cancel": "abort"}
# Instants and numbers that another run has otherwise, and that `rehang-lab record` leaves as they are.
MASKS = [(r'"((?:created|updated|recency|started|completed)At)":\d{10}\b', r'"\1":1700000000'),
         (r"sessions/\d+/\d+/\d+/rollout-[\dT-]{19}", "sessions/2023/11/14/rollout-2023-11-14T00-00-00"),
         (r'"(processId|process_id)":"\d+"', r'"\1":"1"'), (r'"(durationMs)":\d+', r'"\1":0'),
         (r'"duration":\{"secs":\d+,"nanos":\d+\}', '"duration":{"secs":0,"nanos":0}')]
SIGNALS = {"term": signal.SIGTERM, "int": signal.SIGINT}


def tool_server(kind):
    """A tool server over stdio with one tool; `elicit` asks the user in the middle of a call, and has a tool that reads only."""
    called = None

    def say(message):
        print(json.dumps({"jsonrpc": "2.0"} | message), flush=True)

    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            say({"id": id, "result": {"protocolVersion": version, "capabilities": {"tools": {}},
                                      "serverInfo": {"name": "db", "version": "1"}}})
        elif method == "tools/list":
            tool = {"name": "query", "inputSchema": {"type": "object", "properties": {}}}
            hints = {"annotations": {"readOnlyHint": True}} if kind == "elicit" else {}
            say({"id": id, "result": {"tools": [tool | hints]}})
        elif method == "tools/call" and kind == "elicit":
            called = id
            schema = {"type": "object", "properties": {"name": {"type": "string"}}}
            say({"id": "e", "method": "elicitation/create",
                 "params": {"message": "Which database?", "requestedSchema": schema}})
        elif method == "tools/call" or method is None:
            answer = message.get("result", message.get("error"))
            answer = json.dumps(answer, separators=(",", ":")) if method is None else "3 rows"
            say({"id": called if method is None else id, "result": {"content": [{"type": "text", "text": answer}]}})
        elif id is not None:
            say({"id": id, "error": {"code": -32601, "message": "no such method"}})


class Client(Peer):
    def __init__(self, version, flow, argv):
        super().__init__(argv)
        self.version, self.old = version, flow.startswith("old-")
        self.flow = flow.removeprefix("old-")
        self.threads, self.turn, self.resumed, self.asked = [], None, False, []

    def left(self):
        """How many of the agent's commands run now."""
        names = [open(f).read().split("\0") for f in glob.glob("/proc/[0-9]*/cmdline")]
        self.note("LEFT", sum(any("step1" in word for word in name) and "sh" not in name[0] for name in names))

    def signal(self, name):
        self.note("IN", f"<{name}>")
        self.agent.send_signal(SIGNALS[name])

    def request(self, method, params=None):
        self.next += 1
        self.send({"id": self.next - 1, "method": method} | ({} if params is None else {"params": params}))
        return self.next - 1

    def ask(self, method, params=None, limit=10):
        return self.hear(limit, self.request(method, params))

    def interrupt(self, turn=None):
        if self.old:
            return self.request("interruptConversation", {"conversationId": self.threads[0]})
        return self.request("turn/interrupt", {"threadId": self.threads[0], "turnId": turn or self.turn})

    def result(self, kind, act):
        """What an act is as the result of a request of this kind."""
        if act in ("shape", "null"):
            return None if act == "null" else {}
        act = "accept" if act in ("twice", "late", "stale", "stray", "reversed", "second") else act
        if kind == "ask":
            return {"answers": {"q1": {"answers": ["sqlite"]}} if act == "accept" else {}}
        if kind in ("mcp", "elicit"):
            return {"action": act, "content": {"name": "sqlite"} if act == "accept" and kind == "elicit" else None}
        if kind == "tool":
            return {"contentItems": [{"type": "inputText", "text": "3 rows"}], "success": act == "accept"}
        return {"decision": DECISIONS.get(act, act) if self.old else act}

    def approval(self, request):
        kind, _, act = self.flow.partition("-")
        answer = {"id": request["id"]}
        good = {**answer, "result": self.result(kind, act)}
        self.asked.append(good)
        if kind == "two":
            order = {"reversed": [1, 0], "second": [1], "interrupt": []}[act]
            if len(self.asked) == 2:
                for at in order:
                    self.send(self.asked[at])
                    self.hear(2)
                if act == "interrupt":
                    self.interrupt()
        elif act == "error":
            self.send({**answer, "error": {"code": -32000, "message": "no"}})
        elif act == "eof":
            self.close()
        elif act in ("interrupt", "stale"):
            self.interrupt()
        elif act == "resume" and not self.resumed:
            self.resumed = True
            self.request("thread/resume", {"threadId": self.threads[0]})
        elif act == "stray":
            self.send({"id": 77, "result": good["result"]})
            self.hear(2)
            self.send(good)
        elif act not in ("never", "resume"):
            if act == "late":
                self.hear(8)
            self.send(good)
            if act == "twice":
                self.send(good)

    def is_last(self, message, until):
        method = message.get("method", "")
        if method and "id" in message:
            self.approval(message)
            return False
        if method in ("turn/completed", "codex/event/task_complete", "codex/event/turn_aborted") and until == "turn":
            return True
        return until is not None and not method and message.get("id") == until

    def start(self, policy):
        kind = self.flow.partition("-")[0]
        sandbox = "read-only" if kind in ("escalated", "patch", "mcp") else "danger-full-access"
        if self.version == "0.58.0" and not self.old:
            sandbox = {"read-only": "readOnly"}.get(sandbox, "dangerFullAccess")
            policy = {"untrusted": "unlessTrusted", "on-request": "onRequest"}.get(policy, policy)
        made = self.ask("newConversation" if self.old else "thread/start",
                        {"cwd": os.getcwd()} | ({} if self.flow.startswith("overrides") else
                                                {"approvalPolicy": policy, "sandbox": sandbox}) |
                        ({"dynamicTools": [self.tool()]} if kind == "tool" else {}))
        if not made or "result" not in made:
            return False
        made = made["result"]
        self.threads.append(made["conversationId"] if self.old else made["thread"]["id"])
        self.hear(1)
        if self.old:
            self.ask("addConversationListener", {"conversationId": self.threads[-1]})
        return True

    def tool(self):
        schema = {"type": "object", "properties": {}}
        return {"name": "query", "description": "Queries.", "inputSchema": schema}

    def prompt(self, text, more=None):
        if self.old:
            items = [{"type": "text", "data": {"text": text}}]
            return self.request("sendUserMessage", {"conversationId": self.threads[0], "items": items})
        items = [{"type": "text", "text": text}]
        if self.flow.startswith("overrides"):
            more = {"approvalPolicy": "untrusted", "sandboxPolicy": {"type": "dangerFullAccess"}}
        return self.request("turn/start", {"threadId": self.threads[0], "input": items, **(more or {})})

    def begin(self, text):
        if self.flow == "prompt-twice":
            self.prompt(text)
        answered = self.hear(10, self.prompt(text))
        if not self.old and answered and "result" in answered:
            self.turn = answered["result"]["turn"]["id"]

    def malformed(self):
        for line in ["not json", "{}", "[]", "", '{"id":77}', '{"id":78,"method":"initialize"}']:
            self.send(line)
            self.hear(1)
        self.request("nosuch", {})
        self.hear(2)
        self.send({"method": "nosuch", "params": {}})
        self.hear(2)
        self.send({"id": "seven", "result": {}})
        self.hear(2)
        if self.old:
            unknown = {"conversationId": "0199a213-81c0-7800-8aa1-bbab2a035a53"}
            self.ask("sendUserMessage", {**unknown, "items": []})
            self.ask("interruptConversation", unknown)
            self.ask("newConversation")
            return
        unknown = {"threadId": "0199a213-81c0-7800-8aa1-bbab2a035a53"}
        self.ask("turn/start", {**unknown, "input": [{"type": "text", "text": "hi"}]})
        self.ask("turn/start", {"threadId": "nosuch", "input": [{"type": "text", "text": "hi"}]})
        self.ask("turn/start", {})
        self.ask("turn/interrupt", {**unknown, "turnId": "0199a213-81c0-7800-8aa1-bbab2a035a54"})
        self.ask("thread/resume", unknown)
        self.ask("thread/start", {"cwd": 7})

    def about_threads(self):
        """Requests that clients send beside turns."""
        thread = {"threadId": self.threads[0]}
        for method, params in [
            ("thread/list", {}), ("thread/resume", thread), ("thread/read", {**thread, "includeTurns": True}),
            ("thread/read", thread), ("thread/name/set", {**thread, "name": "a name"}), ("thread/loaded/list", {}),
            ("account/read", {}), ("account/rateLimits/read", None), ("thread/unsubscribe", thread),
            ("thread/archive", thread), ("thread/list", {}),
        ]:
            self.ask(method, params)
            self.hear(1)

    def play(self):
        flow, act = self.flow, self.flow.partition("-")[2]
        if flow == "uninitialized":
            self.ask("newConversation" if self.old else "thread/start", {})
            self.ask("nosuch", {})
        able = {"capabilities": {"experimentalApi": True}} if flow.startswith("tool-") else {}
        self.ask("initialize", {"clientInfo": {"name": "rehang", "title": "rehang", "version": "1.0.0"}} | able)
        if flow == "uninitialized":
            self.ask("initialize", {"clientInfo": {"name": "rehang", "title": "rehang", "version": "1.0.0"}})
        self.send({"method": "initialized"})
        if flow == "malformed":
            self.malformed()
        policy = {"approval": "untrusted", "two": "untrusted"} | dict.fromkeys(["escalated", "patch", "mcp", "elicit"], "on-request")
        policy = policy.get(flow.partition("-")[0], "never")
        policy = "never" if act == "refused" else policy
        if self.start(policy):
            self.turns(flow, act)
        self.hear(1)
        self.close()
        try:
            self.note("EXIT", self.agent.wait(10))
            self.left()
        except subprocess.TimeoutExpired:
            self.agent.kill()

    def interrupts(self, act):
        if act == "at-once":
            self.hear(5, self.interrupt())
        else:
            self.hear(2)
            wrong = {"wrong": "0199a213-81c0-7800-8aa1-bbab2a035a54", "unknown": "nosuch"}
            if act in wrong:
                self.hear(3, self.interrupt(wrong[act]))
            self.interrupt()
            if act == "twice":
                self.interrupt()
            self.hear(5)
        self.hear(3)

    def turns(self, flow, act):
        if flow.startswith("idle-"):
            self.signal(act)
            return
        self.begin("go")
        if flow == "steer":
            self.hear(2)
            self.hear(3, self.prompt("more"))
            self.hear(15, "turn")
        elif flow == "busy":
            self.hear(2)
            self.hear(3, self.prompt("more"))
            self.hear(1)
            self.hear(5, self.interrupt())
            self.hear(5)
        elif flow.startswith("interrupt-"):
            self.interrupts(act)
        elif flow == "prompt-twice":
            self.hear(10, "turn")
            self.hear(3)
        elif flow.partition("-")[0] in ("approval", "overrides", "two", *ACTS):
            self.hear(6 if act in ("never", "eof", "resume", "second") else 20, "turn")
            if act == "stale":
                self.send(self.asked[0])
                self.hear(3)
        elif act in ("interrupt", "resume", "eof", "term", "int"):
            self.hear(4)
            if act == "resume":
                self.ask("thread/resume", {"threadId": self.threads[0]})
            elif act == "interrupt":
                self.hear(5, self.interrupt())
            elif act == "eof":
                self.close()
            else:
                self.signal(act)
            self.hear(6)
            self.left()
        else:
            self.hear(20, "turn")
        if flow == "two-turns":
            self.hear(1)
            self.begin("go on")
            self.hear(20, "turn")
        if flow == "threads":
            self.about_threads()


def agent_file(version, flow):
    """The shipped agent file, with this program in front of the release and `app-server` behind it."""
    text = open(f"{ROOT}/scenarios/agents/codex.toml").read()
    binary = '["{root}/'
    able = ', "--enable", "default_mode_request_user_input"' if flow.startswith("ask-") else ""
    run = 'run         = { args = ["exec", "--skip-git-repo-check", "--json", "{args}", "{prompt}"], '
    assert text.count(binary) == 4 and run in text, "the agent file has changed"
    text = text.replace(binary, f'["python3", "{{home}}/record_app_server.py", "--peer", "{version}", "{flow}", "{{root}}/')
    text = text.replace(run, f'run = {{ args = ["app-server"{able}], ')
    if "escalated" in flow:
        text = text.replace('cmd = "{command}" }', 'cmd = "{command}", sandbox_permissions = "require_escalated", '
                            'justification = "It needs the network." }')
        text = text.replace('timeout_ms = "{timeout_ms}"', 'with_escalated_permissions = true, justification = "It needs '
                            'the network.", timeout_ms = "{timeout_ms}"')
    kind = flow.partition("-")[0]
    if kind == "patch":
        command = 'cmd = "{command}"'
        assert text.count(command) == 1, "the agent file has changed"
        text = text.replace(command, f'cmd = "{PATCH}"')
    if kind in ("mcp", "elicit"):
        last = "stream_max_retries = 0\n"
        assert text.count(last) == 1, "the agent file has changed"
        text = text.replace(last, last + SERVER.replace("KIND", kind))
    if flow.endswith("retried"):
        text = text.replace("_max_retries = 0", "_max_retries = 2")
    return recorder.embedded(text, __file__)


def masked(text):
    for found, mask in MASKS:
        text = re.sub(found, mask, text)
    return text


def record(version, flow):
    scenario = FLOWS[flow.removeprefix("old-")]
    # the tools of a server are in a namespace of their own in the newer release
    tool = "mcp__db/query" if int(version.split(".")[1]) > 160 else "mcp__db__query"
    turns = " ".join(OWN.get(scenario, "").split()).replace("TOOL", tool)
    own = HEAD.replace("TITLE", scenario).replace("TURNS", turns) if turns else None
    lines = recorder.record(f"codex@{version}", agent_file(version, flow), scenario, own)
    recorder.keep(f"codex-app-server-{version}", flow, lines, masked)


def flows(version):
    number = int(version.split(".")[1])
    old = [f"old-{name}" for name in OLD] if number < 100 else []
    # 0.58.0 has no thread whose policy a turn changes by the names that the later ones have
    new = [name for name in FLOWS if number > 100 or name != "overrides-accept"]
    return old + (new if number > 50 else ["text"])


if sys.argv[1:2] == ["--tool-server"]:
    sys.exit(tool_server(sys.argv[2]))
recorder.main(__doc__, lambda words: Client(words[0], words[1], words[2:]), record, flows)
