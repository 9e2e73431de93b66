# truth: hung
# cause: lock|each other|circle|answer
# culprit: php
# needs: php curl
# moves: idle workers of the server look again and again
# about: a request holds its session's lock and asks its own server for a page of the same session, without a limit; the second worker waits for the lock (PHP, session_start: the file handler locks until the script ends; default_socket_timeout -1)
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >index.php <<'W'
<?php
$inner = $_SERVER['REQUEST_URI'] == '/inner';
if ($inner) touch('asked');
session_id('abc'); session_start();
if (!$inner) echo file_get_contents("http://{$_SERVER['HTTP_HOST']}/inner");
W
mkdir sessions
PHP_CLI_SERVER_WORKERS=4 php -d default_socket_timeout=-1 -d session.save_path="$D/sessions" -S "127.0.0.1:$PORT" index.php >log 2>&1 &
S=$!
await python3 -c "import socket; socket.create_connection(('127.0.0.1', $PORT)).sendall(b'GET /none.txt HTTP/1.0\r\n\r\n')"
bash -c 'curl -s "http://127.0.0.1:'$PORT'/outer" >out; exit' &
P=$!
await test -e asked
locked() { local c; for c in $(cat /proc/$S/task/*/children); do in_call "$c" flock && return; done; return 1; }
await locked
ready $P
wait $P
