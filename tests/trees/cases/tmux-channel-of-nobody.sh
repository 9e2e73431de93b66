# truth: hung
# verdict: HUNG WAITING
# cause: tmux
# certain: no
# moves: tail looks again each second
# needs: tmux
# about: a client waits for a channel that nobody will signal; the server's only pane is a shell (tmux(1), wait-for)
. "${0%/*}/lib/tree.sh"
tmux -S socket -f /dev/null new-session -d -s s 'exec tail -f /dev/null'
show . 'poll epoll' tmux -S socket wait-for never
