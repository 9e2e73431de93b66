# truth: healthy
# then: ends
# needs: git
# if: git daemon --help
# about: git fetches from a daemon outside of its tree, which packs for a time without a word (git-daemon(1); git-config(1), uploadpack.packObjectsHook)
. "${0%/*}/lib/tree.sh"
export HOME=$D GIT_CONFIG_NOSYSTEM=1
git init -q far; git -C far -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m a
printf '#!/bin/sh\ntouch "%s/packs"; sleep "%s"; exec "$@"\n' "$D" "$SECS" >hook; chmod +x hook
git config --global uploadpack.packObjectsHook "$D/hook"; git config --global safe.directory '*'
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
git daemon --base-path="$D" --export-all --listen=127.0.0.1 --port="$PORT" --reuseaddr --pid-file="$D/pid" 2>log &
G=$!
await test -s pid
git clone -q "git://127.0.0.1:$PORT/far" near &
P=$!
await test -e packs
ready $P
wait $P
E=$?
kill $G "$(<pid)" 2>/dev/null
exit $E
