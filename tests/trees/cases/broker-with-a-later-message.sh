# truth: healthy
# then: ends
# needs: mosquitto mosquitto_sub mosquitto_pub
# about: a subscriber waits for one message, which a publisher sends after a time (mosquitto_sub(1), -C)
. "${0%/*}/lib/tree.sh"
. "$LIB/broker.sh"
start_broker
(sleep "$SECS"; exec mosquitto_pub -p "$PORT" -t jobs -m done) &
mosquitto_sub -p "$PORT" -t jobs -C 1 >got &
P=$!
await in_call $P poll select
ready $P
wait $P
