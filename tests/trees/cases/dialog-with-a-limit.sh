# truth: healthy
# then: ends 255
# needs: dialog
# about: a dialog on a terminal, where nobody types, gives up after a time (dialog(1), --timeout: exit code 255)
. "${0%/*}/lib/tree.sh"
exec python3 "$LIB/tree.py" pty --call 'poll select' -- dialog --timeout "${SECS%.*}" --yesno 'Go on?' 10 30
