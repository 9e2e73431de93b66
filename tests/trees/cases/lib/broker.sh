# Starts a message broker of the case's own on a free port of loopback; the port is in PORT and in the file `port`.
start_broker() {
    PORT=$(free_port)
    printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$PORT" >broker.conf
    "$(command -v mosquitto || echo /usr/sbin/mosquitto)" -c broker.conf >broker.log 2>&1 &
    echo "$PORT" >port
    await mosquitto_pub -p "$PORT" -t start -m x
}
