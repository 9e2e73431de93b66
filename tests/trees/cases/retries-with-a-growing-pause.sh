# truth: healthy
# then: ends
# about: a script tries again with a pause that doubles each time, until its service is there (bash(1), until)
. "${0%/*}/lib/tree.sh"
cat >run <<'S'
(sleep "$SECS"; : >service) &
pause=1
until [ -e service ]; do : >tried; sleep $pause; pause=$((pause * 2)); done
wait
S
bash run &
P=$!
await test -e tried
ready $P
wait $P
