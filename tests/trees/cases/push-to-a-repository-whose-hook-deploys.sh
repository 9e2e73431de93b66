# truth: healthy
# then: ends
# needs: git node
# about: git push waits for the other side's hook, which deploys and takes its time over it (git-receive-pack(1), pre-receive)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
git init -q --bare up.git; git init -q w
printf '#!/bin/sh\ncat >/dev/null; echo deploying; touch %s/begun; sleep %s\n' "$D" $((S+2)) >up.git/hooks/pre-receive; chmod +x up.git/hooks/pre-receive
git -C w -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
tool "git -C w push -q ../up.git HEAD:main" &
A=$!
await test -e begun
ready $A
wait $A
