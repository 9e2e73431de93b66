# truth: healthy
# then: ends
# needs: zsh
# about: zsh waits for its commands with all signals let through, and one of them takes its time (zsh(1); sigsuspend(2))
. "${0%/*}/lib/tree.sh"
show sleep nanosleep zsh -fc 'x=$(sleep "$SECS"; echo y) | cat; [[ -n $x ]] || true'
