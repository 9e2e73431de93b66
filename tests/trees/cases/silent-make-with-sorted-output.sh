# truth: healthy
# then: ends
# needs: make
# about: make keeps all output of its two recipes until each has ended; one sleeps, the other computes (make(1), -O, -j)
. "${0%/*}/lib/tree.sh"
printf 'all: a b\na:\n\t@sleep $(SECS)\nb:\n\t@python3 -S -c "import time, os; t = time.time() + float(os.environ[\\"SECS\\"]); exec(\\"while time.time() < t: time.sleep(.01)\\")"\n' >Makefile
show sleep nanosleep make -O -j2
