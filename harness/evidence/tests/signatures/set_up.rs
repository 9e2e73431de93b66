//! What cases start: processes on a terminal, waiting for a lock, with a peer.
//!
//! Invariant: whatever a tree hangs on (a master, a listener, a lifeline) is held by the stage, and released with it.

use crate::stage::{Stage, path};
use rustix::fs::{Mode, OFlags};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

pub fn plain(stage: &mut Stage, words: &[&str]) {
    let command = stage.player(words);
    stage.start(command);
}

/// With a standard input that we hold and never write to.
pub fn piped(stage: &mut Stage, words: &[&str]) {
    let mut command = stage.player(words);
    command.stdin(Stdio::piped());
    stage.start(command);
}

pub fn fifo(stage: &Stage, name: &str) -> String {
    let path = path(stage, name);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .expect("a FIFO");
    path
}

/// A FIFO that we hold open: those that read it end when we do.
fn lifeline(stage: &mut Stage) -> String {
    let lifeline = fifo(stage, "lifeline");
    let line = rustix::fs::open(&lifeline, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("the lifeline");
    stage.keep(line);
    lifeline
}

/// A command whose background process keeps its streams, and whose starter reads them to the end.
pub fn stray(stage: &mut Stage, how: &str, streams: &str) {
    let lifeline = lifeline(stage);
    plain(stage, &["read-output-of", streams, "leave", "stray", how, &lifeline]);
}

/// On a terminal whose master we hold and never write to or read from.
pub fn tty(stage: &mut Stage, words: &[&str]) {
    on_tty(stage, None, words);
}

/// An agent on such a terminal.
pub fn agent_on_tty(stage: &mut Stage, name: &str, words: &[&str]) {
    on_tty(stage, Some(name), words);
}

fn on_tty(stage: &mut Stage, agent: Option<&str>, words: &[&str]) {
    let (master, slave) = crate::play::terminal();
    // whoever leads a group already cannot begin a session: its child does
    let mut all = if stage.before.is_empty() { Vec::new() } else { vec!["wait-for"] };
    all.extend(["tty", slave.as_str()]);
    all.extend(words);
    let command = match agent {
        Some(name) => stage.agent(name, &[], &all),
        None => stage.player(&all),
    };
    stage.start(command);
    stage.keep(master);
}

/// One process that waits for a lock (the root) and one that holds it.
pub fn locked(stage: &mut Stage, kind: &str, name: &str, waiter: &[&str], holder: &[&str]) {
    let path = path(stage, name);
    std::fs::write(&path, b"").expect("a file");
    let mut words = vec!["hold-lock", kind, path.as_str()];
    words.extend(holder);
    let holder = stage.bare(&words);
    let mut waiting: Vec<&str> = waiter.to_vec();
    waiting.push(&path);
    let waiter = stage.player(&waiting);
    stage.start_behind(holder, waiter);
}

/// A tool server that outlived whoever started it, with the lock on its index, and the same one started anew, whose
/// starter is asked about.
pub fn leaked(stage: &mut Stage) {
    let (lifeline, path) = (lifeline(stage), path(stage, "index.lock"));
    std::fs::write(&path, b"").expect("a file");
    let server = ["stray", "take-lock", path.as_str(), lifeline.as_str()];
    let mut run = stage.bare(&[&["leave"], &server[..]].concat());
    let over = run.status().expect("a run");
    assert!(over.success(), "the run ended well");
    stage.await_ready(1).expect("its server has the lock");
    plain(stage, &[&["wait-for"], &server[..]].concat());
}

/// A peer that takes a request, sends a few bytes, and falls silent.
pub fn peer(stage: &mut Stage, name: &str, how: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let command = stage.agent(name, &["-p"], &["connect", &address, how]);
    stage.start(command);
    let (mut stream, _) = listener.accept().expect("it connects");
    stream.read_exact(&mut [0; 7]).expect("it asks");
    stream.write_all(b"event: ping\n").expect("it listens");
    stage.keep((listener, stream));
}

/// How a host starts Claude Code.
pub const HOSTED: [&str; 5] = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];

/// An agent that has called a tool of a server over HTTP, which began to answer.
pub fn tool_server(stage: &mut Stage, how: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let command = stage.agent("claude", &["-p"], &["recorded", "tool-server", "connect", &address, how]);
    stage.start(command);
    let (mut stream, _) = listener.accept().expect("it connects");
    stream.read_exact(&mut [0; 7]).expect("it asks");
    stream.write_all(b"event: ping\n").expect("it listens");
    stage.keep((listener, stream));
}

/// A peer that takes a request and says nothing.
pub fn thinking(stage: &mut Stage) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let command = stage.agent("claude", &["-p"], &["connect", &address, "ask-and-loop"]);
    stage.start(command);
    let (stream, _) = listener.accept().expect("it connects");
    stage.keep((listener, stream));
}

