# truth: hung
# verdict: HUNG WAITING
# cause: thread|futex|select|poll|itself|beam|pipe
# certain: no
# moves: the schedulers of Erlang's machine wake at times
# needs: erl
# about: a process of Erlang waits for a message that nobody sends (Erlang Reference Manual, receive)
. "${0%/*}/lib/tree.sh"
export HOME=$D
erl -noinput -eval 'file:write_file("started", <<>>), receive x -> halt(0) end.' &
P=$!
await test -e started
await in_call $P select poll futex read epoll
ready $P
wait $P
