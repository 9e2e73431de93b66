# truth: healthy
# then: ends 7
# needs: javac java
# about: the main thread of a Java program waits at a latch that nobody counts down, for a time (java.util.concurrent.CountDownLatch.await)
. "${0%/*}/lib/tree.sh"
cat >A.java <<'W'
import java.util.concurrent.*;
class A {
    public static void main(String[] words) throws Exception {
        new java.io.File("started").createNewFile();
        double secs = Double.parseDouble(System.getenv("SECS"));
        if (!new CountDownLatch(1).await((long) (secs * 1000), TimeUnit.MILLISECONDS)) System.exit(7);
    }
}
W
javac A.java
java -Xshare:auto -XX:+UseSerialGC A &
P=$!
await test -e started
await in_call $P futex
ready $P
wait $P
exit $?