/// A peer that goes on sending this.
pub fn talking(stage: &mut Stage, agent: Option<&str>, piece: &'static [u8]) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let command: Command = match agent {
        Some(name) => stage.agent(name, &["-p"], &["connect", &address, "read"]),
        None => stage.player(&["connect", &address, "read"]),
    };
    stage.start(command);
    let (stream, _) = listener.accept().expect("it connects");
    stream.set_nodelay(true).expect("a piece a time");
    std::thread::spawn(move || {
        let mut stream = stream;
        // ends when the other side does
        while stream.write_all(piece).is_ok() {
            std::thread::sleep(Duration::from_millis(4));
        }
    });
}

/// A peer that goes on sending this to the first who connects; its address.
pub fn speaker(piece: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("it connects");
        // ends when the other side does
        while stream.write_all(piece).is_ok() {
            std::thread::sleep(Duration::from_millis(4));
        }
    });
    address
}

/// A server that has asked a peer something, got a part of an answer, and keeps the connection.
pub fn keeping(stage: &mut Stage, more: &[&str]) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let mut words = vec!["listen-and-keep", address.as_str()];
    words.extend(more);
    let command = stage.player(&words);
    stage.start(command);
    let (mut stream, _) = listener.accept().expect("it connects");
    stream.read_exact(&mut [0; 7]).expect("it asks");
    stream.write_all(b"event: ping\n").expect("it listens");
    stage.keep((listener, stream));
}

/// A peer that says now and then that it is alive, less often than once a look, while an earlier connection to it is
/// kept.
pub fn trickling(stage: &mut Stage, name: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let command = stage.agent(name, &["-p"], &["connect-twice", &address]);
    stage.start(command);
    let (mut kept, _) = listener.accept().expect("it connects");
    kept.write_all(b"!").expect("it listens");
    stage.keep(kept);
    let (mut stream, _) = listener.accept().expect("it connects again");
    stream.set_nodelay(true).expect("a piece a time");
    std::thread::spawn(move || {
        // ends when the other side does
        while stream.write_all(b":").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}

/// opencode's server with these open asks, and this session.
pub fn asking(stage: &mut Stage, question: &str, permission: &str, session: &str) {
    let busy = r#"{"ses_1":{"type":"busy"}}"#;
    let command = stage.agent("opencode", &["serve"], &["opencode-server", busy, question, permission, session, "[]"]);
    stage.start(command);
}

/// opencode's server with nothing open, its sessions' states, and the last message of one.
pub fn busy(stage: &mut Stage, status: &str, message: &str) {
    let command = stage.agent("opencode", &["serve"], &["opencode-server", status, "[]", "[]", "{}", message]);
    stage.start(command);
}

/// A client of opencode's server that waits for its events; the client is asked about, and the server is no child of it.
pub fn client(stage: &mut Stage, status: &str, question: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let mut server = stage.bare_agent("opencode", &["serve"], &["opencode-server", status, question, "[]", "{}", "[]"]);
    server.stdin(std::os::fd::OwnedFd::from(listener));
    let client = stage.player(&["connect", &address, "listen"]);
    stage.start_behind(server, client);
}

/// An agent that asks, left behind by a command whose output is read to its end.
pub fn stray_agent(stage: &mut Stage, line: &str) {
    let lifeline = lifeline(stage);
    plain(stage, &["read-output-of", "out", "leave-agent", "opencode", "stray", "logged", line, &lifeline]);
}

/// What was left behind at a terminal whose other side is read to its end.
pub fn stray_at_terminal(stage: &mut Stage) {
    let lifeline = lifeline(stage);
    plain(stage, &["read-terminal-of", "leave", "stray", "away", &lifeline]);
}

/// An agent that runs without a person, with nothing on its standard input.
pub fn agent(stage: &mut Stage, name: &str, first: &[&str], words: &[&str]) {
    let command = stage.agent(name, first, words);
    stage.start(command);
}

/// The same, with a standard input that we hold and never write to.
pub fn agent_piped(stage: &mut Stage, name: &str, first: &[&str], words: &[&str]) {
    let mut command = stage.agent(name, first, words);
    command.stdin(Stdio::piped());
    stage.start(command);
}

/// A socket that listens and whose queue is full: a client that connects gets no answer.
pub fn deaf() -> (TcpListener, Vec<TcpStream>) {
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &std::net::SocketAddr::from(([127, 0, 0, 1], 0))).expect("loopback");
    listen(&socket, 0).expect("it listens");
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().expect("an address");
    // a queue of 0 takes one connection
    let first = TcpStream::connect(address).expect("the only place in the queue");
    (listener, vec![first])
}

/// An agent that spins, whose starter has gone.
pub fn orphan(stage: &mut Stage, name: &str) {
    let lifeline = lifeline(stage);
    let mut starter = stage.bare(&["leave-agent", name, "stray", "spin", &lifeline]);
    let over = starter.status().expect("a starter");
    assert!(over.success(), "the starter ended well");
    stage.await_ready(1).expect("it spins");
    let pid = std::fs::read_to_string(path(stage, "stray")).expect("it named itself");
    stage.root = Some(pid.parse().expect("a number"));
}
