# truth: healthy
# then: ends 100
# needs: apt-get root node
# about: apt-get update waits for a mirror that says nothing; its method, a child over pipes, has a limit (apt.conf(5), Acquire::http::Timeout; Acquire::Retries)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
server silent
mkdir -p s/lists/partial c/archives/partial; chmod -R 777 "$D"
echo "deb [trusted=yes] http://127.0.0.1:$PORT/ x main" >sources.list
tool "apt-get -q -o Dir::Etc::sourcelist=$D/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$D/s/lists -o Dir::Cache=$D/c -o APT::Sandbox::User=root -o Acquire::http::Timeout=$((S+2)) -o Acquire::Retries=0 -o APT::Update::Error-Mode=any update" &
A=$!
await grep -qi ":$(printf %04X $PORT) 0100007F:[0-9A-F]* 01 " /proc/net/tcp
ready $A
wait $A; C=$?
kill $SERVER; exit $C
