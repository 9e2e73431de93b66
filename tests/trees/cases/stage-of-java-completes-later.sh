# truth: healthy
# then: ends
# needs: java
# about: a Java program joins a stage that a delayed executor completes after a time (java.util.concurrent.CompletableFuture.delayedExecutor, orTimeout)
. "${0%/*}/lib/tree.sh"
cat >A.java <<'S'
import java.util.concurrent.*;
public class A { public static void main(String[] a) throws Exception {
  var f = CompletableFuture.supplyAsync(() -> 1, CompletableFuture.delayedExecutor(Long.parseLong(System.getenv("SECS").replaceAll("\\..*", "")), TimeUnit.SECONDS));
  new java.io.File("begun").createNewFile(); f.join(); } }
S
java -Xint A.java &
P=$!
await test -e begun
await in_call $P futex
ready $P
wait $P
