//! The cases: a line each says what must be found, and a function what is started.

use crate::stage::{Case, Stage, path};
use rehang_probe::{Limits, Verdict};
use rustix::fs::{Mode, OFlags};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use Verdict::{Hung, Waiting, Working};

/// All of them.
pub fn all() -> Vec<Case> {
    vec![
        hung("stdin-pipe", "stdin-open", "S1", "standard input", |s| piped(s, &["read-stdin"])),
        hung("stdin-socket", "stdin-open", "S1", "standard input", |s| {
            let (ours, theirs) = UnixStream::pair().expect("a pair");
            let mut command = s.player(&["read-stdin"]);
            command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
            s.start(command);
            s.keep(ours);
        }),
        hung("stdin-in-a-thread", "stdin-open", "S1", "standard input", |s| piped(s, &["read-stdin-in-thread"])),
        hung("stdin-epoll", "stdin-open", "S1", "standard input", |s| piped(s, &["epoll-stdin"])),
        hung("stdin-poll", "stdin-open", "S1", "standard input", |s| piped(s, &["poll-stdin"])),
        hung("stdin-of-an-agent", "stdin-open", "S1", "Codex", |s| {
            let mut command = s.agent("codex", &["exec"], &["read-stdin-in-thread"]);
            command.stdin(Stdio::piped());
            s.start(command);
        }),
        hung("stdin-of-a-child-whose-output-is-read", "stdin-open", "S1", "standard input", |s| {
            plain(s, &["read-output-of", "stdin", "read-stdin"]);
        }),
        hung("stdin-of-a-tool", "stdin-open", "B1", "opencode", |s| {
            let command = s.agent("opencode", &["run"], &["loop-with-child", "read-stdin"]);
            s.start(command);
        }),
        hung("stdin-of-a-tool-below-a-shell", "stdin-open", "B1", "opencode", |s| {
            let command = s.agent("opencode", &["run"], &["loop-with-child", "wait-for", "read-stdin"]);
            s.start(command);
        }),
        hung("tty-read", "tty-read", "B2", "waits for a key at the terminal /dev/pts/", |s| tty(s, &["read-stdin"])),
        hung("tty-read-dev-tty", "tty-read", "B2", "waits for a key at the terminal /dev/tty", |s| {
            tty(s, &["read-dev-tty"])
        }),
        hung("tty-read-of-a-tool", "tty-read", "B2", "waits for a key", |s| tty(s, &["wait-for", "read-dev-tty"])),
        hung("pager", "pager", "B3", "shows a page", |s| tty(s, &["wait-for", "named", "less", "read-dev-tty"])),
        hung("editor", "editor", "B4", "is an editor", |s| tty(s, &["wait-for", "named", "vim", "poll-stdin"])),
        hung("editor-on-stderr", "editor-on-stderr", "B4", "its own standard error", |s| {
            plain(s, &["read-output-of", "both", "named", "vi", "editor-on-stderr"]);
        }),
        hung("sigttin", "sigttin", "T1", "stopped by SIGTTIN", |s| tty(s, &["background", "read-stdin"])),
        hung("sigttou", "sigttou", "T1", "stopped by SIGTTOU", |s| tty(s, &["background", "change-tty"])),
        hung("stopped", "stopped", "T1", "is stopped", |s| plain(s, &["wait-for", "stop"])),
        hung("tty-unread", "tty-unread", "T6", "does not read", |s| tty(s, &["fill-tty"])),
        hung("stray-holds-pipe", "stray-holds-pipe", "B6", "outlived the command", |s| stray(s, "quiet", "out")),
        hung("stray-holds-stderr-too", "stray-holds-pipe", "B6", "outlived the command", |s| stray(s, "quiet", "both")),
        moves("stray-writes-pipe", Hung, "stray-writes-pipe", Some("B7"), "goes on writing", |s| {
            stray(s, "noisy", "out")
        }),
        hung("stderr-undrained", "stderr-undrained", "C1", "standard error", |s| {
            plain(s, &["read-output-of", "both", "fill-stderr"])
        }),
        hung("stdout-undrained", "stdout-undrained", "C6", "standard output", |s| {
            plain(s, &["ignore-output-of", "fill-stdout"])
        }),
        hung("server-stdout-undrained", "stdout-undrained", "C2", "standard output", |s| {
            plain(s, &["ignore-output-of", "serve-and-fill-stdout"])
        }),
        hung("mutual-pipe", "mutual-pipe", "C6", "wait for each other", |s| plain(s, &["mutual-pipe"])),
        hung("mutual-wait", "mutual-wait", "C6", "wait for each other", |s| plain(s, &["mutual-wait"])),
        hung("fifo-open", "fifo-open", "B12", "nobody opens it to write", |s| {
            let fifo = fifo(s, "queue");
            plain(s, &["open-fifo", &fifo]);
        }),
        Case {
            ready: 1,
            ..hung("flock", "file-lock", "R2", "the lock on", |s| {
                locked(s, "flock", "index.lock", &["flock"], &["sleep"])
            })
        },
        Case {
            ready: 1,
            ..hung("posix-lock", "file-lock", "R2", "the lock on", |s| {
                locked(s, "posix", "index.lock", &["lock"], &["sleep"])
            })
        },
        Case {
            ..moves("sqlite-lock", Hung, "sqlite-lock", Some("R1"), "the database", |s| {
                locked(s, "posix", "opencode.db", &["busy-database"], &["sleep"])
            })
        },
        hung("unreaped", "unreaped", "C4", "has not noticed", |s| plain(s, &["ignore-child"])),
        moves("spin-on-eof", Hung, "eof-spin", Some("H2"), "spins", |s| plain(s, &["spin-on-eof"])),
        moves("spin", Hung, "cpu-spin", Some("H2"), "spins or computes", |s| plain(s, &["spin"])),
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("model-silent", "model-silent", "M1", "began to answer", |s| peer(s, "claude", "ask-by-loop"))
        },
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("peer-silent", "peer-silent", "E2", "has been silent", |s| peer(s, "curl", "ask-by-read"))
        },
        hung("no-connection", "no-connection", "M8", "nothing under way", |s| {
            let command = s.agent("opencode", &["run"], &["idle"]);
            s.start(command);
        }),
        hung("oauth-callback", "oauth-callback", "X4", "log-in", |s| {
            let command = s.agent("gemini", &[], &["listen"]);
            s.start(command);
        }),
        hung("never-ends", "never-ends", "B5", "without an end", |s| plain(s, &["wait-for", "sleep-for-ever"])),
        hung("thread-deadlock", "thread-deadlock", "", "each other", |s| plain(s, &["deadlock"])),
        // our own GET requests keep these awake
        moves("question-on-a-server", Hung, "question-open", Some("Q1"), "Which database?", |s| {
            opencode(s, QUESTION, "[]", "{}")
        }),
        moves("question-of-a-subagent", Hung, "question-open", Some("Q2"), "subagent", |s| {
            opencode(s, QUESTION, "[]", r#"{"id":"ses_1","parentID":"ses_0"}"#)
        }),
        moves("permission-on-a-server", Hung, "permission-open", Some("P1"), "bash: rm -r build", |s| {
            opencode(s, "[]", PERMISSION, "{}")
        }),
        // what is no hang
        benign("sleep", Waiting, "sleep", |s| plain(s, &["sleep"])),
        benign("live-child", Waiting, "sleep", |s| plain(s, &["wait-for", "sleep"])),
        benign("live-child-whose-output-is-read", Waiting, "sleep", |s| plain(s, &["read-output-of", "out", "sleep"])),
        benign("tool-sleeps", Waiting, "sleep", |s| {
            let command = s.agent("opencode", &["run"], &["loop-with-child", "sleep"]);
            s.start(command);
        }),
        benign("timer", Waiting, "timer", |s| plain(s, &["timer"])),
        benign("tool-server-idles", Waiting, "helper", |s| {
            plain(s, &["read-output-of", "stdin", "args", "mcp-server", "read-stdin"])
        }),
        benign("server-idles", Waiting, "serves", |s| {
            let command = s.agent("codex", &["app-server"], &["listen"]);
            s.start(command);
        }),
        benign("connecting", Waiting, "connecting", |s| {
            let listener = deaf();
            let address = listener.0.local_addr().expect("an address").to_string();
            plain(s, &["connect-to-deaf", &address]);
            s.keep(listener);
        }),
        moves("build", Working, "working", None, "works", |s| plain(s, &["wait-for", "build"])),
        moves("polling", Waiting, "polling", None, "polls", |s| plain(s, &["wait-for", "poll-a-file"])),
        moves("peer-talks", Waiting, "peer-talks", None, "talks", talking),
        Case {
            ready: 1,
            ..moves("lock-holder-works", Waiting, "lock-wait", None, "and works", |s| {
                locked(s, "flock", "index.lock", &["flock"], &["build"])
            })
        },
    ]
}

