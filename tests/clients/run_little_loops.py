"""PyPI's little-loops as a wrapper: its `run_claude_command` runs the `claude` that PATH names.

`wraps`: with its own limits (an hour; five minutes after the end of the streams). Exit code 0: it says that the command
completed; 1: that it failed; 2: that it ran out of time.
`completes`, `runs-out-of-time`: what `cargo xtask clients` checks; exit code 0 if it is so.

    python run_little_loops.py wraps|completes|runs-out-of-time
"""

import inspect
import subprocess
import sys

from little_loops.subprocess_utils import run_claude_command

MODE = sys.argv[1]
said: list[str] = []
seen: list[bool] = []
timeout = {"wraps": 3600, "completes": 60, "runs-out-of-time": 1}[MODE]
# 1.37.0 knows neither a grace after the end of the streams nor the result
known = inspect.signature(run_claude_command).parameters
more = {"post_stream_close_grace_seconds": 300, "on_result_seen": seen.append}
try:
    done = run_claude_command(
        "go",
        timeout=timeout,
        stream_callback=lambda line, _err: said.append(line),
        **{name: value for name, value in more.items() if name in known},
    )
except subprocess.TimeoutExpired as error:
    print(f"timeout after {error.timeout} s; it had said: {said}")
    sys.exit(0 if MODE == "runs-out-of-time" else 2)
print(f"exit code {done.returncode}, result seen: {seen}, said: {said}")
if MODE == "completes":
    assert done.returncode == 0 and ("on_result_seen" not in known or seen == [True]) and "Done." in "".join(said), done
sys.exit(0 if done.returncode == 0 and MODE != "runs-out-of-time" else 1)
