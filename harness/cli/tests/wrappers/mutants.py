"""Breaks a good wrapper in one place after the other: `rehang wrapper` must name each fault, and none in the good one.

    python3 mutants.py REHANG [NAME ...]      all, or those with these names; `good` is the wrapper as it is

Each mutant has the scenarios that are tried, and what the findings must say. The exit code is 1 if one is not caught.
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SWEEP = """    for pid in children(os.getpid()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
"""
HEARD = "            if read(key, agent, streams, output):\n                heard = time.monotonic()\n"

# name: the scenarios, what a finding begins with, what it says, and what is replaced by what
MUTANTS = {
    "no-group-kill": (
        ["no-limit-never-ends[silent]"],
        "left ",
        "Prevent (B8)",
        ("os.killpg(agent.pid, number)", "os.kill(agent.pid, number)"),
        (SWEEP, ""),
    ),
    "kills-the-shell-only": (
        ["idle-hang"],
        "left ",
        "Prevent (B8)",
        ('["claude", "-p", prompt, ', '["sh", "-c", "claude \\"$@\\"; exit $?", "sh", "-p", prompt, '),
        ("os.killpg(agent.pid, number)", "os.kill(agent.pid, number)"),
        (SWEEP, ""),
    ),
    "leaves-other-sessions": (["escapes-the-group[setsid]"], "left ", "Prevent (B8)", (SWEEP, "")),
    "term-without-kill": (
        ["child/ignores-term"],
        "MISSED ",
        "× B10 ",
        ("    signal_group(agent, signal.SIGKILL)\n", ""),
        (SWEEP, ""),
    ),
    "gives-up-at-term": (
        ["child/ignores-term"],
        "left ",
        "Prevent (B8)",
        ("    except subprocess.TimeoutExpired:\n        pass\n", "    finally:\n        pass\n"),
    ),
    "stderr-not-drained": (
        ["stderr-undrained"],
        "HARMED ",
        "× C1 ",
        ("    streams.register(agent.stderr, selectors.EVENT_READ)\n", ""),
    ),
    "heartbeats-feed-the-timers": (
        ["little-loops/heartbeat"],
        "MISSED ",
        "× T7 ",
        (HEARD, "            read(key, agent, streams, output)\n            began = heard = time.monotonic()\n"),
    ),
    "no-wall-limit": (["no-limit-never-ends[noisy]"], "MISSED ", "× B5 ", ("6 * 3600", "10**6")),
    "timer-not-reset": (
        ["four-hours[at]"],
        "HARMED ",
        "× F1 ",
        (HEARD, "            read(key, agent, streams, output)\n"),
    ),
    "exit-code-ignored": (
        ["refused[claude-401]"],
        "WRONGLY ",
        "× F5 ",
        ("    if agent.returncode != 0:\n        return 1\n", ""),
        ('output.result is None or output.result.get("is_error")', "output.result is None"),
    ),
    "says-done-after-a-limit": (["little-loops/idle-hang"], "WRONGLY ", "× M8 ", ("            return 124\n", "            return 0\n")),
    "waits-for-the-end-of-the-streams": (
        ["background-holds-streams"],
        "MISSED ",
        "Prevent (B8)",
        ("exited + GRACE", "exited + 10**6"),
    ),
    "wall-limit-of-ten-minutes": (["streams[a-word-every-61s]"], "HARMED ", "× F3 ", ("6 * 3600", "600")),
    "idle-limit-of-ten-minutes": (["silent-compile"], "HARMED ", "× F1 ", ("IDLE, WALL = 2 * 3600", "IDLE, WALL = 600")),
    "stdin-left-open": (["stdin/open-pipe"], "HARMED ", "× S1 ", ("stdin=subprocess.DEVNULL", "stdin=subprocess.PIPE")),
    "lines-of-64-kib": (
        ["a-line-of-a-megabyte"],
        "HARMED ",
        "× F8 ",
        (
            "        return any(",
            "        if len(self.rest) > 65536:\n            raise ValueError('the line is too long')\n        return any(",
        ),
    ),
    "stderr-taken-for-failure": (
        ["output-resets[stderr]", "stderr-undrained[65536]"],
        "HARMED ",
        "× ",
        (HEARD, "            if key.fileobj is agent.stderr and os.read(key.fd, 1):\n                end(agent)\n                return 1\n" + HEARD),
    ),
    "waits-without-a-limit-once-stdout-is-closed": (
        ["child/stdout-closed", "closed-pipes[for-ever]"],
        "MISSED ",
        "× H1 ",
        (
            "    if not data:\n        streams.unregister(key.fileobj)\n",
            "    if not data:\n        streams.unregister(key.fileobj)\n        agent.wait()\n",
        ),
    ),
    "tries-again-for-ever": (
        ["refused[claude-401]"],
        "HARMED ",
        "× F5 ",
        ("sys.exit(run(sys.argv[1]))", "while run(sys.argv[1]) == 1:\n    time.sleep(3600)"),
    ),
    "waits-before-it-reads": (
        ["a-line-of-a-megabyte"],
        "HARMED ",
        "× F8 ",
        ("    began = heard = ", "    agent.wait()\n    began = heard = "),
    ),
    "no-limits": (["idle-hang", "ignores-term"], "MISSED ", "× ", ("IDLE, WALL = 2 * 3600, 6 * 3600", "IDLE = WALL = 10**6")),
}


def rehang(binary, script, filters):
    """What `rehang wrapper` says of a wrapper, and its exit code."""
    command = [binary, "wrapper", *filters, "--within", "1h", "--", sys.executable, str(script), "go"]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr, ran.returncode


def findings(said):
    """The findings, each with its lines."""
    found = []
    for line in said.splitlines():
        if line.startswith(("MISSED ", "WRONGLY ", "HARMED ", "left ", "undecided ")):
            found.append(line)
        elif found and line.startswith("          "):
            found[-1] += "\n" + line
    return found


def check(binary, name, folder):
    """What is wrong with what was found; empty if nothing is."""
    source = (HERE / "good.py").read_text()
    if name == "good":
        filters = sorted({word for mutant in MUTANTS.values() for word in mutant[0]})
        said, code = rehang(binary, HERE / "good.py", filters)
        return said if findings(said) or code != 0 else ""
    filters, begins, says, *edits = MUTANTS[name]
    for old, new in edits:
        if source.count(old) != 1:
            return f"not once in good.py: {old!r}"
        source = source.replace(old, new)
    script = folder / f"{name}.py"
    script.write_text(source)
    said, _ = rehang(binary, script, filters)
    is_caught = any(one.startswith(begins) and says in one for one in findings(said))
    return "" if is_caught else f"no finding `{begins}… {says}`:\n{said}"


def main():
    binary, names = sys.argv[1], sys.argv[2:] or ["good", *MUTANTS]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            why = check(binary, name, pathlib.Path(folder))
            print(f"{'NOT CAUGHT' if why else 'right':<11}{name}", flush=True)
            if why:
                wrong += 1
                print(why)
    return 1 if wrong else 0


sys.exit(main())
