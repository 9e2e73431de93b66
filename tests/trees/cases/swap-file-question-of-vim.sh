# truth: waiting
# verdict: WAITING UNKNOWN
# then: types a
# needs: vim
# about: vim found the swap file of a crashed one and asks what to do (vim, E325 ATTENTION)
. "${0%/*}/lib/tree.sh"
export HOME=$D
echo text >file
python3 "$LIB/tree.py" pty --call 'select poll' -- vim -u NONE file >first 2>&1 & V=$!
await test -e .file.swp
await grep -q ready first
kill -KILL "$(sed -n 's/ready //p' first)" $V; wait $V 2>/dev/null
rm -f keyboard
exec python3 "$LIB/tree.py" pty --call 'select poll' -- vim -u NONE file
