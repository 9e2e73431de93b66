# truth: healthy
# then: ends
# about: a script follows a log through two filters until the second error, and its server, started by the same script, writes the second one after a time (tail(1), grep(1) --line-buffered, sed(1))
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
(echo error 1; sleep "$SECS"; echo error 2; sleep .2; echo error 3; sleep 1; echo error 4; sleep 1; echo error 5) >log &
tail -n +1 -f log | grep --line-buffered error | sed -u 2q
S
show sed read bash job.sh
