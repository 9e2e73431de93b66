//! The diagnosis of small trees that are written by hand: `tests/signatures` has the same signatures on real processes.
//!
//! Invariant: nothing here reads /proc.

use super::graph::{Graph, Life, graph};
use super::*;
use crate::data::*;
use expect_test::{Expect, expect};
use rehang_hangs::Mechanism;
use std::fmt::Write as _;

mod at_agents;
mod at_evidence;
mod at_files;
mod at_graph;
mod at_idle;
mod at_named;
mod at_network;
mod at_others;
mod at_parts;
mod at_pipes;
mod at_runs;
mod at_view;
mod at_waits;
mod at_ways;

/// Two looks, a second apart, at the same tree, unless a test changes the second one.
struct Look {
    before: Snapshot,
    after: Snapshot,
}

impl Look {
    /// The first process is the one that is asked about.
    fn of(processes: Vec<Process>) -> Look {
        let roots = vec![processes[0].pid];
        let tree = processes.into_iter().map(|process| (process.pid, process)).collect();
        let reader = Reader { pid: 900, ticks_per_s: 100, arch: "x86_64".into(), ..Reader::default() };
        let after = Snapshot { at_ns: 61_000_000_000, roots, tree, reader, ..Snapshot::default() };
        Look { before: Snapshot { at_ns: 60_000_000_000, ..after.clone() }, after }
    }

    fn both(mut self, change: impl Fn(&mut Snapshot)) -> Look {
        change(&mut self.before);
        change(&mut self.after);
        self
    }

    fn later(mut self, change: impl Fn(&mut Snapshot)) -> Look {
        change(&mut self.after);
        self
    }

    /// Somebody outside of the tree.
    fn beside(self, process: Process) -> Look {
        self.both(|snapshot| snapshot.around.extend([(process.pid, process.clone())]))
    }

    fn socket(self, socket: Socket) -> Look {
        self.both(|snapshot| snapshot.sockets.extend([(socket.inode, socket.clone())]))
    }

    fn graph(&self) -> Graph {
        graph(&self.before, &self.after, &Limits::default())
    }

    fn diagnosis(&self) -> Diagnosis {
        diagnose(&self.before, &self.after, &Limits::default())
    }

    fn view(&self) -> view::View<'_> {
        view::View::new(&self.before, &self.after, Limits::default())
    }

    /// The answer in one line.
    fn answer(&self) -> String {
        let found = self.diagnosis();
        let mechanism = found.mechanism.map_or("-", Mechanism::id);
        let (verdict, sure) = (found.verdict, found.sure);
        let mut how = format!("{sure:?}");
        if let Some(left) = found.hung_in_ms {
            how += &format!(", hung in {}", rehang_words::text::duration(left));
        }
        if found.closed_in {
            how += ", closed in";
        }
        if !found.parts.is_empty() {
            how += &format!(", parts {:?}", found.parts);
        }
        let head = format!("{verdict:?} {} {mechanism} ({how}): {}", found.signature, found.sentence);
        [head, found.ends, found.because].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" | ")
    }

    /// The graph in one line: who waits for whom, who does not wait, who is closed in.
    fn shape(&self) -> String {
        let graph = self.graph();
        let mut parts: Vec<String> = graph.edges.iter().map(|edge| graph.line(edge)).collect();
        for node in graph.nodes.iter().filter(|node| node.life != Life::Waits) {
            parts.push(format!("{} is {:?}: {}", node.name, node.life, node.why));
        }
        parts.extend((!graph.closed.is_empty()).then(|| format!("closed in: {:?}", graph.closed)));
        parts.join("; ")
    }

    /// Compares the answer, the graph and the evidence.
    fn says(&self, want: Expect) {
        let (found, graph) = (self.diagnosis(), self.graph());
        let mut out = String::new();
        let mechanism = found.mechanism.map_or("-", Mechanism::id);
        let (verdict, sure) = (found.verdict, found.sure);
        let _ = writeln!(out, "{verdict:?} {} {mechanism} ({sure:?}): {}", found.signature, found.sentence);
        for (what, text) in [("ends", &found.ends), ("because", &found.because)] {
            if !text.is_empty() {
                let _ = writeln!(out, "{what}: {text}");
            }
        }
        for edge in &graph.edges {
            let _ = writeln!(out, "  {}", graph.line(edge));
        }
        for node in graph.nodes.iter().filter(|node| node.life != Life::Waits) {
            let _ = writeln!(out, "  {} is {:?}: {}", node.name, node.life, node.why);
        }
        if !graph.closed.is_empty() {
            let _ = writeln!(out, "  closed in: {:?}", graph.closed);
        }
        lines(&found.evidence, 1, &mut out);
        want.assert_eq(&out);
    }
}

