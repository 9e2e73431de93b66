# truth: healthy
# then: ends
# needs: php curl node
# about: a page asks its own server, which has a second worker for it; that one takes its time (PHP, php -S with PHP_CLI_SERVER_WORKERS=2)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
P0=$(free_port)
printf '<?php ini_set("default_socket_timeout", 1000000); if ($_SERVER["REQUEST_URI"] === "/outer") { echo file_get_contents("http://127.0.0.1:%s/inner"); } elseif ($_SERVER["REQUEST_URI"] === "/inner") { touch("asked"); sleep(%s); echo "ok"; }\n' $P0 $((S+2)) >r.php
cat >run.sh <<J
PHP_CLI_SERVER_WORKERS=3 php -S 127.0.0.1:$P0 r.php >log 2>&1 &
until curl -s 127.0.0.1:$P0/ -o page; do sleep .3; done
curl -s 127.0.0.1:$P0/outer; kill \$!; exit 0
J
tool "bash run.sh" &
A=$!
await test -e asked
ready $A
wait $A
