"""A small agent of our own: it asks its model, runs commands, waits for an answer that nobody gives."""
import json, os, subprocess, sys, threading, time, urllib.error, urllib.request

BASE, DOES = sys.argv[1], os.environ.get("AGENT_DOES", "")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("bash", "question")]


def bash(arguments):
    # the tool that hangs in the field: a pipe for stdin that it holds, and no limit
    stdin = subprocess.PIPE if DOES == "holds-stdin" else subprocess.DEVNULL
    child = subprocess.Popen(arguments["command"], shell=True, stdin=stdin, stdout=subprocess.PIPE)
    return child.stdout.read().decode()


if DOES == "never-asks":
    sys.exit(0)
if DOES == "waits-for-a-server":
    server = subprocess.Popen(["fake-tool", "--plays", '["hold"]', "--", "server"])
    try:
        server.wait(timeout=3)
    except subprocess.TimeoutExpired:
        server.kill()
tries = 0
messages = [{"role": "user", "content": "go"}]
while True:
    body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS}).encode()
    request = urllib.request.Request(BASE + "/v1/chat/completions", body, {"content-type": "application/json"})
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError:
        if DOES == "gives-up-and-stays":
            time.sleep(1000)
        # a back-off: each wait is twice as long
        tries += 1
        time.sleep(0.1 * 2**tries)
        continue
    message = json.load(answer)["choices"][0]["message"]
    messages.append(message)
    while DOES == "spins":
        pass
    if not message.get("tool_calls"):
        if DOES == "asks-for-ever":
            continue
        break
    for call in message["tool_calls"]:
        if call["function"]["name"] == "question" and DOES == "waits-for-ever":
            threading.Event().wait()
        elif call["function"]["name"] == "question":
            time.sleep(1000)
        told = bash(json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
print(message["content"])
if DOES == "leaves-a-daemon":
    subprocess.Popen(["setsid", "sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
