# truth: healthy
# then: ends
# needs: gcc
# about: a compiler reads its source from a pipe; the generator before it takes its time (gcc(1), -pipe and `-`)
. "${0%/*}/lib/tree.sh"
show cc1 read bash -c '(sleep "$SECS"; echo "int x;") | gcc -pipe -x c -c - -o x.o'
