# truth: healthy
# then: ends
# needs: git
# about: githooks(5): git commit waits for its pre-commit hook, whose linters run in parallel by xargs -P; each takes its time.
. "${0%/*}/lib/tree.sh"
git init -q r; cd r; echo a >f; git add f
printf '#!/bin/sh\necho a b c | xargs -n1 -P3 sh -c "sleep $SECS"\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
show sleep nanosleep git -c user.name=a -c user.email=a@b commit -qm x
