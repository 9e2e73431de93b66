# truth: healthy
# then: ends
# needs: pv
# about: a producer is blocked in a full pipe, whose reader takes so many bytes a second (pv(1), -L)
. "${0%/*}/lib/tree.sh"
bash -c 'head -c $((${SECS%.*} * 40000)) /dev/zero | tr "\0" x | pv -qL 20000 | wc -c; exit' </dev/null >out &
P=$!
if [ "${SECS%.*}" -gt 10 ]; then await waits_below $P tr write; else await below $P pv; fi
ready $P
wait $P
