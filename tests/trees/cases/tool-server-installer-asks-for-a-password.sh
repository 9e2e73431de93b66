# truth: hung
# cause: sudo|password|terminal
# needs: node
# about: below a tool server an installer asks for a password at /dev/tty, which the agent's screen has (sudo(8))
. "${0%/*}/lib/tree.sh"
cat >server.js <<'S'
process.stdin.once('data', () => require('child_process').spawn('bash', ['-c', '. "$LIB/tree.sh"; named sudo python3 -c "import getpass; getpass.getpass(\'[sudo] password for user: \')"'], { stdio: ['ignore', 'pipe', 'pipe'] }));
S
export DO='{"raw":true,"servers":[{"cmd":["node","server.js"],"send":[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"install"}}]}]}'
exec python3 "$LIB/tree.py" pty --below python3 --call read -- bash -c 'exec -a claude node "$LIB/agent.js"'
