# truth: healthy
# then: ends
# needs: npm node curl
# about: npm run dev in the background with a watcher of files; the script waits for its port, runs a test that takes its time, and ends the server.
. "${0%/*}/lib/tree.sh"
echo '{"name":"x","version":"1.0.0","scripts":{"dev":"node dev.js"}}' >package.json
echo "require('fs').watch('.',()=>{});require('http').createServer((q,r)=>r.end('ok')).listen(0,'127.0.0.1',function(){require('fs').writeFileSync('port',''+this.address().port)})" >dev.js
cat >t.sh <<'W'
setsid npm run -s dev & S=$!
until [ -s port ] && curl -sf "http://127.0.0.1:$(cat port)" >/dev/null; do sleep .2; done
node -e 'setTimeout(()=>{},process.env.SECS*1000); require("fs").writeFileSync("testing","")'; r=$?
kill -- -$S; wait $S; exit $r
W
bash t.sh &
P=$!
await test -e testing
ready $P
wait $P
