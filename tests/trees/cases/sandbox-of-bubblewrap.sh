# truth: healthy
# then: ends
# needs: bwrap
# if: bwrap --dev-bind / / true
# about: bubblewrap's two processes wait for a command in its namespaces (bwrap(1), --unshare-pid and --as-pid-1)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep bwrap --dev-bind / / --unshare-pid --proc /proc --die-with-parent sh -c 'sleep "$SECS"; exit 0'
