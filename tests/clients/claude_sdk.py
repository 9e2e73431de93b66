"""A host of Claude Code made of PyPI's claude-agent-sdk. Exit code 0: the run came to a success; 1: it did not.

CHECK=1 (as `cargo xtask clients` has it) checks besides what the agent and the SDK told each other.

`guarded`: never answers, and rehang's guard decides how long the run is waited for.

    python claude_sdk.py answers|denies|never|guarded [PROMPT]
"""

import asyncio
import os
import shutil
import sys

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


async def guard(transport, messages):
    """Does what guard says, until the run is over, even if somebody still holds its output."""
    import rehang

    process, said, runs = transport._process, 0, True
    with rehang.Guard(process.pid, stdin=rehang.Stdin.PIPE) as guard:
        while (answer := guard.ask()).settled is None:
            for step in answer.steps:
                await transport.end_input() if step.do is rehang.Do.CLOSE_STDIN else step.carry_out()
            await asyncio.sleep(min(answer.next_s or 10, 10))
            if said < len(messages):
                said = len(messages)
                guard.output(b"\n")  # that it moved; the SDK does not pass on what it read
            if runs and process.returncode is not None:
                guard.exited(process.returncode)
                runs = False
    os._exit(0 if answer.settled.how == "completed" else 1)


async def main() -> int:
    options = ClaudeAgentOptions(cli_path=shutil.which("claude"), can_use_tool=can_use_tool, setting_sources=[])
    messages, result = [], None
    async with ClaudeSDKClient(options) as client:
        await client.query(PROMPT)
        patience = asyncio.create_task(gives_up(client)) if CHECK else None
        guards = asyncio.create_task(guard(client._transport, messages)) if POLICY == "guarded" else None
        async for message in client.receive_response():
            messages.append(message)
            if isinstance(message, ResultMessage):
                result = message
        if patience:
            patience.cancel()
        if guards:
            guards.cancel()
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
