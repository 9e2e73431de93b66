"""An agent of the Agent Client Protocol, version 1, for tests: it has no model, and does the same in each turn.

    python3 agent.py [BUG]

A turn: an update, a tool that needs a permission, a file that is read, a command in a terminal, a file that is written, the
answer. One thread reads, one writes, and each turn has one. BUG is one of BUGS, each of which a released agent has had.
"""
import itertools
import json
import os
import queue
import signal
import sys
import threading

BUGS = {
    "ignores-cancel-while-it-asks": "a cancel does not end the wait for a permission",
    "no-reply-to-unknown": "a request that it does not know is not answered",
    "prompt-absorbed": "the prompt after a cancel is not answered",
    "stays": "the end of stdin does not end it",
    "blocks-on-stdout": "the thread that reads also writes",
    "ends-on-bad-line": "a line that is no JSON ends it",
    "error-on-cancel": "a turn that was cancelled is answered with an error",
    "never-kills": "a cancel does not kill the command in the terminal",
    "serial": "messages are handled one after the other: a turn blocks the reader",
    "two-replies": "a turn that was cancelled is answered twice",
    "trusts-its-client": "a reply without what it must have ends the turn's thread",
    "not-ready": "initialize is answered a second before a session can be made: session/new is lost",
    "stops-after-giving-up": "gives up its permission after a minute, and answers no prompt after that turn",
    "silent-and-stays": "answers no request that it does not know, and the end of stdin does not end it",
    "nests-deeply": "an update is nested as deeply as a message can be",
    "ends-by-signal": "the end of stdin ends it by a signal",
    "never-silent": "a turn writes without an end",
    "talks-on-stdout": "a cancel is logged on stdout",
    "busy": "polls for its permission every minute, without an end",
}
BUG = sys.argv[1] if len(sys.argv) > 1 else ""
assert not BUG or BUG in BUGS, f"{BUG} is none of {', '.join(BUGS)}"

ids = itertools.count(1)
outgoing = queue.Queue()
waiting = {}
sessions = {}
ready = threading.Event()


def write(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def writer():
    while (message := outgoing.get()) is not None:
        try:
            write(message)
        except BrokenPipeError:
            os._exit(1)


def send(message):
    write(message) if BUG == "blocks-on-stdout" else outgoing.put(message)


def fail(id, code, text):
    send({"id": id, "error": {"code": code, "message": text}})


class Cancelled(Exception):
    pass


class Refused(Exception):
    pass


class Session:
    def __init__(self):
        self.id = f"session-{len(sessions)}"
        self.turn = None
        self.absorbs = False
        self.gave_up = False
        sessions[self.id] = self


class Turn(threading.Thread):
    def __init__(self, session, id):
        super().__init__(daemon=True)
        self.session, self.id = session, id
        self.cancelled = threading.Event()
        self.before = session.turn
        session.turn = self

    def run(self):
        if self.before:
            self.before.join()
        try:
            self.play()
            result = {"result": {"stopReason": "end_turn"}}
        except Cancelled:
            result = {"result": {"stopReason": "cancelled"}}
            if BUG == "error-on-cancel":
                result = {"error": {"code": -32603, "message": "aborted"}}
            if BUG == "two-replies":
                send({"id": self.id, **result})
        except Refused:
            result = {"result": {"stopReason": "refusal"}}
        send({"id": self.id, **result})

    def update(self, **update):
        send({"method": "session/update", "params": {"sessionId": self.session.id, "update": update}})

    def ask(self, method, ends_by_cancel=True, **params):
        """The client's result; None if it is an error."""
        id, reply = next(ids), queue.Queue()
        waiting[id] = reply
        if ends_by_cancel:
            self.open = reply
        send({"id": id, "method": method, "params": {"sessionId": self.session.id, **params}})
        if self.cancelled.is_set() and ends_by_cancel:
            raise Cancelled
        while True:
            try:
                message = reply.get(timeout=60 if BUG in ("busy", "stops-after-giving-up") else None)
                break
            except queue.Empty:
                if BUG == "stops-after-giving-up":
                    self.session.gave_up = True
                    raise Refused
        if message is None:
            raise Cancelled
        return message.get("result") if "error" not in message else None

    def cancel(self):
        self.cancelled.set()
        if BUG in ("ignores-cancel-while-it-asks", "never-kills"):
            return
        if reply := getattr(self, "open", None):
            reply.put(None)

    def play(self):
        self.update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "I look."})
        if BUG == "nests-deeply":
            deep = "[" * 124 + "]" * 124
            sys.stdout.write('{"jsonrpc":"2.0","method":"session/update","params":{"update":%s}}\n' % deep)
            sys.stdout.flush()
        while BUG == "never-silent":
            write({"method": "session/update", "params": {"update": {"text": "x" * 4000}}})
        call = {"toolCallId": f"call-{self.id}", "title": "List", "kind": "execute"}
        self.update(sessionUpdate="tool_call", status="pending", **call)
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                   {"optionId": "no", "name": "No", "kind": "reject_once"}]
        reply = self.ask("session/request_permission", toolCall=call, options=options)
        if BUG == "trusts-its-client":
            outcome = reply["outcome"]
        else:
            outcome = reply.get("outcome", {}) if isinstance(reply, dict) else {}
        if outcome.get("outcome") == "cancelled" or self.cancelled.is_set():
            raise Cancelled
        if outcome.get("optionId") != "yes":
            raise Refused
        self.update(sessionUpdate="tool_call_update", toolCallId=call["toolCallId"], status="in_progress")
        # what the tool does takes a while
        if self.cancelled.wait(2):
            raise Cancelled
        self.ask("fs/read_text_file", path=os.path.abspath("notes"))
        if made := self.ask("terminal/create", command="ls"):
            terminal = {"terminalId": made.get("terminalId", "")}
            try:
                self.ask("terminal/wait_for_exit", **terminal)
                self.ask("terminal/output", **terminal)
            except Cancelled:
                self.ask("terminal/kill", ends_by_cancel=False, **terminal)
                raise
            finally:
                self.ask("terminal/release", ends_by_cancel=False, **terminal)
        self.ask("fs/write_text_file", path=os.path.abspath("notes"), content="three\n")
        if self.cancelled.is_set():
            raise Cancelled
        self.update(sessionUpdate="tool_call_update", toolCallId=call["toolCallId"], status="completed")


