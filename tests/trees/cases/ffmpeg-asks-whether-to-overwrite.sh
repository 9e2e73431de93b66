# truth: hung
# cause: stdin|pipe|input
# culprit: ffmpeg
# needs: node ffmpeg
# about: an agent's tool makes a film over one that is there already, with a pipe as stdin that it keeps open: "Overwrite? [y/N]" (ffmpeg(1), -y, -n)
. "${0%/*}/lib/tree.sh"
ffmpeg -v error -f lavfi -i testsrc=size=32x32 -t 1 out.mkv </dev/null
tool "ffmpeg -v error -f lavfi -i testsrc=size=32x32 -t 1 out.mkv" pipe &
A=$!
await waits_below $A ffmpeg read poll select
ready $A
wait $A
