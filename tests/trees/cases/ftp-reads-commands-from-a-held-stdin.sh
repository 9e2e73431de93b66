# truth: hung
# cause: stdin|pipe|input
# culprit: ftp
# needs: node ftp
# about: an agent's tool starts ftp without commands; it reads them from a pipe that the agent keeps open (ftp(1))
. "${0%/*}/lib/tree.sh"
tool "ftp -n" pipe &
A=$!
await waits_below $A ftp read poll select
ready $A
wait $A
