# truth: hung
# cause: standard input|stdin|pipe
# moves: tail looks again each second
# needs: make
# about: a recipe reads make's stdin, which a process keeps open without a word (GNU make, Parallel Input)
. "${0%/*}/lib/tree.sh"
printf 'all: ; @cat >/dev/null\n' >Makefile
mkfifo in
tail -f /dev/null >in &
show cat read sh -c 'exec make -s <in'
