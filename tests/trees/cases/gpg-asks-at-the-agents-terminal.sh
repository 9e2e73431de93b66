# truth: hung
# verdict: HUNG WAITING
# cause: pinentry
# certain: no
# moves: gpg-agent looks at its socket now and then
# needs: gpg gpg-agent pinentry-curses git node
# about: git commit -S below an agent: gpg asks gpg-agent, a daemon, whose pinentry reads the agent's terminal (gpg-agent(1), GPG_TTY)
. "${0%/*}/lib/tree.sh"
export GNUPGHOME=$D/keys
mkdir -m 700 "$GNUPGHOME"
echo 'pinentry-program /usr/bin/pinentry-curses' >"$GNUPGHOME/gpg-agent.conf"
gpg --batch --pinentry-mode loopback --passphrase secret --quick-gen-key 'Test <test@example.com>' ed25519 sign >gen 2>&1
gpgconf --kill gpg-agent
git init -q repo
cat >start.sh <<'S'
export GPG_TTY=$(tty) DO='{"raw":true,"tools":[["git","-C","repo","-c","user.name=Test","-c","user.email=test@example.com","commit","-qS","--allow-empty","-m","x"]]}'
exec -a claude node "$LIB/agent.js"
S
python3 "$LIB/tree.py" pty -- bash start.sh >pty.out &
agent_pid() { A=$(sed -n 's/^ready //p' pty.out) && [ -n "$A" ]; }
asks() { for p in /proc/[0-9]*; do tr '\0' '\n' <"$p/environ" | grep -qx "GNUPGHOME=$GNUPGHOME" && grep -q pinentry "$p/comm" && return 0; done; return 1; }
await agent_pid
await asks
ready "$A"
wait
