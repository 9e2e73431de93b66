# truth: healthy
# then: ends 142
# needs: perl
# about: an alarm that is armed before exec ends the program by its default action; nothing of it can be seen from outside (alarm(2), execve(2))
. "${0%/*}/lib/tree.sh"
mkfifo in
exec 8<>in
perl -e 'alarm int($ENV{SECS}); exec "cat"' <in &
P=$!
await in_call $P read
ready $P
wait $P
