# truth: healthy
# then: ends
# needs: make
# about: makes below make share the tokens of a jobserver's pipe, whose ends each of them has (GNU make, POSIX jobserver)
. "${0%/*}/lib/tree.sh"
printf 'all: a b\na b: ; +@$(MAKE) -f sub.mk\n' >Makefile
printf 'all: 1 2 3\n1 2 3: ; @sleep "$$SECS"\n' >sub.mk
show sleep nanosleep make -s -j3
