# Starts an sshd of the case's own on a free port of loopback; `ssh -F config host` reaches it.
start_sshd() {
    ssh-keygen -q -t ed25519 -N '' -f hostkey
    ssh-keygen -q -t ed25519 -N '' -f userkey
    cp userkey.pub authorized
    mkdir -p /run/sshd
    PORT=$(free_port)
    cat >sshd_config <<S
ListenAddress 127.0.0.1
Port $PORT
HostKey $D/hostkey
AuthorizedKeysFile $D/authorized
PidFile $D/sshd.pid
StrictModes no
UsePAM no
PermitRootLogin yes
S
    printf 'Host host\n HostName 127.0.0.1\n Port %s\n IdentityFile %s\n StrictHostKeyChecking no\n UserKnownHostsFile %s\n LogLevel ERROR\n' "$PORT" "$D/userkey" "$D/known" >config
    "$(command -v sshd || echo /usr/sbin/sshd)" -f "$D/sshd_config" -D -E sshd.log &
    await grep -q listening sshd.log
}