const QUESTION: &str = r#"[{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which database?","header":"db","options":[{"label":"sqlite","description":""}]}]}]"#;
const PERMISSION: &str =
    r#"[{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["rm -r build"],"always":[],"metadata":{}}]"#;

fn hung(
    name: &'static str,
    signature: &'static str,
    mechanism: &'static str,
    says: &'static str,
    set_up: fn(&mut Stage),
) -> Case {
    let mechanism = Some(mechanism).filter(|id| !id.is_empty());
    Case { name, verdict: Hung, signature, mechanism, says, still: true, ready: 1, limits: Limits::default(), set_up }
}

fn benign(name: &'static str, verdict: Verdict, signature: &'static str, set_up: fn(&mut Stage)) -> Case {
    let mechanism = (signature == "connecting").then_some("X6");
    Case { name, verdict, signature, mechanism, says: "", still: true, ready: 1, limits: Limits::default(), set_up }
}

fn moves(
    name: &'static str,
    verdict: Verdict,
    signature: &'static str,
    mechanism: Option<&'static str>,
    says: &'static str,
    set_up: fn(&mut Stage),
) -> Case {
    Case { name, verdict, signature, mechanism, says, still: false, ready: 1, limits: Limits::default(), set_up }
}

fn plain(stage: &mut Stage, words: &[&str]) {
    let command = stage.player(words);
    stage.start(command);
}

