# truth: healthy
# then: ends
# needs: node
# about: a test of an agent's tool fills the stdin of a server that first compiles for a time and then reads all (child_process, spawn; pipe(7))
. "${0%/*}/lib/tree.sh"
cat >server.py <<'S'
import os, subprocess, sys
subprocess.run([sys.executable, '-S', '-c', 'import os, time\nopen("begun", "w"); t = time.time() + float(os.environ["SECS"])\nwhile time.time() < t: pass'], stdin=subprocess.DEVNULL)
n = len(sys.stdin.buffer.read())
S
cat >test.py <<'S'
import subprocess, sys
p = subprocess.Popen([sys.executable, 'server.py'], stdin=-1); p.stdin.write(b'x' * 300000); p.stdin.close(); sys.exit(p.wait())
S
DO='{"tools":[["python3","test.py"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e begun
ready $A
wait $A
