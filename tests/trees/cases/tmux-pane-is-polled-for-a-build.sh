# truth: healthy
# then: ends
# needs: tmux node
# about: an agent's tool starts a build in a detached tmux and looks at its pane each two seconds until it says DONE (tmux(1), send-keys, capture-pane)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
unset TMUX; export TMUX_TMPDIR=$D
echo "TMUX_TMPDIR=$D tmux kill-server" >cleanup
cat >run.sh <<J
tmux -f /dev/null new-session -d -s b 'sh'
tmux send-keys -t b 'sleep $((S+2)); echo DO""NE' Enter
touch begun
until tmux capture-pane -pt b | grep -q DONE; do sleep 2; done
tmux kill-server
J
tool "bash run.sh" &
A=$!
await test -e begun
ready $A
wait $A
