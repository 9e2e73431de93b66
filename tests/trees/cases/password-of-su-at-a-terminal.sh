# truth: waiting
# verdict: WAITING UNKNOWN
# then: types nothing\n
# needs: root su setpriv
# about: a plain user's su asks at the terminal for a password (su(1))
. "${0%/*}/lib/tree.sh"
chmod 777 .
exec python3 "$LIB/tree.py" pty --below su --call 'read' -- sh -c 'setpriv --reuid=65534 --regid=65534 --clear-groups su root -c true; exit 0'
