# truth: healthy
# then: ends
# needs: ffmpeg node
# about: an agent's tool makes a film in real time; its stdin is a pipe that the agent keeps open, and ffmpeg looks there for a `q` now and then (ffmpeg(1), -re, -t, -nostdin)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
tool "ffmpeg -v error -re -f lavfi -i testsrc=size=32x32:rate=2 -t $((S+3)) -y out.mkv" pipe &
A=$!
await below $A ffmpeg
await test -e out.mkv
ready $A
wait $A
