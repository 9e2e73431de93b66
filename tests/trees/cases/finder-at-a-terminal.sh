# truth: waiting
# verdict: WAITING UNKNOWN
# then: types \r
# needs: fzf
# about: a script takes what a person chooses in a fuzzy finder at the terminal (fzf(1))
. "${0%/*}/lib/tree.sh"
export TERM=xterm
exec python3 "$LIB/tree.py" pty --below fzf --call 'futex epoll select read' -- bash -c 'x=$(printf "%s\n" one two three | fzf); echo "$x"'
