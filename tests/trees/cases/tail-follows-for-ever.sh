# truth: hung
# verdict: HUNG WAITING
# cause: tail
# certain: no
# moves: tail may poll
# needs: node
# about: an agent's tool follows a log that nobody writes any more (tail(1), -f)
. "${0%/*}/lib/tree.sh"
echo over >log
export DO='{"tools":[["bash","-c","tail -f log; true"]]}'
show tail 'read poll nanosleep' bash -c 'exec -a claude node "$LIB/agent.js" -p go' </dev/null
