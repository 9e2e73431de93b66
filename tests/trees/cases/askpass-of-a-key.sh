# truth: waiting
# verdict: WAITING UNKNOWN
# then: run echo secret >"$D/answer"
# needs: ssh-keygen setsid
# about: ssh-keygen asks a program for the passphrase, and that waits for a person's answer from elsewhere (ssh(1), SSH_ASKPASS, SSH_ASKPASS_REQUIRE)
. "${0%/*}/lib/tree.sh"
mkfifo answer
ssh-keygen -q -t ed25519 -N secret -f key
printf '#!/bin/sh\nread -r answer <%s/answer\necho "$answer"\n' "$D" >askpass
chmod +x askpass
export SSH_ASKPASS=$D/askpass SSH_ASKPASS_REQUIRE=force DISPLAY=none:0
setsid ssh-keygen -y -f key >out 2>&1 &
P=$!
await waits_below $P askpass open
ready $P
wait $P
