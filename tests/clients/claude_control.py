"""What a host asks of Claude Code over the control protocol, with PyPI's claude-agent-sdk: hooks, the status of MCP
servers, a mode, an interrupt, and `query`, whose input is closed after its result.
Prints a line for each: its name and what came, or `open` if nothing came within LIMIT seconds.

    python claude_control.py
"""

import asyncio
import shutil
import sys

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, PermissionResultDeny, ResultMessage

LIMIT = 10
EVENTS = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop"]
hooked: list[str] = []


async def denies(_tool, _given, _context):
    return PermissionResultDeny(message="not today")


def hook(event):
    async def called(_given, _call, _context):
        hooked.append(event)
        return {}

    return [HookMatcher(hooks=[called])]


async def within(name, coming, shown=None):
    try:
        came = await asyncio.wait_for(coming, LIMIT)
        print(f"{name}: {shown(came) if shown else 'answered'}")
    except asyncio.TimeoutError:
        print(f"{name}: open")
    except Exception as error:  # what the SDK raises for a refusal is its own affair
        print(f"{name}: error: {str(error).splitlines()[0][:120]}")


async def result_of(client):
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            return message.subtype
    return "none"


async def main():
    options = ClaudeAgentOptions(
        cli_path=shutil.which("claude"), can_use_tool=denies, setting_sources=[], hooks={event: hook(event) for event in EVENTS}
    )
    client = ClaudeSDKClient(options)
    await client.connect()
    await client.query("go")
    await within("result", result_of(client), str)
    print(f"hooks: {hooked}")
    for name in ["get_server_info", "get_mcp_status", "get_context_usage"]:
        if hasattr(client, name):
            await within(name, getattr(client, name)())
    await within("set_permission_mode", client.set_permission_mode("plan"))
    await within("interrupt", client.interrupt())
    await within("ends when it is disconnected", client.disconnect(), lambda _: "ended")


asyncio.run(main())
sys.exit(0)
