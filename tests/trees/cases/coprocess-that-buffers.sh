# truth: hung
# cause: each other|sed|pipe
# about: a shell waits for the answer of a coprocess whose output is buffered until its input ends (bash(1), Coprocesses; stdio(3))
. "${0%/*}/lib/tree.sh"
show sed read bash -c 'coproc sed s/a/b/; echo a >&${COPROC[1]}; read b <&${COPROC[0]}; exit 0'
