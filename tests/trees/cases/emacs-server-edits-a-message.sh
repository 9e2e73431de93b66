# truth: waiting
# verdict: WAITING UNKNOWN
# then: run emacsclient -s "$D/emacs" -e '(with-current-buffer "COMMIT_EDITMSG" (server-edit))'
# needs: emacs emacsclient git
# about: git commit waits for emacsclient, and that for a person to finish the buffer in a server (emacsclient(1); git-commit(1), GIT_EDITOR)
. "${0%/*}/lib/tree.sh"
export HOME=$D
emacs -Q --fg-daemon="$D/emacs" >log 2>&1 &
await emacsclient -s "$D/emacs" -e t
git init -q repo
git -C repo -c user.name=T -c user.email=t@example.com -c core.editor="emacsclient -s $D/emacs" commit --allow-empty >out 2>&1 &
P=$!
await waits_below $P emacsclient recv read poll select
ready $P
wait $P
