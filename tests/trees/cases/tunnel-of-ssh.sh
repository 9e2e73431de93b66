# truth: waiting
# then: run ssh -F $D/config -o ControlPath=none -O check host; exec 3<>/dev/tcp/127.0.0.1/$(cat $D/near); echo x >&3; kill $(cat $D/server)
# needs: root ssh sshd ssh-keygen
# about: a tunnel waits for connections to its port, which somebody may make at any time (ssh(1), -N and -L)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' >near
ssh -F config -N -L "127.0.0.1:$(<near):127.0.0.1:1" host </dev/null &
P=$!
echo $P >server
listens() { grep -qi " 0100007F:$(printf %04X "$(<near)") 00000000:0000 0A " /proc/net/tcp; }
await listens
await in_call $P poll select
ready $P
wait $P
