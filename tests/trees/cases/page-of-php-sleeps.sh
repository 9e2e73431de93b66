# truth: healthy
# then: ends
# needs: php curl
# about: curl waits for a page whose script sleeps, in the only process of PHP's own server, which is a child of the same script (PHP, sleep; curl has no default limit)
. "${0%/*}/lib/tree.sh"
echo '<?php file_put_contents("asked", "x"); sleep((int) getenv("SECS")); echo "done";' >index.php
cat >job.sh <<'S'
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
php -S 127.0.0.1:$port -t . >log 2>&1 & S=$!
until curl -s "http://127.0.0.1:$port/none.txt" >page; do sleep .2; [ -e asked ] && break; done
curl -s "http://127.0.0.1:$port/" >page; kill $S
S
bash job.sh &
P=$!
await test -e asked
ready $P
wait $P
