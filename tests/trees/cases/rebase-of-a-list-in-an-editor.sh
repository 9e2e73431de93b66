# truth: waiting
# verdict: WAITING UNKNOWN
# then: types :q!\r
# needs: git vim
# about: git rebase -i shows its list in an editor, and waits for a person (git-rebase(1), -i; GIT_SEQUENCE_EDITOR)
. "${0%/*}/lib/tree.sh"
export HOME=$D GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR='vim -u NONE'
git init -q repo; cd repo; git config user.name t; git config user.email t@example.com
for n in 1 2 3; do git commit -q --allow-empty -m $n; done
exec python3 "$LIB/tree.py" pty --below vim --call 'select poll' -- git rebase -i HEAD~2
