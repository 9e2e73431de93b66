# truth: hung
# cause: pipe|output|open|outlived
# culprit: sleep|python3
# about: $(…) reads to the end of a pipe that a background job has inherited (bash(1), Command Substitution)
. "${0%/*}/lib/tree.sh"
show . read bash -c 'x=$(python3 -c "import signal; signal.pause()" & echo done); exit 0'
