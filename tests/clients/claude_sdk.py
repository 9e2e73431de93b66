"""A host of Claude Code made of PyPI's claude-agent-sdk. Exit code 0: the run came to a success; 1: it did not.

CHECK=1 (as `cargo xtask clients` has it) checks besides what the agent and the SDK told each other.

    python claude_sdk.py answers|denies|never [PROMPT]
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
    if POLICY == "never":
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


async def main() -> int:
    options = ClaudeAgentOptions(cli_path=shutil.which("claude"), can_use_tool=can_use_tool, setting_sources=[])
    messages, result = [], None
    async with ClaudeSDKClient(options) as client:
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
