"""Records what `codex app-server` says to a client: the exchanges of fake-agents/tests/golden/codex-app-server-VERSION.

    python3 tests/clients/record_app_server.py VERSION... [--only NAME...]

Each release runs in the sandbox of `rehang-lab record` (`rehang-lab` is taken from PATH), started by this same program, which plays
the client there and prints all that goes over the streams. Ids and folders are masked by `rehang-lab record`; lines of stderr are
left out. 0.45.0 and 0.58.0 also speak an older protocol: their recordings of it are named `old-…`. A recording without `EXIT`
is of a release that hung.
"""
import glob
import os
import re
import signal
import subprocess

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
}
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
}
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


class Client(Peer):
    def __init__(self, version, flow, argv):
        super().__init__(argv)
        self.version, self.old = version, flow.startswith("old-")
        self.flow = flow.removeprefix("old-")
        self.threads, self.turn, self.resumed = [], None, False

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

    def interrupt(self):
        if self.old:
            return self.request("interruptConversation", {"conversationId": self.threads[0]})
        return self.request("turn/interrupt", {"threadId": self.threads[0], "turnId": self.turn})

    def approval(self, request):
        act = self.flow.partition("-")[2]
        answer = {"id": request["id"]}
        if act == "error":
            self.send({**answer, "error": {"code": -32000, "message": "no"}})
        elif act == "eof":
            self.close()
        elif act == "interrupt":
            self.interrupt()
        elif act == "resume" and not self.resumed:
            self.resumed = True
            self.request("thread/resume", {"threadId": self.threads[0]})
        elif act not in ("never", "resume"):
            self.send({**answer, "result": {"decision": DECISIONS.get(act, act) if self.old else act}})

    def is_last(self, message, until):
        method = message.get("method", "")
        if method and "id" in message:
            self.approval(message)
            return False
        if method in ("turn/completed", "codex/event/task_complete", "codex/event/turn_aborted") and until == "turn":
            return True
        return until is not None and not method and message.get("id") == until

    def start(self, policy):
        sandbox = "read-only" if self.flow.startswith("escalated") else "danger-full-access"
        if self.version == "0.58.0" and not self.old:
            sandbox = {"read-only": "readOnly"}.get(sandbox, "dangerFullAccess")
            policy = {"untrusted": "unlessTrusted", "on-request": "onRequest"}.get(policy, policy)
        made = self.ask("newConversation" if self.old else "thread/start",
                        {"cwd": os.getcwd()} | ({} if self.flow.startswith("overrides") else
                                                {"approvalPolicy": policy, "sandbox": sandbox}))
        if not made or "result" not in made:
            return False
        made = made["result"]
        self.threads.append(made["conversationId"] if self.old else made["thread"]["id"])
        self.hear(1)
        if self.old:
            self.ask("addConversationListener", {"conversationId": self.threads[-1]})
        return True

    def prompt(self, text, more=None):
        if self.old:
            items = [{"type": "text", "data": {"text": text}}]
            return self.request("sendUserMessage", {"conversationId": self.threads[0], "items": items})
        items = [{"type": "text", "text": text}]
        if self.flow.startswith("overrides"):
            more = {"approvalPolicy": "untrusted", "sandboxPolicy": {"type": "dangerFullAccess"}}
        return self.request("turn/start", {"threadId": self.threads[0], "input": items, **(more or {})})

    def begin(self, text):
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
        self.ask("initialize", {"clientInfo": {"name": "rehang", "title": "rehang", "version": "1.0.0"}})
        if flow == "uninitialized":
            self.ask("initialize", {"clientInfo": {"name": "rehang", "title": "rehang", "version": "1.0.0"}})
        self.send({"method": "initialized"})
        if flow == "malformed":
            self.malformed()
        policy = {"approval": "untrusted", "escalated": "on-request"}.get(flow.partition("-")[0], "never")
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
        elif flow.partition("-")[0] in ("approval", "escalated", "overrides"):
            self.hear(6 if act in ("never", "eof", "resume") else 20, "turn")
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
    run = 'run         = { args = ["exec", "--skip-git-repo-check", "--json", "{args}", "{prompt}"], '
    assert text.count(binary) == 4 and run in text, "the agent file has changed"
    text = text.replace(binary, f'["python3", "{{home}}/record_app_server.py", "--peer", "{version}", "{flow}", "{{root}}/')
    text = text.replace(run, 'run = { args = ["app-server"], ')
    if "escalated" in flow:
        text = text.replace('cmd = "{command}" }', 'cmd = "{command}", sandbox_permissions = "require_escalated", '
                            'justification = "It needs the network." }')
        text = text.replace('timeout_ms = "{timeout_ms}"', 'with_escalated_permissions = true, justification = "It needs '
                            'the network.", timeout_ms = "{timeout_ms}"')
    if flow.endswith("retried"):
        text = text.replace("_max_retries = 0", "_max_retries = 2")
    return recorder.embedded(text, __file__)


def masked(text):
    for found, mask in MASKS:
        text = re.sub(found, mask, text)
    return text


def record(version, flow):
    scenario = FLOWS[flow.removeprefix("old-")]
    turns = " ".join(OWN.get(scenario, "").split())
    own = HEAD.replace("TITLE", scenario).replace("TURNS", turns) if turns else None
    lines = recorder.record(f"codex@{version}", agent_file(version, flow), scenario, own)
    recorder.keep(f"codex-app-server-{version}", flow, lines, masked)


def flows(version):
    number = int(version.split(".")[1])
    old = [f"old-{name}" for name in OLD] if number < 100 else []
    # 0.58.0 has no thread whose policy a turn changes by the names that the later ones have
    new = [name for name in FLOWS if number > 100 or name != "overrides-accept"]
    return old + (new if number > 50 else ["text"])


recorder.main(__doc__, lambda words: Client(words[0], words[1], words[2:]), record, flows)