/// With a standard input that we hold and never write to.
fn piped(stage: &mut Stage, words: &[&str]) {
    let mut command = stage.player(words);
    command.stdin(Stdio::piped());
    stage.start(command);
}

fn fifo(stage: &Stage, name: &str) -> String {
    let path = path(stage, name);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .expect("a FIFO");
    path
}

/// A command whose background process keeps its streams, and whose starter reads them to the end.
fn stray(stage: &mut Stage, how: &str, streams: &str) {
    let lifeline = fifo(stage, "lifeline");
    let line = rustix::fs::open(&lifeline, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("the lifeline");
    stage.keep(line);
    plain(stage, &["read-output-of", streams, "leave", "stray", how, &lifeline]);
}

/// A terminal whose master we hold and never write to or read from.
fn tty(stage: &mut Stage, words: &[&str]) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let slave = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
    let mut all = vec!["tty", slave.as_str()];
    all.extend(words);
    plain(stage, &all);
    stage.keep(master);
}

/// One process that waits for a lock (the root) and one that holds it.
fn locked(stage: &mut Stage, kind: &str, name: &str, waiter: &[&str], holder: &[&str]) {
    let path = path(stage, name);
    std::fs::write(&path, b"").expect("a file");
    let mut words = vec!["hold-lock", kind, path.as_str()];
    words.extend(holder);
    let holder = stage.player(&words);
    let mut waiting: Vec<&str> = waiter.to_vec();
    waiting.push(&path);
    let waiter = stage.player(&waiting);
    stage.start_behind(holder, waiter);
}

/// A peer that takes a request, sends a few bytes, and falls silent.
fn peer(stage: &mut Stage, name: &str, how: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let command = stage.agent(name, &["-p"], &["connect", &address, how]);
    stage.start(command);
    let (mut stream, _) = listener.accept().expect("it connects");
    stream.read_exact(&mut [0; 7]).expect("it asks");
    stream.write_all(b"event: ping\n").expect("it listens");
    stage.keep((listener, stream));
}

/// A peer that goes on talking.
fn talking(stage: &mut Stage) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    plain(stage, &["connect", &address, "read"]);
    let (stream, _) = listener.accept().expect("it connects");
    std::thread::spawn(move || {
        let mut stream = stream;
        // ends when the other side does
        while stream.write_all(b"data: x\n").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(4));
        }
    });
}

fn opencode(stage: &mut Stage, question: &str, permission: &str, session: &str) {
    let command = stage.agent("opencode", &["serve"], &["opencode-server", question, permission, session]);
    stage.start(command);
}

/// A socket that listens and whose queue is full: whoever connects is not answered.
fn deaf() -> (TcpListener, Vec<std::net::TcpStream>) {
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &std::net::SocketAddr::from(([127, 0, 0, 1], 0))).expect("loopback");
    listen(&socket, 0).expect("it listens");
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().expect("an address");
    // a queue of 0 takes one connection
    let first = std::net::TcpStream::connect(address).expect("the only place in the queue");
    (listener, vec![first])
}
