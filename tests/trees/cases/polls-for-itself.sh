# truth: hung
# verdict: HUNG WAITING WORKING
# cause: again|poll|loop|every|pgrep
# moves: it polls
# certain: no
# needs: pgrep
# about: a shell waits until no process's command line has a word, and its own has it (pgrep(1), -f)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep bash -c "while pgrep -f tree-word-$$ >/dev/null; do sleep 3; done; true"