def request(id, method, params):
    session = sessions.get(params.get("sessionId"))
    if method == "initialize":
        threading.Timer(1, ready.set).start()
        capabilities = {"loadSession": True, "promptCapabilities": {}}
        send({"id": id, "result": {"protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": []}})
    elif method == "session/new":
        if BUG == "not-ready" and not ready.is_set():
            return
        if not params.get("cwd"):
            return fail(id, -32602, "cwd is missing")
        # an agent may need long for this, such as for its tool servers
        threading.Event().wait(100)
        send({"id": id, "result": {"sessionId": Session().id}})
    elif method in ("session/load", "session/prompt") and not session:
        fail(id, -32602, "there is no such session")
    elif method == "session/load":
        send({"id": id, "result": None})
    elif method == "session/prompt":
        if session.gave_up:
            return
        if session.absorbs:
            session.absorbs = False
            return
        turn = Turn(session, id)
        turn.run() if BUG == "serial" else turn.start()
    elif BUG not in ("no-reply-to-unknown", "silent-and-stays"):
        fail(id, -32601, f"there is no {method}")


def handle(line):
    try:
        message = json.loads(line)
    except ValueError:
        if BUG == "ends-on-bad-line":
            raise
        return fail(None, -32700, "that is no JSON")
    if not isinstance(message, dict):
        return fail(None, -32600, "that is no request")
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method is None:
        if reply := waiting.pop(id, None):
            reply.put(message)
    elif id is not None:
        request(id, method, params)
    elif method == "session/cancel" and (session := sessions.get(params.get("sessionId"))):
        if BUG == "talks-on-stdout":
            sys.stdout.reconfigure(encoding="utf-8")
            print("cancelled \x1b[31m\x9b31m\u202e", flush=True)
        if session.turn and session.turn.is_alive():
            session.turn.cancel()
            session.absorbs = BUG == "prompt-absorbed"


threading.Thread(target=writer, daemon=True).start()
for line in sys.stdin.buffer:
    if line.strip():
        handle(line)
if BUG in ("stays", "silent-and-stays"):
    threading.Event().wait()
if BUG == "ends-by-signal":
    signal.raise_signal(signal.SIGSEGV)
# what is still to be written may find no reader
os._exit(0)
