# truth: hung
# cause: stdin|pipe|input
# culprit: git|sh
# needs: node git diff
# about: an agent's tool runs git difftool with a pipe as stdin that it keeps open: "Launch 'diff' [Y/n]?" (git-difftool(1), --no-prompt)
. "${0%/*}/lib/tree.sh"
export HOME=$D
git init -q w; git config --global user.name a; git config --global user.email a@b; git config --global difftool.d.cmd 'diff "$LOCAL" "$REMOTE"'
echo 1 >w/f; git -C w add f; git -C w commit -qm x; echo 2 >w/f
tool "git -C w difftool -t d" pipe &
A=$!
await waits_below $A git-difftool-- read
ready $A
wait $A
