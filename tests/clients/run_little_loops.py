"""PyPI's little-loops as a wrapper: its `run_claude_command` runs the `claude` that PATH names.

`wraps`: with its own limits (an hour; five minutes after the end of the streams). Exit code 0: it says that the command
completed; 1: that it failed; 2: that it ran out of time.
`guarded`: without its limit; rehang's guard decides in its place. Exit code 0 or 1, as above.
`completes`, `runs-out-of-time`: what `cargo xtask clients` checks; exit code 0 if it is so.

    python run_little_loops.py wraps|guarded|completes|runs-out-of-time
"""

import inspect
import os
import subprocess
import sys
import threading

from little_loops.subprocess_utils import run_claude_command

MODE = sys.argv[1]
said: list[str] = []
seen: list[bool] = []
guards = []


def begun(process):
    guards.append(rehang.Guard(process.pid, stdin=rehang.Stdin.INHERITED))
    threading.Thread(target=follows, args=[process], daemon=True).start()


def follows(process):
    how = guards[0].follow(process.wait).how
    os._exit(0 if how == "completed" else 1)  # even if somebody still holds its output


def heard(line, is_stderr):
    said.append(line)
    for one in guards:
        one.output(f"{line}\n".encode(), stderr=is_stderr)


timeout = {"wraps": 3600, "guarded": 0, "completes": 60, "runs-out-of-time": 1}[MODE]
# 1.37.0 knows neither a grace after the end of the streams nor the result
known = inspect.signature(run_claude_command).parameters
more = {"post_stream_close_grace_seconds": 300, "on_result_seen": seen.append}
if MODE == "guarded":
    import rehang

    more = {"post_stream_close_grace_seconds": None, "on_process_start": begun}
try:
    done = run_claude_command(
        "go",
        timeout=timeout,
        stream_callback=heard,
        **{name: value for name, value in more.items() if name in known},
    )
except subprocess.TimeoutExpired as error:
    print(f"timeout after {error.timeout} s; it had said: {said}")
    sys.exit(0 if MODE == "runs-out-of-time" else 2)
print(f"exit code {done.returncode}, result seen: {seen}, said: {said}")
if MODE == "completes":
    assert done.returncode == 0 and ("on_result_seen" not in known or seen == [True]) and "Done." in "".join(said), done
sys.exit(0 if done.returncode == 0 and MODE != "runs-out-of-time" else 1)
