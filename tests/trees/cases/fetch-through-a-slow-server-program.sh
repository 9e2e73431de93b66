# truth: healthy
# then: ends
# needs: git
# about: git fetches through a command in place of ssh; the other side's program takes its time before its first word (git(1), GIT_SSH_COMMAND)
. "${0%/*}/lib/tree.sh"
export HOME=$D GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c
git init -q --bare far.git
git init -q near
git -C near commit -q --allow-empty -m one
git -C near push -q "$D/far.git" HEAD:refs/heads/main
printf '#!/bin/sh\nsleep "$SECS"\nshift\nexec sh -c "$*"\n' >over
chmod +x over
export GIT_SSH_COMMAND=$D/over GIT_SSH_VARIANT=simple
show sleep nanosleep git -C near fetch -q "far:$D/far.git" main
