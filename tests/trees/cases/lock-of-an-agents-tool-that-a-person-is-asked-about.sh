# truth: waiting
# verdict: WAITING UNKNOWN
# then: types y\n
# about: a script waits for the lock of a package tool, which asks a person at its terminal (rm(1), -i; flock(1))
. "${0%/*}/lib/tree.sh"
touch file
cat >job.sh <<'S'
( until [ -e has ]; do sleep .1; done; exec flock lock true ) &
flock lock sh -c 'touch has; rm -i file </dev/tty'
wait
S
exec python3 "$LIB/tree.py" pty --below rm --call read -- bash job.sh
