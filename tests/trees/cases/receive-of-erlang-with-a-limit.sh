# truth: healthy
# then: ends
# needs: erl
# about: a process of Erlang waits for a message, for a time (Erlang Reference Manual, receive … after)
. "${0%/*}/lib/tree.sh"
export HOME=$D
erl -noinput -eval "file:write_file(\"started\", <<>>), receive x -> ok after ${SECS%.*}000 -> halt(0) end." &
P=$!
await test -e started
await in_call $P select poll futex read epoll
ready $P
wait $P
exit $?
