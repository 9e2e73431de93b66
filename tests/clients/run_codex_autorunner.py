"""PyPI's codex-autorunner as a wrapper: its `run_opencode_prompt` starts `opencode serve` from PATH and prompts it.

Its limits: an hour for a prompt, ten seconds' grace after an interrupt, and the time without events that its source has
(STALL). Exit code 0: it says that the turn completed; 1: that it failed; 2: that it ran out of time.

    python run_codex_autorunner.py plain [PROMPT]
"""

import asyncio
import os
import shutil
import sys
from pathlib import Path

from codex_autorunner.agents.opencode import runtime
from codex_autorunner.agents.opencode.run_prompt import OpenCodeRunConfig, run_opencode_prompt
from codex_autorunner.agents.opencode.supervisor import OpenCodeSupervisor

PROMPT = sys.argv[2] if len(sys.argv) > 2 else "go"
STALL = runtime._OPENCODE_STREAM_STALL_TIMEOUT_SECONDS


async def main() -> int:
    serve = [shutil.which("opencode"), "serve", "--hostname", "127.0.0.1", "--port", "0"]
    supervisor = OpenCodeSupervisor(serve, session_stall_timeout_seconds=STALL, base_env=dict(os.environ))
    config = OpenCodeRunConfig(
        agent="opencode", model=None, reasoning=None, prompt=PROMPT, workspace_root=str(Path.cwd()),
        timeout_seconds=3600, interrupt_grace_seconds=10,
    )
    try:
        done = await run_opencode_prompt(supervisor, config)
    except (RuntimeError, OSError, ConnectionError, ValueError) as error:
        print(f"failed: {error}")
        return 1
    finally:
        await supervisor.close_all()
    print(f"{'timed out' if done.timed_out else done.output_error or 'completed'}: {done.output_text!r}")
    return 2 if done.timed_out else 0 if done.output_error is None else 1


sys.exit(asyncio.run(main()))