fn lines(all: &[Evidence], depth: usize, out: &mut String) {
    for one in all {
        let _ = writeln!(out, "{}- {}", "  ".repeat(depth), one.text);
        lines(&one.below, depth + 1, out);
    }
}

fn process(pid: Pid, ppid: Pid, name: &str) -> Process {
    Process {
        pid,
        ppid,
        ns_pid: pid,
        pgrp: 1,
        session: 1,
        comm: name.to_owned(),
        args: vec![name.to_owned()],
        began_ns: 1_000_000_000,
        fds_read: true,
        group_led: true,
        session_led: true,
        ..Process::default()
    }
}

/// With one more thread, which is in a call.
fn calls(mut process: Process, name: &str, does: Does, limit: TimeLimit) -> Process {
    let tid = process.pid + Pid::try_from(process.threads.len()).unwrap();
    // FUTEX_WAIT_PRIVATE
    let args = [0, 128, 0, 0, 0, 0];
    let call = Call { number: 1, name: name.to_owned(), args, does, limit };
    let comm = process.comm.clone();
    process.threads.push(Thread { tid, comm, call: Some(call), call_read: true, switches: 5, ..Thread::default() });
    process
}

fn reads(process: Process, fd: i32) -> Process {
    calls(process, "read", Does::Read { fd }, TimeLimit::Never)
}

fn awaits(process: Process) -> Process {
    calls(process, "wait4", Does::Child { pid: -1 }, TimeLimit::Never)
}

fn has(mut process: Process, fd: i32, mode: Mode, what: Object) -> Process {
    process.fds.push(Descriptor { fd, mode, what });
    process
}

fn pipe(process: Process, fd: i32, mode: Mode, inode: u64) -> Process {
    has(process, fd, mode, Object::Pipe { inode })
}

fn tty(process: Process, fd: i32, group: Pid) -> Process {
    let what = Object::Tty { path: "/dev/pts/3".to_owned(), index: Some(3) };
    Process { tty: (136 << 8) | 3, tty_group: group, ..has(process, fd, Mode::Both, what) }
}

/// An event loop that watches these for input; which of them it waits for only its owner knows.
fn watches(process: Process, fds: &[i32], limit: TimeLimit) -> Process {
    let on = fds.iter().map(|&fd| Watch { fd, input: true, output: false }).collect();
    calls(process, "poll", Does::Poll { on }, limit)
}

