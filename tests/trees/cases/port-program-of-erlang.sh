# truth: healthy
# then: ends
# needs: erl
# about: Erlang waits for a command of its port's helper process (Erlang, os:cmd; erl_child_setup)
. "${0%/*}/lib/tree.sh"
export HOME=$D
show sleep nanosleep erl -noshell -noinput -eval 'os:cmd("sleep " ++ os:getenv("SECS")), halt().'
