"""Records which options Claude Code refuses, and which settings files it reads: fake-agents/tests/golden/claude-VERSION/command-line.

    python3 tests/clients/record_claude_options.py VERSION...

Each release runs in the sandbox of `rehang-lab record` (`rehang-lab` is taken from PATH). For the options this same program starts it
there once for each, and prints what it said first. A settings file holds one hook, which blocks the prompt and says which file
it is from; the settings of the user are those of the sandbox's HOME.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = {
    "user": "{home}/.claude/settings.json", "project": "{cwd}/.claude/settings.json",
    "local": "{cwd}/.claude/settings.local.json", "file": "{cwd}/own.json", "sources": "{cwd}/.claude/settings.json",
}
SETTINGS = {
    "project": [], "user": [], "local": [], "file": ["--settings", "own.json"], "missing": ["--settings", "none.json"],
    "badjson": ["--settings", "{not json"], "project-sources-user": ["--setting-sources", "user"],
    "project-sources-project": ["--setting-sources", "project"], "user-sources-project": ["--setting-sources", "project"],
    "sources-empty": ["--setting-sources", ""],
}
NAMED = ["--settings", "--setting-sources", "--include-hook-events", "--output-format", "--input-format", "--permission-mode",
         "--permission-prompt-tool", "--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools",
         "--verbose", "--dangerously-skip-permissions", "--print", "--nosuch"]
PARTS = 4


def options():
    """Those that the fake reads, and one that nobody has."""
    text = open(f"{ROOT}/fake-agents/src/claude/args.rs").read()
    lists = text[text.index("const ONE_WORD"):text.index("/// Reads a command line")]
    return re.findall(r'"(-{1,2}[a-zA-Z-]+)"', lists) + NAMED


def toml(text):
    return text.replace("{", "{{").replace("}", "}}").replace("\\", "\\\\").replace('"""', '\\"""')


def recorded(version, scenario, agent):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/agents")
        open(f"{folder}/agents/claude.toml", "w").write(agent)
        open(f"{folder}/given.toml", "w").write(scenario)
        command = ["rehang-lab", "record", f"claude@{version}", "given", "--terminal", "null", "--for", "60"]
        command += ["--scenarios", f"{folder}/given.toml", "--agents", f"{folder}/agents", "--out", f"{folder}/out"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        [written] = os.listdir(f"{folder}/out/claude-{version}")
        return [json.loads(line) for line in open(f"{folder}/out/claude-{version}/{written}")]


def scenario(args):
    words = json.dumps(args)
    return f"""
title     = "A command line"
mechanism = "X5"
agent     = {{ claude = {{ as = "2.1.329", mode = "json" }} }}
args      = {words}
terminals = ["null"]
turns     = [{{ say = "Hello." }}]
expect    = [{{ outcome = "completed" }}]
"""


def settings(version, name):
    file = FILES.get(name.partition("-")[0])
    hook = f"fake-tool --plays '[{{\"warn\":\"from {name.partition('-')[0]}\"}},{{\"exit\":2}}]' -- {name.partition('-')[0]}"
    hooks = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": hook}]}]}}
    agent = open(f"{ROOT}/scenarios/agents/claude.toml").read()
    if file:
        text = toml(json.dumps(hooks))
        agent = agent.replace("[recipe.files]\n", f'[recipe.files]\n"{file}" = """{text}"""\n', 1)
    lines = recorded(version, scenario(SETTINGS[name]), agent)
    return [line for line in lines if line["dir"] != "MODEL" and '"subtype": "init"' not in json.dumps(line)]


def refused(version):
    agent = open(f"{ROOT}/scenarios/agents/claude.toml").read()
    own = toml(open(__file__).read())
    agent = agent.replace("[recipe.files]\n", f'[recipe.files]\n"{{home}}/options.py" = """\n{own}"""\n', 1)
    run = 'run         = { args = ["-p", "{prompt}", "--output-format", "stream-json", "--verbose", "{args}"] }'
    assert run in agent, "the agent file has changed"
    given = []
    for part in range(PARTS):
        words = json.dumps(["--within", " ".join(options()[part::PARTS])])
        one = agent.replace(run, "run = { args = [] }")
        for program in ('program    = ["{root}', 'program = ["node"'):
            first = program.rpartition("[")[2]
            inside = f'["python3", "{{home}}/options.py", {words[1:-1]}, {first}'
            one = one.replace(program, program.rpartition("[")[0] + inside)
        given += [line["msg"] for line in recorded(version, scenario([]), one) if '"option":' in json.dumps(line)]
    return sorted(given, key=lambda one: one["option"])


def within(names, argv):
    """In the sandbox: each option once; then a prompt, without which the run would count as one that asked nothing."""
    with ThreadPoolExecutor(4) as pool:
        for line in pool.map(lambda name: given(name, argv), names):
            print(line, flush=True)
    subprocess.run([*argv, "-p", "hello"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def given(name, argv):
    env = {**os.environ, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    words = [*argv, "-p", name, "x", "--max-turns", "1", "hello"]
    run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env,
                           start_new_session=True)
    os.set_blocking(run.stdout.fileno(), False)
    said, end = b"", time.monotonic() + 8
    while time.monotonic() < end and run.poll() is None and b"\n" not in said:
        time.sleep(0.05)
        said += run.stdout.read() or b""
    if run.poll() is None:
        os.killpg(run.pid, signal.SIGKILL)
    said += run.stdout.read() or b""
    return json.dumps({"option": name, "refused": b"unknown option" in said})


def main():
    if sys.argv[1:2] == ["--within"]:
        return within(sys.argv[2].split(), sys.argv[3:])
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for version in sys.argv[1:]:
        folder = f"{ROOT}/fake-agents/tests/golden/claude-{version}/command-line"
        os.makedirs(folder, exist_ok=True)
        for name in [*SETTINGS, "options"]:
            lines = refused(version) if name == "options" else settings(version, name)
            name = name if name == "options" else f"settings-{name}"
            with open(f"{folder}/{name}.jsonl", "w") as file:
                file.writelines(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
            print(f"recorded {version} {name}: {len(lines)} lines", flush=True)


main()
