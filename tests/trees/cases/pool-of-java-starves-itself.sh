# truth: hung
# verdict: HUNG WAITING
# cause: thread|futex|itself|lock|timer
# needs: java
# moves: the machine's own threads run at times
# about: the only thread of a Java pool waits for a task that is queued in the same pool (java.util.concurrent, Executors.newFixedThreadPool: thread starvation deadlock)
. "${0%/*}/lib/tree.sh"
cat >A.java <<'S'
import java.util.concurrent.*;
public class A { public static void main(String[] a) throws Exception {
  var p = Executors.newFixedThreadPool(1);
  p.submit(() -> { new java.io.File("begun").createNewFile(); return p.submit(() -> 1).get(); }).get(); } }
S
java -Xint A.java &
P=$!
await test -e begun
await in_call $P futex
ready $P
wait $P
