# truth: hung
# cause: own|itself|no ?body|nothing|pipe
# needs: perl
# about: alarm(2), signal(7): SIGALRM is ignored, and an ignored signal interrupts nothing; the read of a pipe that only this process has goes on for ever.
. "${0%/*}/lib/tree.sh"
show . read perl -e '$SIG{ALRM}="IGNORE"; alarm 60; pipe(R,W); sysread(R,$x,1)'
