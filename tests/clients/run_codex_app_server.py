"""PyPI's codex-autorunner: its supervisor starts `codex app-server` from PATH, and its harness prompts it, with the limits of
its own configuration (a turn without news for a minute is asked for, eight times).

`completes`, `accepts`, `declines`, `cancels`, `unanswered`, `interrupts`, `stalls`: what `cargo xtask clients` checks; what is
printed is compared with a file. For `stalls`, its limits are divided by 300.

    python run_codex_app_server.py MODE,MODE...
"""

import asyncio
import logging
import os
import sys
import tempfile
from pathlib import Path

from codex_autorunner.adapters.app_server.errors import CodexAppServerError
from codex_autorunner.adapters.app_server.event_buffer import AppServerEventBuffer
from codex_autorunner.adapters.app_server.supervisor import WorkspaceAppServerSupervisor
from codex_autorunner.agents.codex.harness import CodexHarness
from codex_autorunner.core.config_defaults import _default_app_server_section

PACE = 300
LIMITS = _default_app_server_section()
RELEASES = ["0.116.0", "0.169.0"]
logging.disable(logging.CRITICAL)


async def accepts(_message):
    return "accept"


async def declines(_message):
    return "decline"


async def unanswered(_message):
    await asyncio.Event().wait()


async def run(command, pace, timeout, policy="never", handler=None):
    """One turn: how it ended, what was said, and what went wrong."""
    limit = lambda name: LIMITS[name] / pace
    with tempfile.TemporaryDirectory() as state:
        events = AppServerEventBuffer()
        supervisor = WorkspaceAppServerSupervisor(
            command, state_root=Path(state), registry_root=Path(state), env_builder=lambda *_: dict(os.environ),
            approval_handler=handler, notification_handler=events.handle_notification,
            turn_stall_timeout_seconds=limit("turn_stall_timeout_seconds"),
            turn_stall_poll_interval_seconds=limit("turn_stall_poll_interval_seconds"),
            turn_stall_recovery_min_interval_seconds=limit("turn_stall_recovery_min_interval_seconds"),
            turn_stall_max_recovery_attempts=LIMITS["turn_stall_max_recovery_attempts"],
            startup_timeout_seconds=LIMITS["startup_timeout_seconds"], active_turn_drain_timeout_seconds=1,
        )
        harness, root = CodexHarness(supervisor, events), Path.cwd()
        try:
            thread = await harness.new_conversation(root)
            turn = await harness.start_turn(
                root, thread.id, "go", None, None, approval_mode=policy, sandbox_policy="dangerFullAccess")
            try:
                done = await harness.wait_for_turn(root, thread.id, turn.turn_id, timeout=timeout)
                return done.status, done.assistant_text, done.errors
            except asyncio.TimeoutError:
                pass
            try:
                await asyncio.wait_for(harness.interrupt(root, thread.id, turn.turn_id), 3)
            except asyncio.TimeoutError:
                return "timed out", "", ["the interrupt is not answered"]
            return "timed out", "", []
        except CodexAppServerError as error:
            return "failed", "", [error]
        finally:
            await supervisor.close_all()


async def check(mode, release):
    """What the client says of a release, but for a command's time."""
    handlers = {"accepts": accepts, "declines": declines, "unanswered": unanswered, "cancels": None}
    command = ["codex", "app-server", "--as", release, "-c", "model_providers.fake.stream_max_retries=0"]
    policy = "untrusted" if mode in handlers else "never"
    pace = PACE if mode == "stalls" else 1
    timeout = {"interrupts": 2, "unanswered": 2}.get(mode, 60)
    status, text, errors = await run(command, pace, timeout, policy, handlers.get(mode))
    lines = [line for line in text.splitlines() if not line.startswith("Wall time")]
    return "; ".join([f"{mode}, {release}: {status}", *lines, *map(str, errors)])


async def main():
    for mode in sys.argv[1].split(","):
        for release in RELEASES:
            print(await check(mode, release), flush=True)
    return 0


sys.exit(asyncio.run(main()))
