# truth: healthy
# then: ends
# unseen: that a job of the same multiplexer will send a key cannot be seen; a tool that reads a key at the terminal of its agent looks the same
# needs: tmux node
# about: an agent in a pane of tmux runs a command that reads a key at the terminal; a job of the same session sends the key after a time (tmux(1), send-keys)
. "${0%/*}/lib/tree.sh"
export TERM=xterm
unset TMUX
cat >agent.sh <<S
cd $D; echo \$\$ >agent.pid; export DO='{"tools":[{"cmd":["bash","-c","read -rsn1 k; exit"],"stdio":["inherit","pipe","pipe"]}],"end":true}'
exec -a claude node "$LIB/agent.js"
S
tmux -S "$D/tmux" -f /dev/null new-session -d -s one "bash $D/agent.sh"
echo "tmux -S '$D/tmux' kill-server" >cleanup
await test -s agent.pid
A=$(<agent.pid)
await waits_below $A bash read
tmux -S "$D/tmux" new-window -d "sleep $SECS; tmux -S '$D/tmux' send-keys -t one:0 y; sleep 100000"
ready $A
while [ -e /proc/$A ]; do sleep .2; done
tmux -S "$D/tmux" kill-server
exit 0
