# truth: healthy
# then: ends
# needs: node
# about: an SDK's host reads the agent's stream, blocking; the agent was told that the model is overloaded and asks again after its own timer
import subprocess
import sys
from lib import tree
tree.write('agent.js', '''
process.stdout.write('{"type":"system","subtype":"init","session_id":"s","tools":[],"model":"m"}\\n');
process.stdin.on('data', () => {
  process.stdout.write('{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"ok"}]},"session_id":"s"}\\n');
  setTimeout(() => { process.stdout.write('{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}\\n'); process.exit(0); }, process.env.SECS * 1000);
});
''')
p = tree.start('claude', ['node', f'{tree.D}/agent.js', '-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(b'{"type":"user","message":{"role":"user","content":"hi"}}\n')
p.stdin.flush()
p.stdout.readline()
p.stdout.readline()
tree.ready(p.pid)
for line in p.stdout: pass
sys.exit(p.wait())
