"""A wrapper of Claude Code with which nothing is wrong: the tests break it on purpose, one line at a time.

It ends a run after two hours without a message, and any run after six. It prints the result and ends with 0 only if
the agent gave a whole one and ended with 0 itself; 124 is a run that it ended.
"""

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time

IDLE, WALL = 2 * 3600, 6 * 3600
GRACE = 10
PR_SET_CHILD_SUBREAPER = 36


def children(pid):
    """All processes below one."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    found += [child, *children(child)]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def end(agent):
    """Ends the agent's group, and then whatever has left the group."""
    signal_group(agent, signal.SIGTERM)
    try:
        agent.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass
    signal_group(agent, signal.SIGKILL)
    for pid in children(os.getpid()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    agent.wait()


def signal_group(agent, number):
    try:
        os.killpg(agent.pid, number)
    except ProcessLookupError:
        pass


class Output:
    """What the agent says on stdout: lines, however they come."""

    def __init__(self):
        self.rest, self.result = b"", None

    def feed(self, data):
        """Returns whether it held a message."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        return any([self.message(line) for line in lines])

    def message(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            return False
        if isinstance(message, dict) and message.get("type") == "result":
            self.result = message
        return isinstance(message, dict)


def read(key, agent, streams, output):
    """Takes what has come; returns whether it held a message."""
    if isinstance(key.fileobj, int):
        agent.wait()
        streams.unregister(key.fileobj)
        return False
    data = os.read(key.fd, 65536)
    if not data:
        streams.unregister(key.fileobj)
    return key.fileobj is agent.stdout and output.feed(data)


def run(prompt):
    agent = subprocess.Popen(
        ["claude", "-p", prompt, "--output-format", "stream-json", "--verbose"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    output = Output()
    streams = selectors.DefaultSelector()
    streams.register(agent.stdout, selectors.EVENT_READ)
    streams.register(agent.stderr, selectors.EVENT_READ)
    streams.register(os.pidfd_open(agent.pid), selectors.EVENT_READ)
    began = heard = time.monotonic()
    while agent.returncode is None:
        left = min(heard + IDLE, began + WALL) - time.monotonic()
        if left <= 0:
            end(agent)
            return 124
        for key, _ in streams.select(left):
            if read(key, agent, streams, output):
                heard = time.monotonic()
    # a child of the agent may hold the streams for as long as it likes
    exited = time.monotonic()
    while streams.get_map() and (left := exited + GRACE - time.monotonic()) > 0:
        for key, _ in streams.select(left):
            read(key, agent, streams, output)
    if agent.returncode != 0:
        return 1
    if output.result is None or output.result.get("is_error"):
        return 1
    print(output.result["result"])
    return 0


ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
sys.exit(run(sys.argv[1]))
