"""A host of Claude Code made of PyPI's claude-agent-sdk. Exit code 0: the run came to a success; 1: it did not.

CHECK=1 (as `cargo xtask clients` has it) checks besides what the agent and the SDK told each other.

`guarded`: never answers, and rehang's guard decides how long the run is waited for.

    python claude_sdk.py answers|denies|never|guarded [PROMPT]
"""

import asyncio
import json
import os
import shutil
import sys
import threading
from dataclasses import replace

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolResultBlock,
    UserMessage,
)

POLICY = sys.argv[1]
PROMPT = sys.argv[2] if len(sys.argv) > 2 else "go"
CHECK = os.environ.get("CHECK") == "1"
asked: list[str] = []
waits = asyncio.Event()


async def can_use_tool(tool, given, _context):
    asked.append(tool)
    if POLICY in ("never", "guarded"):
        waits.set()
        await asyncio.Event().wait()
    if POLICY == "denies":
        return PermissionResultDeny(message="not today")
    if tool != "AskUserQuestion":
        return PermissionResultAllow()
    answers = {one["question"]: one["options"][0]["label"] for one in given["questions"]}
    return PermissionResultAllow(updated_input={**given, "answers": answers})


async def gives_up(client):
    """A host that knows that nobody will answer ends the turn."""
    await waits.wait()
    await client.interrupt()


def guarded(options):
    """The SDK's own transport, with a guard that is told what passes and decides in a thread beside the loop."""
    import rehang
    from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

    class Guarded(SubprocessCLITransport):
        async def connect(self):
            await super().connect()
            loop, wait = asyncio.get_running_loop(), self._process.wait
            self.guard = rehang.Guard(self._process.pid, stdin=rehang.Stdin.PIPE)
            now = lambda call: asyncio.run_coroutine_threadsafe(call(), loop).result()
            follow = lambda: self.guard.follow(lambda: now(wait), close_stdin=lambda: now(self.end_input)).how
            threading.Thread(target=lambda: os._exit(0 if follow() == "completed" else 1), daemon=True).start()

        async def write(self, data):
            self.guard.wrote(data.encode())
            await super().write(data)

        async def read_messages(self):
            async for message in super().read_messages():
                self.guard.output(json.dumps(message).encode() + b"\n")
                yield message

    return Guarded(prompt=None, options=replace(options, permission_prompt_tool_name="stdio"))


async def main() -> int:
    options = ClaudeAgentOptions(cli_path=shutil.which("claude"), can_use_tool=can_use_tool, setting_sources=[])
    messages, result = [], None
    async with ClaudeSDKClient(options, guarded(options) if POLICY == "guarded" else None) as client:
        await client.query(PROMPT)
        patience = asyncio.create_task(gives_up(client)) if CHECK else None
        async for message in client.receive_response():
            messages.append(message)
            if isinstance(message, ResultMessage):
                result = message
        if patience:
            patience.cancel()
    if CHECK:
        blocks = [b for m in messages if isinstance(m, UserMessage) and isinstance(m.content, list) for b in m.content]
        told = [block for block in blocks if isinstance(block, ToolResultBlock)]
        assert any(isinstance(message, AssistantMessage) for message in messages), "the agent said nothing"
        assert result is not None, "no result"
        if POLICY == "never":
            assert asked == ["AskUserQuestion"], asked
            assert result.subtype != "success", result
        else:
            assert asked == ["AskUserQuestion", "Bash"], asked
            assert result.subtype == "success" and not result.is_error, result
            assert [bool(b.is_error) for b in told] == [POLICY == "denies"] * 2, told
            assert POLICY == "denies" or "sqlite" in str(told[0].content), told
        print({"policy": POLICY, "asked": asked, "subtype": result.subtype})
        return 0
    return 0 if result is not None and result.subtype == "success" and not result.is_error else 1


sys.exit(asyncio.run(main()))
