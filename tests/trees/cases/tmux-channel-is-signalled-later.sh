# truth: healthy
# then: ends
# needs: tmux
# about: a client waits for a channel that a pane signals when it is done (tmux(1), wait-for)
. "${0%/*}/lib/tree.sh"
tmux -S socket -f /dev/null new-session -d -s s 'sleep "$SECS"; tmux -S socket wait-for -S done; sleep 1'
show . 'poll epoll' tmux -S socket wait-for done
