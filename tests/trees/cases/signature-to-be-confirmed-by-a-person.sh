# truth: waiting
# verdict: WAITING UNKNOWN
# then: run echo yes >"$D/answer"
# needs: ssh-agent ssh-add ssh-keygen git
# about: git signs a commit with a key of ssh-agent, which asks a person by a window before each use (ssh-add(1), -c; git-config(1), gpg.format=ssh)
. "${0%/*}/lib/tree.sh"
export HOME=$D DISPLAY=none:0 SSH_ASKPASS=$D/askpass SSH_ASKPASS_REQUIRE=force
mkfifo answer
printf '#!/bin/sh\nread -r answer <%s/answer\necho "$answer"\n' "$D" >askpass
chmod +x askpass
ssh-agent -D -a "$D/agent" >log 2>&1 &
echo "kill $!" >cleanup
export SSH_AUTH_SOCK=$D/agent
await test -S agent
ssh-keygen -q -t ed25519 -N '' -f key
ssh-add -q -c key
git init -q repo
git -C repo -c user.name=T -c user.email=t@example.com -c gpg.format=ssh -c user.signingkey="$D/key.pub" commit -q -S --allow-empty -m x >out 2>&1 &
P=$!
await waits_below $P ssh-keygen read poll recv
await pgrep -f "$D/askpass"
ready $P
wait $P
