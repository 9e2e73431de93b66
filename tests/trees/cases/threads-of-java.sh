# truth: healthy
# then: ends
# needs: java javac
# about: the first thread of a Java program joins another one that sleeps (java.lang.Thread)
. "${0%/*}/lib/tree.sh"
echo 'class A { public static void main(String[] a) throws Exception { Thread t = new Thread(() -> { try { new java.io.File("works").createNewFile(); Thread.sleep((long) (1000 * Double.parseDouble(System.getenv("SECS")))); } catch (Exception e) {} }); t.start(); t.join(); } }' >A.java
javac A.java
java A &
P=$!
await test -e works
ready $P
wait $P
