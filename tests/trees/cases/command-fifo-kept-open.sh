# truth: healthy
# then: ends
# about: a script keeps its FIFO open for reading and writing, so that writers may come and go, and reads it; a process of another tree opens it later and writes (fifo(7); open(2): O_RDWR on a FIFO does not block)
. "${0%/*}/lib/tree.sh"
mkfifo in
setsid python3 -c 'import os, time; os.fork() and os._exit(0); time.sleep(float(os.environ["SECS"])); open("in", "w").write("go\n")'
show head read bash -c 'exec 3<>in; head -n1 <&3 >out; exit 0'
