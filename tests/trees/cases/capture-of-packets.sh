# truth: waiting
# verdict: WAITING UNKNOWN
# then: run python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(open("port").read())))'
# needs: tcpdump python3 root
# about: tcpdump waits for a packet that fits its filter (tcpdump(8), -c)
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "$PORT" >port
tcpdump -Z root -i lo -c 1 -n udp port "$PORT" >out 2>log &
P=$!
await grep -q listening log
await in_call $P poll recv select
ready $P
wait $P
