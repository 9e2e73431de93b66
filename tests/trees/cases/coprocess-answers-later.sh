# truth: healthy
# then: ends
# about: a shell reads its coprocess's answer, which comes after a time (bash(1), Coprocesses)
. "${0%/*}/lib/tree.sh"
show . read bash -c 'coproc { read q; sleep "$SECS"; echo a; }; echo q >&${COPROC[1]}; read a <&${COPROC[0]}; exit 0'
