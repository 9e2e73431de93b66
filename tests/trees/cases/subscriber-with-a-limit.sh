# truth: healthy
# then: ends 27
# needs: mosquitto mosquitto_sub
# about: a subscriber of a quiet topic ends after its time (mosquitto_sub(1), -W: the exit code is 27)
. "${0%/*}/lib/tree.sh"
. "$LIB/broker.sh"
start_broker
mosquitto_sub -p "$PORT" -t quiet -W "${SECS%.*}" &
P=$!
await in_call $P poll select
ready $P
wait $P
exit $?
