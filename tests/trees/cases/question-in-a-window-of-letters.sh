# truth: waiting
# verdict: WAITING UNKNOWN
# then: types \r
# needs: whiptail
# about: a script asks in a dialog on the terminal (whiptail(1), --yesno)
. "${0%/*}/lib/tree.sh"
exec python3 "$LIB/tree.py" pty --call 'select poll read' -- whiptail --yesno 'Go on?' 10 30
