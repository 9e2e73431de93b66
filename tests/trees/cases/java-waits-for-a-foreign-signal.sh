# truth: healthy
# then: ends
# needs: node java javac
# about: an agent's tool, a Java program, waits at a latch that its handler of SIGUSR2 counts down; a process outside of its tree sends the signal after a time (sun.misc.Signal)
. "${0%/*}/lib/tree.sh"
cat >A.java <<'S'
import java.util.concurrent.*;
class A { public static void main(String[] w) throws Exception { CountDownLatch l = new CountDownLatch(1); sun.misc.Signal.handle(new sun.misc.Signal("USR2"), s -> l.countDown());
java.nio.file.Files.writeString(java.nio.file.Path.of("waiter"), String.valueOf(ProcessHandle.current().pid())); l.await(); } }
S
javac A.java 2>javac.log
(setsid bash -c 'until test -e waiter; do sleep .05; done; sleep "$SECS"; sleep 1; kill -USR2 $(<waiter)' </dev/null >/dev/null 2>&1 &)
DO='{"tools":[["java","-Xshare:auto","-XX:+UseSerialGC","A"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e waiter
sleep 1
ready $A
wait $A
