# truth: healthy
# then: ends 4
# needs: java javac
# about: a Java program waits for a child whose output it does not read, and ends it after a time (java.lang.Process, waitFor with a timeout)
. "${0%/*}/lib/tree.sh"
echo 'class A { public static void main(String[] a) throws Exception { Process p = new ProcessBuilder("head", "-c", "999999", "/dev/zero").start(); if (!p.waitFor((long) Double.parseDouble(System.getenv("SECS")), java.util.concurrent.TimeUnit.SECONDS)) { p.destroy(); System.exit(4); } } }' >A.java
javac A.java
show head write java A
