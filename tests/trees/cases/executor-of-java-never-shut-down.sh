# truth: hung
# verdict: HUNG WAITING
# cause: thread|futex|java|itself
# certain: no
# moves: the threads of the Java machine look at times
# needs: javac java
# about: main has returned, and the idle thread of an executor that is never shut down keeps the program (java.util.concurrent.ExecutorService: an unused one should be shut down; Runtime: the machine ends when only daemon threads are left)
. "${0%/*}/lib/tree.sh"
cat >A.java <<'W'
import java.util.concurrent.*;
class A {
    public static void main(String[] words) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        pool.submit(() -> 1).get();
        new java.io.File("done").createNewFile();
    }
}
W
javac A.java
java -XX:+UseSerialGC A &
P=$!
await test -e done
await in_call $P futex
ready $P
wait $P
