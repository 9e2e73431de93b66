# truth: healthy
# then: ends
# unseen: the alarm of another program's process can be read nowhere; where only that process is ended, its script goes on
# needs: perl
# about: an alarm that is armed before exec ends the program by its default action, and the script goes on (alarm(2), execve(2))
. "${0%/*}/lib/tree.sh"
mkfifo in
show cat read bash -c 'exec 8<>in; perl -e "alarm int(\$ENV{SECS}); exec q(cat)" <&8; sleep "$SECS"; exit 0'
