# truth: hung
# cause: stop
# culprit: tmux
# moves: tail looks again each second
# needs: tmux
# later: 15 the one who stopped it may let it go on
# about: a client asks a server that a signal has stopped (tmux(1), signal(7))
. "${0%/*}/lib/tree.sh"
tmux -S socket -f /dev/null new-session -d -s s 'exec tail -f /dev/null'
S=$(tmux -S socket display-message -p '#{pid}')
kill -STOP "$S"
await state "$S" T
show . 'poll epoll' tmux -S socket list-sessions
