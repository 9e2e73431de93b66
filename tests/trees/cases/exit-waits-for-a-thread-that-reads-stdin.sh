# truth: hung
# cause: stdin|pipe|input
# culprit: python|tool
# needs: node
# about: an agent's tool has done its work; its executor's thread still is in input(), and the end of the program joins it: stdin is a pipe that the agent keeps open (Python, concurrent.futures: threads are joined at exit)
. "${0%/*}/lib/tree.sh"
export HOME=$D
cat >tool.py <<'S'
import concurrent.futures, time
p = concurrent.futures.ThreadPoolExecutor(1); p.submit(input, "q to quit: ")
time.sleep(.5)
S
DO='{"tools":[{"cmd":["python3","tool.py"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A python3 futex
ready $A
wait $A
