# truth: healthy
# then: ends
# needs: gpg
# about: gpg imports a key and waits for the lock of its keyring, whose file names a living process outside of its tree; that one removes it after a time (gpg: "waiting for lock"; libgpg-error, dotlock)
. "${0%/*}/lib/tree.sh"
export GNUPGHOME=$D/home
mkdir -m 700 home
setsid -f bash -c 'printf "%10d\n%s\n" $$ "$(uname -n)" >home/pubring.kbx.lock; sleep "$SECS"; rm home/pubring.kbx.lock' </dev/null >/dev/null 2>&1
await test -s home/pubring.kbx.lock
gpg --batch --no-autostart --import /usr/share/keyrings/debian-archive-keyring.gpg >out 2>err &
P=$!
await grep -q 'waiting for lock' err
ready $P
wait $P; E=$?
gpgconf --kill all
exit $(( E == 2 ? 0 : E ))
