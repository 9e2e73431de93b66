# truth: healthy
# then: ends
# needs: ninja
# about: ninja runs one edge after the other in a pool of depth one, and waits for each (ninja manual, pools)
. "${0%/*}/lib/tree.sh"
printf 'pool one\n depth = 1\nrule wait\n command = sleep $$SECS && touch $out\n pool = one\nbuild a: wait\nbuild b: wait\n' >build.ninja
show sleep nanosleep ninja
