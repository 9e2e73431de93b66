# truth: healthy
# then: ends
# needs: git
# about: githooks(5): pre-push gets the refs on stdin and may leave them unread; it tests for a while, and git push waits.
. "${0%/*}/lib/tree.sh"
git init -q --bare b; git init -q r; cd r; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
printf '#!/bin/sh\nsleep $SECS\n' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push
show sleep nanosleep git push -q ../b HEAD:refs/heads/m
