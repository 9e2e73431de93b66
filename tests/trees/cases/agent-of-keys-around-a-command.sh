# truth: healthy
# then: ends
# needs: ssh-agent
# about: ssh-agent runs as the parent of a command and ends with it (ssh-agent(1))
. "${0%/*}/lib/tree.sh"
show sleep nanosleep sh -c 'ssh-agent -a "$D/agent" sh -c "sleep \$SECS"; exit $?'
