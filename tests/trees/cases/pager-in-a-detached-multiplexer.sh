# truth: waiting
# verdict: WAITING UNKNOWN
# then: run tmux -S $D/socket send-keys -t s q
# needs: tmux less
# about: a pager in a detached session of tmux, to which somebody may attach at any time (tmux(1))
. "${0%/*}/lib/tree.sh"
seq 1000 >text
tmux -S socket -f /dev/null new-session -d -s s -x 80 -y 24 "exec less text"
P=$(tmux -S socket display-message -p -t s '#{pane_pid}')
await in_call "$P" read
ready "$P"
await gone "$P"
tail -f /dev/null --pid="$P"
