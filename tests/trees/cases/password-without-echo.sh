# truth: waiting
# verdict: WAITING UNKNOWN
# then: types secret\n
# about: a script asks for a password without showing it (bash(1), read -s)
. "${0%/*}/lib/tree.sh"
exec python3 "$LIB/tree.py" pty --call read -- bash -c 'read -rsp "Password: " x'