/// One line for each row: its name, and what was found.
fn rows(all: impl IntoIterator<Item = (&'static str, String)>) -> String {
    all.into_iter().fold(String::new(), |mut out, (name, found)| {
        let _ = writeln!(out, "{name}: {found}");
        out
    })
}

fn all_answers(all: Vec<(&'static str, Look)>) -> String {
    rows(all.into_iter().map(|(name, look)| (name, look.answer())))
}

fn all_shapes(all: Vec<(&'static str, Look)>) -> String {
    rows(all.into_iter().map(|(name, look)| (name, look.shape())))
}

fn writes(process: Process, fd: i32) -> Process {
    calls(process, "write", Does::Write { fd }, TimeLimit::Never)
}

fn sleeps(process: Process, ms: u64) -> Process {
    calls(process, "nanosleep", Does::Sleep, TimeLimit::LeftMs(ms))
}

fn zombie(pid: Pid, ppid: Pid) -> Process {
    Process { state: State::Zombie, args: vec![], ..process(pid, ppid, "true") }
}

fn started(mut process: Process, args: &[&str]) -> Process {
    process.args = args.iter().map(|&arg| arg.to_owned()).collect();
    process
}

fn file(process: Process, fd: i32, path: &str, inode: u64) -> Process {
    has(process, fd, Mode::Both, Object::File { path: path.into(), inode, device: (8, 1), offset: 0, at_end: false })
}

fn socket(process: Process, fd: i32, inode: u64) -> Process {
    has(process, fd, Mode::Both, Object::Socket { inode })
}

/// One end of a pair of Unix sockets.
fn unix(inode: u64, peer: u64) -> Socket {
    let peer = Some(peer).filter(|peer| *peer > 0);
    Socket { inode, family: Family::Unix, state: SocketState::Established, peer, ..Socket::default() }
}

fn listening(inode: u64, local: &str) -> Socket {
    let state = SocketState::Listening;
    Socket { inode, family: Family::Tcp, state, local: local.into(), ..Socket::default() }
}

fn moves(look: Look, pid: Pid, io: Io) -> Look {
    let set = |snapshot: &mut Snapshot, io: Io| {
        let at = if snapshot.tree.contains_key(&pid) { &mut snapshot.tree } else { &mut snapshot.around };
        at.get_mut(&pid).unwrap().io = Some(io);
    };
    look.both(|s| set(s, Io::default())).later(|s| set(s, io))
}

/// Uses a share of a core, in percent, between the looks.
fn spends(look: Look, pid: Pid, percent: u64) -> Look {
    look.later(|s| {
        let at = if s.tree.contains_key(&pid) { &mut s.tree } else { &mut s.around };
        at.get_mut(&pid).unwrap().threads[0].cpu_ns += percent * 10_000_000;
    })
}

#[test]
fn a_read_of_a_pipe_that_its_caller_holds() {
    let cat = || reads(pipe(process(12, 11, "cat"), 0, Mode::Read, 70), 0);
    let caller = pipe(awaits(process(10, 1, "python3")), 4, Mode::Write, 70);
    Look::of(vec![awaits(process(11, 10, "sh")), cat()]).beside(caller).says(expect![[r#"
        Waiting stdin-open S1 (Likely): cat (12) waits for its standard input to end or to say something, and python3 (10) keeps it open without a word
        ends: python3 (10) closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 12
        because: read(0) has no time limit; python3 (10) might still write; no agent runs it, and who holds the other end does not wait for it
          sh (11) → cat (12): child
          cat (12) → python3 (10): pipe its standard input
          python3 (10) → sh (11): child
          python3 (10) → somebody who uses it: signal
          - sh (11) sleeps, 0 % of a core, 1m old: sh
            - wait4 waits for any child
            - cat (12) sleeps, 0 % of a core, 1m old: cat
              - read waits for input on standard input, pipe 70, other end: python3 (10)
    "#]]);
    // nobody in sight holds it
    Look::of(vec![awaits(process(11, 10, "sh")), cat()]).says(expect![[r#"
        Waiting stdin-open S1 (Likely): cat (12) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word
        ends: its holder closes its end or writes to it; next time, starts it with </dev/null; from outside: kill 12
        because: read(0) has no time limit; its holder might still write; no agent runs it, and who holds the other end does not wait for it
          sh (11) → cat (12): child
          cat (12) → the holder of the other end, which is not in sight: pipe its standard input
          - sh (11) sleeps, 0 % of a core, 1m old: sh
            - wait4 waits for any child
            - cat (12) sleeps, 0 % of a core, 1m old: cat
              - read waits for input on standard input, pipe 70, other end: nobody in sight
    "#]]);
}

#[test]
fn those_that_wait_for_each_other_are_closed_in() {
    let one = pipe(pipe(reads(process(11, 10, "one"), 3), 3, Mode::Read, 70), 4, Mode::Write, 71);
    let two = pipe(pipe(reads(process(12, 11, "two"), 3), 3, Mode::Read, 71), 4, Mode::Write, 70);
    let look = Look::of(vec![one.clone(), two.clone()]);
    look.says(expect![[r#"
        Hung mutual-wait C6 (Certain): two (12) and one (11) wait for each other: each reads what the other would write
        ends: one of them closes its end or ends: kill 12
        because: neither call has a time limit, and only the other process can end it
          one (11) → two (12): pipe descriptor 3
          two (12) → one (11): pipe descriptor 3
          closed in: [[11, 12]]
          - one (11) sleeps, 0 % of a core, 1m old: one
            - read waits for input on descriptor 3, pipe 70, other end: two (12)
            - two (12) sleeps, 0 % of a core, 1m old: two
              - read waits for input on descriptor 3, pipe 71, other end: one (11)
    "#]]);
    let graph = look.graph();
    assert!(graph.is_closed_in(11) && graph.is_closed_in(12) && !graph.is_closed_in(13));
    // a third one that waits for them is closed in too, and its path leads to both
    let look = Look::of(vec![awaits(process(10, 1, "sh")), one, two]);
    assert_eq!(look.graph().closed, [[10, 11, 12]]);
    let way: Vec<(Pid, Pid)> = look.graph().edges_from(10).iter().map(|edge| (edge.from, edge_to(&edge.to))).collect();
    assert_eq!(way, [(10, 11), (11, 12), (12, 11)]);
}

fn edge_to(to: &graph::To) -> Pid {
    match to {
        graph::To::Process(pid) => *pid,
        _ => 0,
    }
}

#[test]
fn a_pipe_of_its_own_is_filled_by_nobody() {
    let own = pipe(pipe(reads(process(11, 10, "own"), 3), 3, Mode::Read, 70), 4, Mode::Write, 70);
    Look::of(vec![own]).says(expect![[r#"
        Hung own-pipe - (Likely): own (11) reads descriptor 3, to which nobody but itself could write
        ends: kill 11
        because: it holds the only other end, and none of its threads does anything else: the process that was to write has ended, or never began
          own (11) → itself: pipe descriptor 3
          closed in: [[11]]
          - own (11) sleeps, 0 % of a core, 1m old: own
            - read waits for input on descriptor 3, pipe 70, other end: itself
    "#]]);
}

#[test]
fn output_that_nobody_takes() {
    let writes = calls(process(12, 11, "seq"), "write", Does::Write { fd: 1 }, TimeLimit::Never);
    let child = pipe(writes, 1, Mode::Write, 70);
    let parent = pipe(awaits(process(11, 10, "python3")), 3, Mode::Read, 70);
    Look::of(vec![parent, child]).says(expect![[r#"
        Hung stdout-undrained C6 (Certain): seq (12) cannot write to its standard output: the pipe is full, and python3 (11) does not read it
        ends: python3 (11) reads it; next time, read both streams at once or send one to a file or /dev/null; from outside: kill 12
        because: python3 (11), who should read, waits for seq (12) elsewhere
          python3 (11) → seq (12): child
          seq (12) → python3 (11): pipe its standard output
          closed in: [[11, 12]]
          - python3 (11) sleeps, 0 % of a core, 1m old: python3
            - wait4 waits for any child
            - seq (12) sleeps, 0 % of a core, 1m old: seq
              - write waits for room on standard output, pipe 70, other end: python3 (11)
    "#]]);
}

#[test]
fn a_fifo_that_nobody_opens() {
    let opens = |fifo| {
        let does = Does::Open { path: Some("/tmp/queue".to_owned()), fifo };
        Look::of(vec![calls(process(11, 10, "cat"), "openat", does, TimeLimit::Never)])
    };
    opens(true).says(expect![[r#"
        Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /tmp/queue, and nobody opens it to write
        ends: somebody opens its other end; from outside: kill 11
        because: opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
          cat (11) → a process that opens it: FIFO /tmp/queue
          - cat (11) sleeps, 0 % of a core, 1m old: cat
            - openat opens /tmp/queue
    "#]]);
    opens(false).says(expect![[r#"
        Unknown unknown - (Guess): cat (11) waits, and what for cannot be seen
          cat (11) is Alive: opens a file
          - cat (11) sleeps, 0 % of a core, 1m old: cat
            - openat opens /tmp/queue
    "#]]);
}

#[test]
fn a_terminal_that_nobody_types_at() {
    let reads = |group| tty(reads(process(11, 10, "bash"), 0), 0, group);
    let master = has(process(20, 1, "tmux"), 8, Mode::Both, Object::Master { index: 3 });
    Look::of(vec![reads(1)]).beside(watches(master, &[8], TimeLimit::Never)).says(expect![[r#"
        Waiting shell-prompt - (Likely): bash (11) waits for a command at the terminal /dev/pts/3 (whose keys come from tmux (20))
        ends: a command
          bash (11) → tmux (20): terminal /dev/pts/3
          tmux (20) → bash (11): terminal descriptor 8
          tmux (20) → somebody who uses it: signal
          - bash (11) sleeps, 0 % of a core, 1m old: bash
            - read waits for input on standard input, terminal /dev/pts/3, other side: tmux (20)
    "#]]);
    Look::of(vec![reads(1)]).says(expect![[r#"
        Waiting shell-prompt - (Likely): bash (11) waits for a command at the terminal /dev/pts/3
        ends: a command
          bash (11) → the program on its other side: terminal /dev/pts/3
          - bash (11) sleeps, 0 % of a core, 1m old: bash
            - read waits for input on standard input, terminal /dev/pts/3, other side: nobody in sight
    "#]]);
    let stopped = Process { state: State::Stopped, ..reads(5) };
    Look::of(vec![awaits(process(10, 1, "sh")), stopped]).says(expect![[r#"
        Hung sigttin T1 (Likely): bash (11) was stopped by SIGTTIN: it read its terminal from a background process group (1; the terminal belongs to 5)
        ends: bring it to the foreground (fg); SIGCONT alone stops it again; started in a session of its own (setsid) it would get an error instead
        because: its state is T, in a call on its terminal, and the terminal's group is another
          sh (10) → bash (11), which is stopped: child
          bash (11) → somebody who continues it: signal
          - sh (10) sleeps, 0 % of a core, 1m old: sh
            - wait4 waits for any child
            - bash (11) is stopped, 0 % of a core, 1m old: bash
              - read waits for input on standard input, terminal /dev/pts/3, other side: nobody in sight
              - its group is 1, its terminal's foreground group 5
    "#]]);
}

#[test]
fn a_child_that_has_ended_and_is_not_taken_in() {
    let zombie = |pid| Process { state: State::Zombie, args: vec![], ..process(pid, 11, "git") };
    let sleeps = calls(process(11, 10, "node"), "futex", Does::Futex, TimeLimit::Never);
    Look::of(vec![sleeps, zombie(12)]).says(expect![[r#"
        Hung unreaped C4 (Likely): node (11) has not noticed that its child git (12) has ended
        ends: node (11) calls wait for 12; from outside: kill 11
        because: the child is a zombie at both times, and no thread of the parent waits for a child
          node (11) → itself: thread
          git (12) is Dead: has ended
          closed in: [[11]]
          - node (11) sleeps, 0 % of a core, 1m old: node
            - futex waits for another thread
            - git (12) has ended, unreaped, 0 % of a core, 1m old
    "#]]);
    // one that waits for it is about to take it in
    Look::of(vec![awaits(process(11, 10, "sh")), zombie(12)]).says(expect![[r#"
        Unknown unknown - (Guess): sh (11) waits, and what for cannot be seen
          sh (11) is Alive: is about to take in a child that has ended
          git (12) is Dead: has ended
          - sh (11) sleeps, 0 % of a core, 1m old: sh
            - wait4 waits for any child
            - git (12) has ended, unreaped, 0 % of a core, 1m old
    "#]]);
}

/// An `flock` of a process on the file with inode 7, or its wait for one.
pub(crate) fn lock(pid: Pid, waits: bool) -> Lock {
    Lock {
        id: 1,
        kind: "FLOCK".into(),
        write: true,
        pid: Some(pid),
        waits,
        device: (8, 1),
        inode: 7,
        from: 0,
        to: None,
    }
}

#[test]
fn a_lock_and_its_holder() {
    let file =
        || Object::File { path: "/repo/.git/index.lock".into(), inode: 7, device: (8, 1), offset: 0, at_end: false };
    let waiter = has(process(11, 10, "git"), 3, Mode::Both, file());
    let waiter = calls(waiter, "flock", Does::Lock { fd: 3 }, TimeLimit::Never);
    let sleeps = calls(process(20, 1, "editor"), "nanosleep", Does::Sleep, TimeLimit::LeftMs(90_000));
    let look = || Look::of(vec![waiter.clone()]).beside(has(sleeps.clone(), 5, Mode::Both, file()));
    look().both(|s| s.locks = vec![lock(20, false), lock(11, true)]).says(expect![[r#"
        Waiting lock-wait - (Likely): git (11) waits for the lock on /repo/.git/index.lock, which editor (20) holds; editor (20) has a timer of its own (at most 1m30s): editor (20) sleeps (1m30s)
        ends: the end of what editor (20) does
          git (11) → editor (20), which sleeps for a time: lock /repo/.git/index.lock
          editor (20) → somebody who uses it: signal
          editor (20) is Alive: sleeps for a time
          - git (11) sleeps, 0 % of a core, 1m old: git
            - flock waits for a lock on descriptor 3, /repo/.git/index.lock
    "#]]);
    look().says(expect![[r#"
        Waiting file-lock R2 (Likely): git (11) waits for the lock on /repo/.git/index.lock, which nobody in sight holds
        ends: the holder lets it go
        because: flock has no time limit
          git (11) → its holder, which is not in sight: lock /repo/.git/index.lock
          - git (11) sleeps, 0 % of a core, 1m old: git
            - flock waits for a lock on descriptor 3, /repo/.git/index.lock
    "#]]);
}

#[test]
fn processes_that_come_and_go_are_work() {
    let script = || awaits(process(11, 10, "sh"));
    let child = |pid| calls(process(pid, 11, "true"), "nanosleep", Does::Sleep, TimeLimit::LeftMs(5));
    let look = Look::of(vec![script(), child(12)]).later(|s| {
        s.tree.remove(&12);
        s.tree.insert(13, child(13));
    });
    look.says(expect![[r#"
        Working working - (Likely): sh (11) works: processes below it come and go
        ends: nothing needs to: it works
        because: a script that tries again and again, without an end, looks the same
          sh (11) is Alive: works
          true (13) is Alive: sleeps for a time
          - sh (11) sleeps, 0 % of a core, 1m old: sh
            - wait4 waits for any child
            - 1 more child (--tree shows them)
    "#]]);
}

fn connection(inode: u64, since_received_ms: u64) -> Socket {
    let since_sent_ms = since_received_ms + 500;
    let traffic =
        Traffic { since_received_ms, since_sent_ms, received_bytes: 900, sent_bytes: 400, ..Traffic::default() };
    Socket {
        inode,
        family: Family::Tcp,
        state: SocketState::Established,
        local: "10.0.0.2:50000".into(),
        remote: "93.184.216.34:443".into(),
        traffic: Some(traffic),
        ..Socket::default()
    }
}

fn client(name: &str, args: &[&str]) -> Process {
    let mut client = has(process(11, 10, name), 5, Mode::Both, Object::Socket { inode: 80 });
    client.args = [name].iter().chain(args).map(|&arg| arg.to_owned()).collect();
    watches(client, &[5], TimeLimit::LeftMs(100_000))
}

#[test]
fn a_peer_that_is_silent_and_one_that_talks() {
    let agent = |silent_ms| Look::of(vec![client("opencode", &["run", "x"])]).socket(connection(80, silent_ms));
    agent(600_000).says(expect![[r#"
        Waiting model-silent M1 (Likely): opencode (11) waits for the model's stream at 93.184.216.34:443, which began to answer and has been silent for 10m
        ends: a byte or an end from 93.184.216.34:443; from outside: kill 11
        because: 900 bytes came, then none; a connection that is merely kept looks the same
          opencode (11) → 93.184.216.34:443: socket descriptor 5
          opencode (11) is Alive: has a timer
          - opencode (11) sleeps, 0 % of a core, 1m old: opencode run x
            - poll waits for input on descriptor 5, connection 10.0.0.2:50000 to 93.184.216.34:443, silent for 10m
            - poll, 1m40s
    "#]]);
}

#[test]
fn a_server_waits_for_requests_by_design() {
    let listens = Socket {
        inode: 80,
        family: Family::Tcp,
        state: SocketState::Listening,
        local: "127.0.0.1:4096".into(),
        ..Socket::default()
    };
    Look::of(vec![client("opencode", &["serve"])]).socket(listens.clone()).says(expect![[r#"
        Waiting serves - (Likely): opencode (11) waits for requests at 127.0.0.1:4096
        ends: a request
          opencode (11) → a client that connects: socket 127.0.0.1:4096
          opencode (11) is Alive: has a timer
          - opencode (11) sleeps, 0 % of a core, 1m old: opencode serve
            - poll waits for input on descriptor 5, socket at 127.0.0.1:4096
            - poll, 1m40s
    "#]]);
    Look::of(vec![client("python3", &[])]).socket(listens).says(expect![[r#"
        Waiting serves - (Likely): python3 (11) waits for requests at 127.0.0.1:4096
        ends: a request; a server ends when told to
        because: it listens there, and has nothing else under way
          python3 (11) → a client that connects: socket 127.0.0.1:4096
          python3 (11) is Alive: has a timer
          - python3 (11) sleeps, 0 % of a core, 1m old: python3
            - poll waits for input on descriptor 5, socket at 127.0.0.1:4096
            - poll, 1m40s
    "#]]);
}

#[test]
fn an_agent_says_what_it_asks() {
    let ask = |kind: &str| Ask {
        kind: kind.into(),
        id: "que_1".into(),
        session: "ses_1".into(),
        text: "Which branch?".into(),
        ..Ask::default()
    };
    let record = |kind: &str, running: &[&str]| Agent {
        pid: 11,
        name: "opencode".into(),
        form: "run".into(),
        asks: vec![ask(kind)],
        running: running.iter().map(|&tool| tool.to_owned()).collect(),
        turn: "open".into(),
        sources: vec!["a log".into()],
        ..Agent::default()
    };
    let look =
        |record: Agent| Look::of(vec![client("opencode", &["run", "x"])]).both(|s| s.agents = vec![record.clone()]);
    look(record("question", &[])).says(expect![[r#"
        Hung question-open Q1 (Certain): opencode (11) waits for the answer to its question “Which branch?”, and nobody answers
        ends: an answer; from outside: kill 11
        because: it says so itself: a log
          opencode (11) → nobody: ask question
          closed in: [[11]]
          - opencode (11) sleeps, 0 % of a core, 1m old: opencode run x
            - poll waits for input on descriptor 5, socket 80, other end: nobody in sight
            - poll, 1m40s
            - open question que_1: Which branch?
            - read from a log
    "#]]);
    look(record("question", &["bash"])).says(expect![[r#"
        Hung question-open Q1 (Likely): opencode (11) waits for the answer to its question “Which branch?”, and nobody answers
        ends: an answer; from outside: kill 11
        because: it says so itself: a log
          opencode (11) → a peer: socket descriptor 5
          opencode (11) → nobody: ask question
          opencode (11) is Alive: has a timer
          - opencode (11) sleeps, 0 % of a core, 1m old: opencode run x
            - poll waits for input on descriptor 5, socket 80, other end: nobody in sight
            - poll, 1m40s
            - open question que_1: Which branch?
            - read from a log
    "#]]);
}

#[test]
fn what_may_not_be_read_is_not_guessed() {
    let mut hidden = process(11, 10, "sudo");
    hidden.fds_read = false;
    hidden.threads = vec![Thread { tid: 11, ..Thread::default() }];
    Look::of(vec![hidden.clone()]).says(expect![[r#"
        Unknown unknown - (Guess): sudo (11) waits, and what for cannot be seen
          sudo (11) → what the kernel does not tell: unknown
          - sudo (11) sleeps, 0 % of a core, 1m old: sudo
            - system call -1: what it waits for is not known (inferred from the kernel's function)
    "#]]);
    // what the kernel's function says is marked as inferred
    hidden.threads[0].wchan = "do_wait".into();
    Look::of(vec![hidden.clone(), calls(process(12, 11, "sleep"), "nanosleep", Does::Sleep, TimeLimit::LeftMs(7))])
        .says(expect![[r#"
            Waiting sleep - (Likely): sleep (12) sleeps (7ms)
            ends: time
              sudo (11) → sleep (12), which sleeps for a time: child
              sleep (12) is Alive: sleeps for a time
              - sudo (11) sleeps, 0 % of a core, 1m old: sudo
                - do_wait waits for any child (inferred from the kernel's function)
                - sleep (12) sleeps, 0 % of a core, 1m old: sleep
                  - nanosleep, 7ms
        "#]]);
    hidden.threads[0].wchan = "futex_wait_queue".into();
    Look::of(vec![hidden]).says(expect![[r#"
        Waiting timer - (Likely): sudo (11) waits inside itself, with a time limit
        ends: a timer of its own
          sudo (11) → what may not be read: thread
          - sudo (11) sleeps, 0 % of a core, 1m old: sudo
            - futex_wait_queue waits for another thread (inferred from the kernel's function)
    "#]]);
    let unknown = calls(process(11, 10, "prog"), "", Does::Other, TimeLimit::Unknown);
    Look::of(vec![unknown]).says(expect![[r#"
        Unknown unknown - (Guess): prog (11) waits, and what for cannot be seen
          prog (11) → what the kernel does not tell: unknown
          - prog (11) sleeps, 0 % of a core, 1m old: prog
            - system call 1: what it waits for is not known
    "#]]);
    let none = Look::of(vec![process(11, 10, "gone")]).both(|s| s.tree.clear());
    none.says(expect![[r#"
        Unknown unknown - (Guess): is gone
    "#]]);
}

#[test]
fn a_wait_for_this_very_look_is_none() {
    let look = Look::of(vec![awaits(process(11, 10, "sh")), awaits(process(900, 11, "rehang"))]);
    look.says(expect![[r#"
        Waiting this-look - (Certain): sh (11) waits for this very look, rehang (900)
        ends: the end of this look
        because: this look was started below it, and is left out
          sh (11) → this very look: child
          - sh (11) sleeps, 0 % of a core, 1m old: sh
            - wait4 waits for any child
            - 1 more child (--tree shows them)
    "#]]);
}

#[test]
fn those_beside_the_way_to_the_answer_are_counted() {
    let sleeper = |pid| calls(process(pid, 11, "sleep"), "nanosleep", Does::Sleep, TimeLimit::LeftMs(7));
    let mut all = vec![awaits(process(11, 10, "sh")), reads(pipe(process(12, 11, "cat"), 0, Mode::Read, 70), 0)];
    all.extend([13, 14].map(sleeper));
    all.extend((15..21).map(|pid| Process { state: State::Zombie, args: vec![], ..process(pid, 11, "true") }));
    let look = Look::of(all);
    let mut told = String::new();
    lines(&evidence::tree(&view::View::new(&look.before, &look.after, Limits::default()), 12), 0, &mut told);
    expect![[r#"
        - sh (11) sleeps, 0 % of a core, 1m old: sh
          - wait4 waits for any child
          - cat (12) sleeps, 0 % of a core, 1m old: cat
            - read waits for input on standard input, pipe 70, other end: nobody in sight
          - true (15) has ended, unreaped, 0 % of a core, 1m old
          - true (16) has ended, unreaped, 0 % of a core, 1m old
          - true (17) has ended, unreaped, 0 % of a core, 1m old
          - true (18) has ended, unreaped, 0 % of a core, 1m old
          - 4 more children (--tree shows them)
    "#]]
    .assert_eq(&told);
    let whole = whole_tree(&look.before, &look.after, &Limits::default());
    assert_eq!(whole[0].below.len(), 1 + 9, "its own wait, and each child");
}

#[test]
fn a_process_descends_from_itself_and_those_above_it() {
    let tree = Look::of(vec![process(11, 10, "a"), process(12, 11, "b"), process(13, 12, "c")]).after;
    let descends = |pid, of| tree.descends(pid, of);
    assert!(descends(13, 13) && descends(13, 12) && descends(13, 11) && descends(13, 10));
    assert!(!descends(11, 13) && !descends(12, 13) && !descends(13, 14));
    // a circle, which a pid that is used again can make of two looks, ends
    let circle = Look::of(vec![process(11, 12, "a"), process(12, 11, "b")]).after;
    assert!(!circle.descends(11, 13));
}
