# truth: hung
# verdict: HUNG WAITING
# cause: ssh|sleep|tail|banner|pipe
# culprit: tail
# moves: tail looks again each second
# needs: ssh
# about: ssh waits for the other side's version line through a proxy command that says nothing (ssh_config(5), ProxyCommand)
. "${0%/*}/lib/tree.sh"
show . 'read poll select' ssh -F /dev/null -o ProxyCommand='tail -f /dev/null' host true
