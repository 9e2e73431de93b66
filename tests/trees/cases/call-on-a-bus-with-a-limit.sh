# truth: healthy
# then: ends 1
# needs: dbus-daemon dbus-send
# about: a call on a bus goes to a program that never replies; the caller waits for its limit (dbus-send(1), --reply-timeout)
. "${0%/*}/lib/tree.sh"
dbus-daemon --session --nofork --address="unix:path=$D/bus" >log 2>&1 & B=$!
await test -S bus
export DBUS_SESSION_BUS_ADDRESS=unix:path=$D/bus
cat >hole.py <<'S'
import os, socket, struct
s = socket.socket(socket.AF_UNIX); s.connect("bus")
s.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n"); s.recv(999); s.sendall(b"BEGIN\r\n")
def field(code, kind, text): return bytes([code, 1]) + kind.encode() + b"\0" + (struct.pack("<I", len(text)) + text.encode() + b"\0")
fields = b""
for code, kind, text in ((1, "o", "/org/freedesktop/DBus"), (6, "s", "org.freedesktop.DBus"), (2, "s", "org.freedesktop.DBus"), (3, "s", "Hello")):
    fields += b"\0" * (-len(fields) % 8) + field(code, kind, text)
message = struct.pack("<cBBBIII", b"l", 1, 0, 1, 0, 1, len(fields)) + fields
s.sendall(message + b"\0" * (-len(message) % 8)); s.recv(4096)
open("here", "w").close()
while s.recv(4096): pass
S
python3 hole.py &
await test -e here
dbus-send --print-reply --reply-timeout="${SECS%.*}000" --dest=:1.0 / org.example.Ask.Now >out 2>&1 &
P=$!
await in_call $P poll
ready $P
wait $P
E=$?
kill $B
exit $E
