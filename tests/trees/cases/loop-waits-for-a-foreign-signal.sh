# truth: healthy
# then: ends
# needs: node python3
# about: an agent's tool, an event loop, waits for SIGUSR1, which a process outside of its tree sends after a time (asyncio, loop.add_signal_handler)
. "${0%/*}/lib/tree.sh"
cat >one.py <<'S'
import asyncio, os, signal
async def main():
    e = asyncio.Event(); asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, e.set); open('w', 'w').write(str(os.getpid())); os.rename('w', 'waiter'); await e.wait()
asyncio.run(main())
S
(setsid bash -c 'until test -e waiter; do sleep .05; done; sleep "$SECS"; kill -USR1 $(<waiter)' </dev/null >/dev/null 2>&1 &)
DO='{"tools":[["python3","one.py"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e waiter
sleep 1
ready $A
wait $A
