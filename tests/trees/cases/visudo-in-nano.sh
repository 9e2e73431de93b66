# truth: waiting
# verdict: WAITING UNKNOWN
# then: types \x18
# needs: visudo nano root
# about: visudo waits for its editor, which waits for a person at the terminal (visudo(8); nano(1), ^X)
. "${0%/*}/lib/tree.sh"
printf 'root ALL=(ALL:ALL) ALL\n' >sudoers
export EDITOR=nano VISUAL=nano SUDO_EDITOR=nano TERM=xterm
exec python3 "$LIB/tree.py" pty --below nano --call 'select poll read' -- visudo -f "$D/sudoers"
