# truth: waiting
# verdict: WAITING UNKNOWN WORKING
# then: run echo >>$D/one
# needs: entr
# about: entr waits until one of its files changes, and ends then (entr(1), -n -z)
. "${0%/*}/lib/tree.sh"
echo >one
echo "$D/one" >list
entr -n -z -p true <list &
P=$!
await in_call $P poll epoll
ready $P
wait $P
