//! States that are no hang: a word, who is to act next, what `rehang why` calls it, and what it means.

use super::{Facts, Owed};
use crate::Mechanism::{H7, M5, X1, X6};

macro_rules! states {
    ($($name:ident: $word:literal, $owed:ident, $called:literal, $means:literal $(, $mechanisms:expr)?;)+) => {
        $(pub(super) const $name: Facts = Facts::state($word, Owed::$owed, $called, $means)$(.naming(&$mechanisms))?;)+
    };
}

states! {
    BETWEEN_TURNS: "between-turns", Peer, "waiting",
        "an agent has finished its turn, or has none under way, and waits for the next message of its host", [H7];
    COMPUTING: "computing", Itself, "working",
        "only processor time: nothing is read, written or newly touched; an endless loop looks the same";
    CONNECTING: "connecting", Peer, "waiting",
        "a peer has not accepted the connection; the kernel gives up after about 2 minutes", [X6];
    DAEMON: "daemon", Peer, "waiting",
        "it has asked another process of this machine over a socket, and that works or waits for something that will come";
    DATAGRAM: "datagram", Peer, "waiting",
        "it waits for a datagram, such as a name server's answer; the kernel does not show for how long";
    DEBUGGER: "debugger", Person, "waiting",
        "it was started to wait for a debugger (`--inspect-brk`), and none has come";
    DISK: "disk", Itself, "waiting", "it waits for a disk or a network file system in both snapshots";
    FILE_SERVER: "file-server", Peer, "waiting",
        "a file operation on a network file system or FUSE made no progress between the two snapshots; the server may be slow, so this alone is never HUNG";
    HELPER: "helper", Peer, "waiting", "a tool server waits for its agent's next request";
    LIVE_CHILD: "live-child", Peer, "unknown", "it waits for a live child of which nothing more is known";
    LOCK_WAIT: "lock-wait", Peer, "waiting", "it waits for a lock, and the holder works or will go on by itself";
    PEER_TALKS: "peer-talks", Peer, "waiting", "the peer of a connection sends";
    PEER_WAIT: "peer-wait", Peer, "waiting", "the peer has been silent for less than a minute (`--silent`)";
    PIPE_READ: "pipe-read", Peer, "waiting", "it waits for another process to write to a pipe";
    PIPELINE: "pipeline", Peer, "waiting", "the process before it in a pipeline makes progress";
    POLLING: "polling", Itself, "waiting", "it checks for something again and again";
    READS: "reads", Peer, "waiting", "it reads its standard input as data arrives";
    RETRY: "retry", Itself, "waiting", "the agent reports that it waits before it asks its model again", [M5];
    SERVES: "serves", Peer, "waiting", "a server waits for requests";
    SHARED_PIPE: "shared-pipe", Peer, "waiting",
        "it waits for a token in a pipe that it shares with others, as the jobserver of GNU make and cargo does";
    SHELL_PROMPT: "shell-prompt", Person, "waiting", "an interactive shell waits for a command";
    SIGNAL_WAIT: "signal-wait", Peer, "unknown", "it waits for a signal, and the sender cannot be seen";
    SLEEP: "sleep", Itself, "waiting", "it sleeps for a time";
    SLOW_READER: "slow-reader", Peer, "waiting", "it writes as fast as the other process reads";
    STDIN_LIMIT: "stdin-limit", Peer, "waiting", "it reads its standard input with a time limit";
    THIS_LOOK: "this-look", Itself, "waiting", "it waits for this look itself to end";
    TIMER: "timer", Itself, "waiting", "it waits for a timer of its own";
    TOOL_SERVER_MUTE: "tool-server-mute", Peer, "waiting",
        "a tool server does not read its agent's request: it is busy, or will never start", [X1];
    TTY_FOREIGN: "tty-foreign", Person, "waiting", "an agent reads a terminal that is not its own";
    UNKNOWN: "unknown", Nobody, "unknown", "what it waits for cannot be seen";
    WATCHES: "watches", Peer, "waiting", "it watches files, and waits for one to change";
    WORKING: "working", Itself, "working", "it computes, moves data, or processes below it come and go";
}
