# truth: healthy
# then: ends 1
# needs: node
# about: a test waits for an event that never comes; node's runner ends it after its limit (node --test, the timeout of a test)
. "${0%/*}/lib/tree.sh"
cat >a.test.mjs <<'W'
import test from 'node:test';
import net from 'node:net';
import fs from 'node:fs';
test('never', { timeout: Number(process.env.SECS) * 1000 }, async t => {
  const s = net.createServer().listen(0, '127.0.0.1');
  t.after(() => s.close());
  fs.writeFileSync('started', '');
  await new Promise(() => {});
});
W
node --test a.test.mjs >out 2>&1 &
P=$!
await test -e started
await waits_below $P node epoll
ready $P
wait $P
exit $?
