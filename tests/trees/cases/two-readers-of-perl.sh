# truth: hung
# cause: each other
# needs: perl
# about: a parent and its child by open2 both read first (IPC::Open2, warning)
. "${0%/*}/lib/tree.sh"
show perl read perl -MIPC::Open2 -e 'open2(my $o, my $i, "perl", "-e", "my \$l = <STDIN>; print \$l"); my $l = <$o>;'
