# truth: healthy
# then: ends
# needs: php curl python3
# about: a development server with one worker asks itself, and gives up after PHP's limit (PHP, default_socket_timeout, default 60 s)
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >index.php <<W
<?php touch('asked'); echo @file_get_contents('http://127.0.0.1:$PORT/inner') === false ? 'gave up' : 'answered';
W
php -d default_socket_timeout="${SECS%.*}" -S "127.0.0.1:$PORT" index.php >log 2>&1 &
S=$!
await python3 -c "import socket; socket.create_connection(('127.0.0.1', $PORT))"
curl -s "http://127.0.0.1:$PORT/" >out &
P=$!
await test -e asked
await in_call $S poll
await in_call $P poll
ready $P
wait $P
E=$?
kill $S
exit $E
