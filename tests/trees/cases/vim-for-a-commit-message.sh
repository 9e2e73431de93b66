# truth: waiting
# verdict: WAITING UNKNOWN
# then: types :cq\r
# needs: vim git
# about: git commit runs an editor at its terminal and waits for a person to write (git-commit(1), GIT_EDITOR)
. "${0%/*}/lib/tree.sh"
git init -q repo
export HOME=$D
exec python3 "$LIB/tree.py" pty --below vim --call 'select poll' -- git -C repo -c user.name=T -c user.email=t@example.com -c core.editor='vim -u NONE' commit --allow-empty
