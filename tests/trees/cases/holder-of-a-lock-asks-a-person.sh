# truth: waiting
# verdict: WAITING UNKNOWN
# then: types y\n
# about: a script waits for a lock whose holder asks a person at the terminal (flock(1); read -p)
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
flock lock bash -c 'touch has; read -p "Go on? " x' &
until [ -e has ]; do sleep .1; done
( flock lock true ) & wait $!; wait
S
cat >job2.sh <<'S'
( until [ -e has ]; do sleep .1; done; exec flock lock true ) & 
flock lock bash -c 'touch has; read -p "Go on? " x </dev/tty'
wait
S
exec python3 "$LIB/tree.py" pty --below flock --call 'wait flock' -- bash job2.sh
