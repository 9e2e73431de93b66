# truth: hung
# cause: pipe|output|full
# moves: the machine's own threads tick
# needs: java javac
# later: 65 a timer of one of the machine's threads may end the child: which thread has it cannot be told
# about: a Java program waits for a child whose output it does not read (java.lang.Process: failure to promptly read may cause the subprocess to block)
. "${0%/*}/lib/tree.sh"
echo 'class A { public static void main(String[] a) throws Exception { new ProcessBuilder("sh", "-c", "head -c 999999 /dev/zero").start().waitFor(); } }' >A.java
javac A.java
show head write java A
