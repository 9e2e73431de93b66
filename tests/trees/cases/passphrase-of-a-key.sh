# truth: hung
# cause: terminal|/dev/tty
# culprit: ssh-keygen
# needs: ssh-keygen node
# about: below an agent's screen ssh-keygen asks at /dev/tty for a key's passphrase (ssh-keygen(1), -y)
. "${0%/*}/lib/tree.sh"
ssh-keygen -q -t ed25519 -N secret -f key
unset SSH_ASKPASS DISPLAY
export DO='{"raw":true,"tools":[["ssh-keygen","-y","-f","key"]]}'
exec python3 "$LIB/tree.py" pty --below ssh-keygen --call read -- bash -c 'exec -a claude node "$LIB/agent.js"'
