# What shell cases share. A case sources this file first: it gets a folder of its own and waits for conditions.
#
# TREE_DIR (D) is the case's folder, SECS how many seconds its event takes. `await COMMAND…` repeats a command until it
# succeeds, for at most 60 seconds; `ready PID…` says that the state of the header is reached.
LIB=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
: "${TREE_DIR:=$(mktemp -d)}" "${SECS:=900}"
D=$TREE_DIR
export LIB TREE_DIR SECS D PYTHONHOME="${PYTHONHOME-}" PYTHONDONTWRITEBYTECODE=1
[ -n "$PYTHONHOME" ] || unset PYTHONHOME
cd "$D" || exit 98

await() {
    local n
    for n in $(seq 1200); do
        "$@" 2>/dev/null && return 0
        sleep .05
    done
    echo "never: $*" >&2
    exit 99
}
# state PID LETTERS: the process is in one of these states.
state() {
    local s
    s=$(<"/proc/$1/stat") || return 1
    s=${s##*) }
    [[ $2 == *"${s%% *}"* ]]
}
# in_call PID NAME…: the process's first thread is in one of these system calls.
in_call() {
    python3 -S "$LIB/tree.py" in_call "$@"
}
# below PID NAME: a process below PID has this name (comm); its number is in CHILD.
below() {
    CHILD=$(python3 -S "$LIB/tree.py" below "$@")
}
# waits_below PID NAME CALL…: the process of this name below PID is in one of these system calls.
waits_below() {
    below "$1" "$2" && in_call "$CHILD" "${@:3}"
}
# gone PID: the process has ended, or is a zombie.
gone() {
    ! [ -e "/proc/$1" ] || state "$1" Z
}
ready() {
    echo "ready $*"
}
# named NAME PROGRAM ARGS…: replaces the shell by a program under another name.
named() {
    local name=$1
    shift
    [ "$1" = python3 ] && PYTHONHOME=$(python3 -S -c 'import sys; print(sys.prefix)') && export PYTHONHOME
    exec -a "$name" "$@"
}
# agent NAME ARGS…: replaces the shell by a stand-in for an agent, which does what the JSON in DO says.
agent() {
    local name=$1
    shift
    exec -a "$name" node "$LIB/agent.js" "$@"
}
# tool TEXT [STDIN]: replaces the shell by an agent whose one tool runs a shell text, with its output read to the end; STDIN
# is `ignore`, or `pipe` for one that the agent keeps without a word.
tool() {
    DO=$(python3 -S -c 'import json, sys; print(json.dumps({"tools": [{"cmd": ["bash", "-c", sys.argv[1]], "stdio": [sys.argv[2], "pipe", "pipe"]}], "end": True}))' "$1" "${2:-ignore}")
    export DO
    agent claude -p go </dev/null
}
# foreign CODE: runs Python code in a process outside of the tree.
foreign() {
    python3 -S -c 'import sys; sys.path.insert(0, sys.argv[1]); from lib import more; more.foreign(sys.argv[2])' "$LIB/.." "$1"
}
# free_port: says a port of loopback that nobody listens at.
free_port() {
    python3 -S -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
# server MODE: starts a server on a free port of loopback; its port is in PORT, its process in SERVER.
server() {
    python3 "$LIB/server.py" "$1" "$D/port" &
    SERVER=$!
    await test -s "$D/port"
    PORT=$(<"$D/port")
}
# show NAME CALL COMMAND…: runs a command; it is ready when the process NAME below it (or `.`, itself) is in system call CALL.
show() {
    local name=$1 call=$2
    shift 2
    "$@" &
    P=$!
    # shellcheck disable=SC2086: several calls may be named
    if [ "$name" = . ]; then await in_call $P $call; else await waits_below $P "$name" $call; fi
    ready $P
    wait $P
    exit $?
}
