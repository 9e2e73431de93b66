# truth: hung
# cause: each other|standard input|stdin|server\.js|node
# needs: node
# about: on exit the agent waits with wait4 for its tool server and still holds the server's stdin, which the server reads to its end
. "${0%/*}/lib/tree.sh"
echo 'process.stdin.on("data", () => {});' >server.js
cat >agent.py <<'S'
import subprocess
p = subprocess.Popen(['node', 'server.js'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.wait()
S
named claude python3 agent.py -p go </dev/null &
A=$!
await in_call $A wait
await waits_below $A node epoll
ready $A
wait $A
