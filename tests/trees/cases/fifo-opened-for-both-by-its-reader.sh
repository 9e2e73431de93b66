# truth: healthy
# then: ends
# about: a script reads a FIFO that it opens for reading and writing, so that it does not wait for a writer in open; a process of another tree writes later (bash, redirection <>; fifo(7))
. "${0%/*}/lib/tree.sh"
mkfifo in
setsid python3 -c 'import os, time; os.fork() and os._exit(0); time.sleep(float(os.environ["SECS"])); open("in", "w").write("go\n")'
show . read bash -c 'while read -r line <>in; do [ "$line" = go ] && exit 0; done'
