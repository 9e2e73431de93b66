# truth: hung
# cause: ssh|terminal|host
# culprit: ssh
# needs: root ssh sshd ssh-keygen node
# about: below an agent's screen ssh asks at /dev/tty whether a host's key is right (ssh_config(5), StrictHostKeyChecking ask)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
sed -i 's/StrictHostKeyChecking no/StrictHostKeyChecking ask/' config
export DO='{"raw":true,"tools":[["ssh","-F","config","host","true"]]}'
exec python3 "$LIB/tree.py" pty --below ssh --call read -- bash -c 'exec -a claude node "$LIB/agent.js"'
