# truth: hung
# cause: stdin|pipe|input
# culprit: ed
# needs: node ed git
# about: an agent's tool commits, and git's editor is ed, which reads its commands from a pipe that the agent keeps open (git-commit(1), EDITOR=ed)
. "${0%/*}/lib/tree.sh"
export HOME=$D
git init -q w; git config --global user.name a; git config --global user.email a@b
tool "EDITOR=ed git -C w commit --allow-empty" pipe &
A=$!
await waits_below $A ed read
ready $A
wait $A
