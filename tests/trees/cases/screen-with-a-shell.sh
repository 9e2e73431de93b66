# truth: waiting
# verdict: WAITING UNKNOWN
# then: run SCREENDIR=$D/sockets screen -S s -X quit
# needs: screen
# about: a detached screen has a shell at its prompt: somebody may attach (screen(1))
. "${0%/*}/lib/tree.sh"
mkdir -m 700 sockets
export SCREENDIR=$D/sockets
show bash 'select read' screen -D -m -S s -c /dev/null bash --norc -i
