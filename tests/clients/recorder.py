"""What the recorders of agents that speak JSON over stdin and stdout have in common: record_acp.py, record_app_server.py.

A recorder runs twice: as itself, and, with this file, in the sandbox of `rehang-lab record`, where it starts the release, is its
peer, and prints all that goes over the streams.
"""
import glob
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = f"{ROOT}/fake-agents/tests/golden"


class Peer:
    """Starts an agent and holds its streams."""

    def __init__(self, argv):
        self.began, self.next, self.heard = time.monotonic(), 0, queue.Queue()
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

    def is_last(self, message, until):
        """What this message means to the peer, and whether it is what is waited for."""
        raise NotImplementedError

    def hear(self, limit, until=None):
        """Takes what the agent says for so many seconds, or until it has said what is waited for."""
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            try:
                message = self.heard.get(timeout=left)
            except queue.Empty:
                return None
            if message is None:
                return None
            self.note("OUT", message)
            if self.is_last(message, until):
                return message
        return None


def embedded(text, recorder):
    """An agent file, with the recorder and this file in the home of its sandbox."""
    for path in [recorder, __file__]:
        own = open(path).read().replace("{", "{{").replace("}", "}}").replace("\\", "\\\\").replace('"""', '\\"""')
        text = text.replace("[recipe.allow]", f'"{{home}}/{os.path.basename(path)}" = """\n{own}"""\n\n[recipe.allow]', 1)
    return text


def record(release, agent_file, scenario, own=None, until=None):
    """What the peer prints of a scenario; `own` is the text of one that is none of the project's. With `until`, in virtual time,
    for so long at most (`rehang upstream --record`)."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/agents")
        agent = release.partition("@")[0]
        open(f"{folder}/agents/{agent}.toml", "w").write(agent_file)
        command = ["rehang-lab", "record", release, scenario, "--terminal", "null", "--for", "60"]
        if until:
            command = ["rehang", "upstream", release, scenario, "--terminal", "null", "--until", until, "--within", "20m",
                       "--seed", "1"]
        if own:
            open(f"{folder}/{scenario}.toml", "w").write(own)
            command += ["--scenarios", f"{folder}/{scenario}.toml"]
        out = ["--record" if until else "--out", f"{folder}/out"]
        done = subprocess.run([*command, "--agents", f"{folder}/agents", *out], cwd=ROOT)
        if done.returncode:
            sys.exit(done.returncode)
        [recorded] = glob.glob(f"{folder}/out/*/*.jsonl")
        lines = [json.loads(line)["msg"] for line in open(recorded) if '"is":' in line]
    return [{"t": line["at"], "dir": line["is"], "msg": line["what"]} for line in lines]


def keep(release, flow, lines, masked=lambda text: text):
    """Writes a recording."""
    out = f"{GOLDEN}/{release}"
    os.makedirs(out, exist_ok=True)
    with open(f"{out}/{flow}.jsonl", "w") as file:
        for line in lines:
            file.write(masked(json.dumps(line, separators=(",", ":"), ensure_ascii=False)) + "\n")
    print(f"recorded {release} {flow}: {len(lines)} lines", flush=True)


def main(doc, peer, record, flows):
    """`--peer …` is the peer in the sandbox; else `VERSION... [--only NAME...]`."""
    words = sys.argv[1:]
    if words[:1] == ["--peer"]:
        return peer(words[1:]).play()
    only = words.index("--only") if "--only" in words else len(words)
    if not words[:only]:
        sys.exit(doc)
    for version in words[:only]:
        for flow in words[only + 1:] or flows(version):
            record(version, flow)
