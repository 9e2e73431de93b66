"""Runs opencode-plugin-cc, as it is in a checkout, against the fakes: what its watcher makes of a hang, and when.

    python3 tests/clients/run_plugin_cc.py CHECKOUT [SCENARIO…]

The checkout (github.com/tasict/opencode-plugin-cc) is run unpatched, in namespaces of its own (processes, and a network with
loopback alone), with a fresh HOME. Its own limits are shortened by its environment variables: 20 s without news, 60 s for a
prompt. `rehang` is taken from PATH. Each line is a scenario, the seconds from the prompt to the verdict, and the verdict.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SCENARIOS = [
    "companion/asked-before-spawn[bash]",
    "companion/bash-deadlock[0s]",
    "companion/bash-deadlock[4999ms]",
    "companion/tool-calls-is-no-end[8s]",
    "companion/refused-at-once",
    "companion/masked-by-a-sibling",
    "companion/model-silent",
    "companion/failed-turn-as-completed",
    "companion/server-crash",
    "question/server-nobody[1.2.15]",
    "question/server-nobody[1.2.15]::control",
]
LIMITS = {
    "OPENCODE_IDLE_TIMEOUT_MS": "20000",
    "OPENCODE_PROMPT_TIMEOUT_MS": "60000",
    "OPENCODE_REQUEST_TIMEOUT_MS": "60000",
}
COMPANION = "plugins/opencode/scripts/opencode-companion.mjs"
VERDICT = re.compile(r"Job \S+ (completed|failed[^\n]*)")


def played(checkout, scenario, home):
    name, _, control = scenario.partition("::")
    path = ["rehang", "path", name, "--dir", f"{home}/bin"] + (["--control"] if control else [])
    made = subprocess.run(path, capture_output=True, text=True)
    if made.returncode:
        return 0.0, f"not played: {made.stderr.strip()}"
    os.mkdir(f"{home}/project")
    env = {"PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": home, "CLAUDE_PLUGIN_DATA": f"{home}/data", **LIMITS}
    command = f"ip link set lo up; exec node {checkout}/{COMPANION} task go"
    # the companion never ends by itself: it holds the pipes of the server that it started
    child = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--net", "--mount-proc", "--kill-child", "sh", "-c", command],
        cwd=f"{home}/project", env=env, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    began = time.monotonic()
    try:
        for line in child.stdout:
            if "Sending task" in line:
                began = time.monotonic()
            if verdict := VERDICT.search(line):
                return time.monotonic() - began, verdict[1]
        return time.monotonic() - began, "ended without a verdict"
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    checkout = os.path.abspath(sys.argv[1])
    for scenario in sys.argv[2:] or SCENARIOS:
        with tempfile.TemporaryDirectory() as home:
            seconds, verdict = played(checkout, scenario, home)
        print(f"{scenario:42} {seconds:5.1f} s  {verdict}", flush=True)


main()
