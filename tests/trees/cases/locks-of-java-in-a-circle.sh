# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: java|thread|futex
# certain: no
# moves: the machine's own threads
# needs: java javac
# about: two threads of Java each have the monitor that the other waits for (Java, intrinsic locks)
. "${0%/*}/lib/tree.sh"
cat >A.java <<'S'
class A {
    static final Object a = new Object(), b = new Object();
    static final java.util.concurrent.CountDownLatch both = new java.util.concurrent.CountDownLatch(2);
    static void take(Object first, Object second) {
        synchronized (first) { both.countDown(); try { both.await(); new java.io.File("both").createNewFile(); } catch (Exception e) { } synchronized (second) { } }
    }
    public static void main(String[] s) { new Thread(() -> take(a, b)).start(); take(b, a); }
}
S
javac A.java
java A &
P=$!
await test -e both
ready $P
wait $P
