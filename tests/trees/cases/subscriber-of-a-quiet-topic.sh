# truth: waiting
# verdict: WAITING UNKNOWN
# then: run mosquitto_pub -p $(cat $D/port) -t jobs -m x
# needs: mosquitto mosquitto_sub mosquitto_pub
# about: a subscriber waits for the next message of a topic, with a keep-alive to its broker (mosquitto_sub(1))
. "${0%/*}/lib/tree.sh"
. "$LIB/broker.sh"
start_broker
show . 'poll select' mosquitto_sub -p "$PORT" -t jobs -C 1
