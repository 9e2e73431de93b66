//! Connections: a peer that talks, one that is silent, one that does not answer at all.
//!
//! Invariant: a peer is silent only after the limit that the caller gave; before, it is waited for. Of several
//! connections the one that was used last decides: clients keep others for later, and those are silent.

use super::{On, Rules, Wait, agent, daemon, end_it, left, run};
use crate::data::{Family, Object, Pid, Process, Socket, SocketState, State, Thread, TimeLimit, Traffic};
use crate::diagnosis::Verdict;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::waits::NO_END_MS;
use crate::diagnosis::ways::{LONG_MS, also_a_timer};
use crate::kind;
use rehang_hangs::{Mechanism, Signature};
use rehang_words::text::{counted, duration};

/// The most bytes of a piece that may be a mere keep-alive: `: keep-alive` with its chunk's frame and the 22 bytes of a TLS
/// record. The event of a token has a hundred and more.
const KEEPALIVE_BYTES: u64 = 64;
/// The most bytes of an event that says only that the server lives: opencode's `server.heartbeat`, 57 bytes and the frame
/// of a chunk in 1.2.15, with an id of 30 characters in 1.18.33.
const HEARTBEAT_BYTES: u64 = 128;
/// How long a connection was idle before it was asked something, in limits of silence, for its peer to be taken for one
/// that is gone: four minutes by default, after which the first networks forget a connection that carries nothing (Azure's
/// load balancer; 350 s at AWS's, 10 minutes at Google's), without a word to either side.
const IDLE_LIMITS: u64 = 4;
/// How many limits of silence a connection must be silent for to count as hung: half an hour by default, above the longest
/// wait for a first word on record, 25 minutes in a provider's queue; guard's limit is the same.
pub const HUNG_LIMITS: u64 = 30;
/// The pieces in which the head of an answer and its first event may come.
const HEAD_PIECES: u32 = 3;

/// What a process waits for on the network.
pub fn rule(rules: &mut Rules<'_, '_>, process: &Process, waits: &[Wait]) -> Option<Finding> {
    let view = rules.view;
    let waited =
        |fd: i32| waits.iter().find(|wait| matches!(wait.on, On::Input(f) | On::Output(f) | On::Connect(f) if f == fd));
    let own = connections(view, process);
    let found = own.iter().filter_map(|(fd, socket)| match waited(*fd) {
        Some(wait) => Some((Some(wait), *socket)),
        // awake at both looks: what arrived tells what woke it
        None => (waits.is_empty() && view.received(socket) > 0).then_some((None, *socket)),
    });
    let (finding, socket) = found
        .filter_map(|(wait, socket)| Some((one(view, process, wait, socket)?, Some(socket))))
        .chain(waits.iter().filter_map(|wait| Some((datagram(view, process, wait)?, None))))
        .reduce(|best, next| if next.0.rank > best.0.rank { next } else { best })?;
    let waits_for_words =
        [Signature::PeerWait, Signature::PeerSilent, Signature::ModelSilent].contains(&finding.signature);
    let peer = socket.filter(|_| waits_for_words).and_then(|socket| socket.peer);
    Some(match peer {
        Some(peer) => by_neighbour(rules, process, finding, peer),
        None => finding,
    })
}

/// A peer on this machine is looked at: what it does, or what it waits for in turn, explains its silence.
fn by_neighbour(rules: &mut Rules<'_, '_>, process: &Process, finding: Finding, peer: u64) -> Finding {
    let view = rules.view;
    let holders = view.after.socket_holders(peer).map(|(holder, _)| holder.pid);
    let holders: Vec<Pid> = holders.filter(|pid| *pid != process.pid && *pid != view.after.reader.pid).collect();
    let does = daemon::does(rules, process.pid, &holders).filter(|does| does.rank > rank::UNKNOWN);
    let Some(does) = does else { return finding };
    // a circle that it waits for never ends
    if does.verdict == Verdict::Hung && does.signature == Signature::MutualWait {
        let because = format!("{}; {}", finding.sentence, does.because);
        return does.because(because);
    }
    // what the other end reads is the client's own input (ssh)
    let own_input = |wait: &Wait| {
        let On::Input(fd) = wait.on else { return None };
        process.fd(fd).filter(|fd| super::is_stdin(process, fd)).map(|fd| (wait.clone(), fd))
    };
    let waits = view.waits(process);
    if does.signature == Signature::StdinOpen
        && let Some((wait, fd)) = waits.iter().find_map(own_input)
        && let Some(own) = super::stdin::rule(rules, process, &wait, fd)
    {
        let because = format!("{}; {}", own.because, does.sentence);
        return Finding { rank: own.rank.max(finding.rank), ..own.because(because) };
    }
    let text = format!("{}: {}", finding.sentence, does.sentence);
    let goes_on = does.verdict == Verdict::Working || (does.verdict == Verdict::Waiting && does.rank >= rank::CLOCK);
    match goes_on && does.hung_in_ms.is_none() && view.agent(process.pid).is_none() {
        true => Finding::waiting(process.pid, Signature::Daemon, finding.rank, text).ends(does.ends),
        false => Finding { sentence: text, ..finding },
    }
}

/// Whether a process has asked somebody over a connection and has not been answered yet, in words: `waits for an answer of
/// 10.0.0.1:443`. After the time for which anybody waits it is a hang of its own.
pub fn awaits_answer(view: &View<'_>, process: &Process) -> Option<String> {
    asked(view, process).next().map(|socket| format!("waits for an answer of {}", socket.remote))
}

/// The same, of somebody outside of the tree: a model, as far as an agent is concerned.
pub fn awaits_outside(view: &View<'_>, process: &Process) -> bool {
    let is_inside = |socket: &&Socket| {
        let peer = socket.peer.into_iter().flat_map(|peer| view.after.socket_holders(peer));
        peer.map(|(holder, _)| holder.pid).any(|pid| view.after.tree.contains_key(&pid))
    };
    asked(view, process).any(|socket| !is_inside(&socket))
}

/// The connections over which somebody was asked and has not begun to answer.
fn asked<'a>(view: &View<'a>, process: &'a Process) -> impl Iterator<Item = &'a Socket> {
    let most = view.limits.silent_ms.saturating_mul(HUNG_LIMITS);
    let is_asked = move |socket: &&Socket| {
        let traffic = socket.traffic.map(|traffic| since_begin(view, process, traffic));
        traffic.is_some_and(|traffic| traffic.sent_bytes > 0 && !began(&traffic) && traffic.since_sent_ms < most)
    };
    connections(view, process).into_iter().map(|(_, socket)| socket).filter(is_asked)
}

/// Whether an answer has begun. The kernel's clock has steps of some milliseconds: an answer at once has the age of its
/// request.
fn began(traffic: &Traffic) -> bool {
    traffic.since_received_ms <= traffic.since_sent_ms && traffic.received_bytes > 0
}

/// How long a client waits for its peer by its own word, in milliseconds: a limit that is longer than the peer has been
/// silent is not one of a loop's; what may not be read counts as one.
fn own_limit(wait: &Wait, quiet_ms: u64) -> u64 {
    match wait.limit {
        _ if wait.call.starts_with("epoll") => 0,
        TimeLimit::GivenMs(ms) if ms > quiet_ms => ms,
        TimeLimit::LeftMs(ms) => ms.saturating_add(quiet_ms),
        TimeLimit::Unknown if !wait.polled => LONG_MS,
        _ => 0,
    }
}

/// An answer by a datagram, such as that of a name server: the kernel keeps no clock for those.
fn datagram(view: &View<'_>, process: &Process, wait: &Wait) -> Option<Finding> {
    let On::Input(fd) = wait.on else { return None };
    let socket = process.fd(fd).and_then(|fd| view.socket(fd))?;
    if socket.family != Family::Udp || socket.remote.is_empty() || view.is_known_agent(process.pid) {
        return None;
    }
    let limit = left(wait.limit).map(|left| format!(" ({left} at a time)")).unwrap_or_default();
    let text = format!("{} waits for a datagram of {}{limit}", view.name(process.pid), socket.remote);
    let finding = Finding::waiting(process.pid, Signature::Datagram, rank::SILENT - 1, text).guess();
    Some(finding.because("for how long none has come cannot be seen").ends("a datagram"))
}

/// A process that waits for any client: a listening socket, or one for datagrams from anybody.
pub fn serves(view: &View<'_>, process: &Process, waits: &[Wait]) -> Option<Finding> {
    // a known agent's server is a part of it, and says little of what it does
    if view.is_known_agent(process.pid) {
        return None;
    }
    let at = waits.iter().find_map(|wait| match wait.on {
        On::Input(fd) => process.fd(fd).and_then(|fd| view.socket(fd)).filter(|socket| {
            let any = socket.family == Family::Udp && socket.remote.is_empty();
            any || socket.state == SocketState::Listening
        }),
        _ => None,
    })?;
    let place = if at.local.is_empty() { String::new() } else { format!(" at {}", at.local) };
    if process.at_debugger {
        let text = format!("{} waits for a debugger{place}", view.name(process.pid));
        let finding = Finding::waiting(process.pid, Signature::Debugger, rank::SERVES, text);
        let ends =
            "a debugger that lets it go on; next time, start it without --inspect-brk, --inspect-wait or their like";
        return Some(finding.ends(ends).because("it was started to wait for one before it does anything"));
    }
    let text = format!("{} waits for requests{place}", view.name(process.pid));
    let finding = Finding::waiting(process.pid, Signature::Serves, rank::SERVES, text)
        .ends("a request; a server ends when told to");
    Some(finding.because("it listens there, and has nothing else under way"))
}

/// A server none of whose threads waits for anything that could come, and without a time limit, while it has not read
/// what others have sent: its event loop is stuck.
pub fn stuck(view: &View<'_>, process: &Process, waits: &[Wait]) -> Option<Finding> {
    process.listening(&view.after.sockets).next()?;
    let asleep = |thread: &Thread| thread.state == State::Sleeping && view.switches(process.pid, thread.tid) == 0;
    let wakes = |wait: &Wait| !matches!(wait.on, On::Futex | On::Clock) || left(wait.limit).is_some();
    if process.threads.is_empty() || !process.threads.iter().all(asleep) || waits.iter().any(wakes) {
        return None;
    }
    let unread: u64 = process.fds.iter().filter_map(|fd| view.socket(fd)).map(|socket| socket.unread).sum();
    if unread == 0 {
        return None;
    }
    let name = view.name(process.pid);
    let text = format!("{name} listens and takes nothing: what was sent to it lies unread");
    let ends = format!("nothing in sight; from outside: {}", end_it(view, process.pid));
    let because =
        format!("none of its threads waits for a descriptor or for time, and {unread} bytes or connections wait");
    Some(Finding::hung(process.pid, Signature::ServerMute, Mechanism::E8, text).ends(ends).because(because))
}

/// A server that listens to something else too, or keeps a connection: an answer may be stuck because of that
/// connection.
pub fn serves_beside(serves: Finding, other: &Finding) -> Finding {
    let because =
        format!("no request that can be seen lacks the beginning of an answer; beside that, {}", other.sentence);
    let serves = serves.because(because);
    if other.signature == Signature::PeerSilent { serves.guess() } else { serves }
}

/// Whether a server has been asked something on a connection and has not answered since.
pub fn owes(view: &View<'_>, process: &Process) -> bool {
    let outward: Vec<u64> = connections(view, process).iter().map(|(_, socket)| socket.inode).collect();
    let sockets = process.fds.iter().filter_map(|fd| view.socket(fd));
    sockets
        .filter(|socket| socket.state == SocketState::Established && !outward.contains(&socket.inode))
        .filter_map(|socket| socket.traffic)
        .filter(|traffic| traffic.received_bytes > 0)
        .any(|traffic| traffic.sent_bytes == 0 || traffic.since_received_ms < traffic.since_sent_ms)
}

/// Outward connections: not those that a listening socket took, not those between a process's own descriptors.
pub fn connections<'a>(view: &View<'a>, process: &Process) -> Vec<(i32, &'a Socket)> {
    let sockets: Vec<(i32, &Socket)> = process
        .fds
        .iter()
        .filter_map(|fd| Some((fd.fd, view.socket(fd)?)))
        .filter(|(_, socket)| socket.family == Family::Tcp)
        .collect();
    let port = |address: &str| address.rsplit(':').next().unwrap_or_default().to_owned();
    let listening: Vec<String> = sockets
        .iter()
        .filter(|(_, socket)| socket.state == SocketState::Listening)
        .map(|(_, socket)| port(&socket.local))
        .collect();
    let own: Vec<u64> = sockets.iter().map(|(_, socket)| socket.inode).collect();
    let outward = |socket: &Socket| {
        matches!(socket.state, SocketState::Established | SocketState::Connecting)
            && !listening.contains(&port(&socket.local))
            && !socket.peer.is_some_and(|peer| own.contains(&peer))
    };
    sockets.into_iter().filter(|(_, socket)| outward(socket)).collect()
}

fn one(view: &View<'_>, process: &Process, wait: Option<&Wait>, socket: &Socket) -> Option<Finding> {
    let pid = process.pid;
    let name = view.name(pid);
    let at = &socket.remote;
    if let Some(finding) = queued(view, process, socket) {
        return Some(finding);
    }
    let agent = view.agent(pid).is_some();
    let tool = agent::owed_tool(view, process);
    // whose answer it waits for, in the middle of a sentence
    let answer = match tool {
        Some(tool) => format!("the result of its tool “{tool}” from {}", server(view, socket)),
        None if agent => "the model's answer".to_owned(),
        None => "its peer".to_owned(),
    };
    // the mechanism of a peer that only says that it lives
    let alive = if tool.is_some() { Mechanism::X2 } else { Mechanism::M2 };
    if socket.state == SocketState::Connecting {
        let text = format!("{name} waits for a connection to {at}, which does not answer");
        let finding = Finding::waiting(pid, Signature::Connecting, rank::SILENT, text)
            .ends("an answer, or the kernel's limit (about 2 minutes)");
        return Some(Finding { mechanism: Some(Mechanism::X6), ..finding });
    }
    let came = view.received(socket);
    let pieces = view.received_pieces(socket);
    // a server that sends not even signs of life is silent, which says more
    let lives = socket.traffic.is_some_and(|traffic| traffic.since_received_ms < view.limits.silent_ms);
    if lives
        && came <= pieces * HEARTBEAT_BYTES
        && let Some(finding) = agent::at_server(view, process, socket)
    {
        return Some(finding);
    }
    if agent && came > 0 && came <= pieces * KEEPALIVE_BYTES {
        let text = format!(
            "{name} waits for {answer} at {at}, which sends next to nothing: {came} bytes in {} within {}, as keep-alive lines are",
            counted(pieces, "piece"),
            duration(view.window_ns / 1_000_000)
        );
        let finding = Finding::waiting(pid, Signature::PeerKeepalive, rank::TALKS, text).guess();
        let finding = finding.ends("content at last, or the agent's own limit on lines without any");
        let because = "whether they hold content cannot be seen from outside; very short tokens look the same";
        return Some(Finding { mechanism: Some(alive), ..finding.because(because) });
    }
    if came > 0 {
        let text = format!(
            "{name} waits for {answer} at {at}, which talks ({came} bytes in {})",
            duration(view.window_ns / 1_000_000)
        );
        let finding = Finding::waiting(pid, Signature::PeerTalks, rank::TALKS, text).ends("the end of the answer");
        return Some(finding.because("keep-alive lines without content look the same from outside"));
    }
    let Some(traffic) = socket.traffic.map(|traffic| since_begin(view, process, traffic)) else {
        let text = format!("{name} waits for {at}; for how long it has been silent may not be read");
        return Some(Finding::waiting(pid, Signature::PeerWait, rank::SILENT - 1, text).guess().ends("an answer"));
    };
    let quiet_ms = traffic.since_received_ms.min(traffic.since_sent_ms);
    if agent && quiet_ms < view.limits.silent_ms && trickles(&traffic) {
        let text = format!(
            "{name} waits for {answer} at {at}: in the {} since it asked no more than {} bytes came, in {} pieces, the last one {} ago: keep-alive lines, or next to no progress",
            duration(traffic.since_sent_ms),
            traffic.received_bytes,
            traffic.received_pieces,
            duration(traffic.since_received_ms)
        );
        let finding = Finding::waiting(pid, Signature::PeerKeepalive, rank::FRESH + 1, text).guess();
        let finding = finding.ends("content at last, or the agent's own limit on lines without any");
        let because = "whether they hold content cannot be seen from outside; a model that thinks and says that it lives looks the same";
        return Some(Finding { mechanism: Some(alive), ..finding.because(because) });
    }
    let beside = if agent { server_beside(view, process) } else { String::new() };
    let silent = duration(traffic.since_received_ms);
    let began = began(&traffic);
    let how = if began {
        format!("which began to answer and has been silent for {silent}")
    } else {
        format!("which has not answered for {}", duration(traffic.since_sent_ms.min(traffic.since_received_ms)))
    };
    let is_kept = began && agent && socket.unsent == 0 && super::rest::is_at_rest(view, process);
    if quiet_ms < view.limits.silent_ms {
        let what = if agent && tool.is_none() { "the model" } else { &answer };
        let timer = if agent { String::new() } else { also_a_timer(view, process) };
        let text = format!("{name} waits for {what} at {at}, {how}{beside}{timer}");
        let limit = duration(view.limits.silent_ms);
        let because =
            format!("it counts as silent after {limit} without a byte; a keep-alive line starts that time again");
        let finding = Finding::waiting(pid, Signature::PeerWait, rank::FRESH, text).because(because).ends("an answer");
        let finding = if is_kept { finding.rank(rank::LOOP - 1) } else { finding };
        return Some(finding.lasted(quiet_ms));
    }
    let (signature, mechanism, who) = match tool {
        Some(_) => (Signature::ToolLost, Mechanism::X2, answer.as_str()),
        None if agent => (Signature::ModelSilent, Mechanism::M1, "the model's stream"),
        None => (Signature::PeerSilent, Mechanism::E2, "its peer"),
    };
    let idle_ms = traffic.since_received_ms.saturating_sub(traffic.since_sent_ms);
    let was_idle = traffic.received_bytes > 0 && idle_ms >= view.limits.silent_ms.saturating_mul(IDLE_LIMITS);
    let is_gone = socket.unsent > 0 && traffic.retransmits > 0;
    let mechanism = if was_idle || is_gone { Mechanism::M9 } else { mechanism };
    let before = match was_idle {
        true => format!(", on a connection that had been idle for {}", duration(idle_ms)),
        false => String::new(),
    };
    let text = format!("{name} waits for {who} at {at}, {how}{before}{beside}");
    let ends = format!("a byte or an end from {at}; from outside: {}", end_it(view, pid));
    let because = match (began, socket.unsent > 0) {
        (_, true) if is_gone => format!("{} bytes are sent again and again: the other side is gone", socket.unsent),
        (_, true) => format!("{} bytes that it sent were never taken: the other side may be gone", socket.unsent),
        (true, _) => {
            format!("{} bytes came, then none; a connection that is merely kept looks the same", traffic.received_bytes)
        }
        (false, _) if was_idle => {
            "the request was taken, and no byte came back; a peer that a sleep of the machine or an idle limit on the way has cut off says nothing".to_owned()
        }
        (false, _) => "the request was taken, and no byte came back".to_owned(),
    };
    let finding = Finding::hung(pid, signature, mechanism, text).ends(ends).because(because).lasted(quiet_ms);
    // outside of a run that should end, a connection that was answered may be kept for what its peer has to say one day
    if is_kept || (began && socket.unsent == 0 && !view.is_of_a_run(pid)) {
        let rank = if is_kept { rank::LOOP - 1 } else { rank::SILENT };
        return Some(Finding { verdict: Verdict::Waiting, ..finding }.rank(rank));
    }
    let own = wait.map_or(0, |wait| own_limit(wait, quiet_ms));
    let told = told_limit(process).and_then(|ms| ms.checked_sub(view.age_ms(process)));
    let told = told.map_or(0, |left| left.saturating_add(quiet_ms));
    let most = view.limits.silent_ms.saturating_mul(HUNG_LIMITS).max(own).max(told);
    let finding = finding.after(quiet_ms, most);
    Some(if wait.is_none_or(|wait| wait.polled) { finding.rank(rank::SILENT) } else { finding })
}

/// The limit that a program was told for all that it does, in milliseconds (curl(1), -m and --max-time).
fn told_limit(process: &Process) -> Option<u64> {
    if kind::program(process) != "curl" {
        return None;
    }
    let args: Vec<&str> = process.args.iter().skip(1).map(String::as_str).collect();
    // at the end of a group of letters too
    let is_next =
        |arg: &str| arg == "--max-time" || arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with('m');
    let value = args.iter().enumerate().find_map(|(at, arg)| match is_next(arg) {
        true => args.get(at + 1).copied(),
        false => arg.strip_prefix("--max-time=").or_else(|| arg.strip_prefix("-m")),
    })?;
    let ms = value.parse::<f64>().ok()? * 1_000.0;
    (ms.is_finite() && ms > 0.0 && ms < NO_END_MS as f64).then_some(ms as u64)
}

/// A connection is never older than its process was at work: the kernel counts from its own start where nothing came yet.
fn since_begin(view: &View<'_>, process: &Process, traffic: Traffic) -> Traffic {
    let age = view.age_ms(process).max(1);
    Traffic {
        since_received_ms: if traffic.received_bytes == 0 {
            traffic.since_received_ms.min(age)
        } else {
            traffic.since_received_ms
        },
        since_sent_ms: if traffic.sent_bytes == 0 { traffic.since_sent_ms.min(age) } else { traffic.since_sent_ms },
        ..traffic
    }
}

/// A connection that is still in the queue of its listener: whoever listens there has not accepted it.
fn queued(view: &View<'_>, process: &Process, socket: &Socket) -> Option<Finding> {
    let listener = view.after.queued.get(&socket.inode)?;
    let holders: Vec<&Process> = view.after.socket_holders(*listener).map(|(holder, _)| holder).collect();
    let pids: Vec<Pid> = holders.iter().map(|holder| holder.pid).collect();
    let (name, who) = (view.name(process.pid), view.names(&pids));
    let does =
        holders.iter().find_map(|holder| Some(format!(": {}", run::rule(view, holder)?.sentence))).unwrap_or_default();
    let what = match socket.state {
        SocketState::Connecting => "waits for a connection to",
        _ => "has a connection to",
    };
    let text = format!("{name} {what} {}, which {who} listens at and has not accepted{does}", socket.remote);
    if socket.state == SocketState::Connecting {
        let finding = Finding::waiting(process.pid, Signature::Connecting, rank::SILENT, text)
            .ends("an answer, or the kernel's limit (about 2 minutes)");
        return Some(
            Finding { mechanism: Some(Mechanism::X6), ..finding }.because("the queue of that listener is full"),
        );
    }
    let ends = format!("{who} accepts it; from outside: {}", end_it(view, process.pid));
    let finding = Finding::hung(process.pid, Signature::PeerSilent, Mechanism::E8, text).ends(ends).rank(rank::SILENT);
    // who waits for this process alone, and not at its listener, accepts nothing before that has ended
    let at_listener = |holder: &Process, wait: &Wait| {
        let On::Input(fd) = wait.on else { return false };
        holder.fd(fd).is_some_and(|fd| matches!(fd.what, Object::Socket { inode } if inode == *listener))
    };
    let is_shut = |holder: &&Process| {
        let waits = view.waits(holder);
        super::waits_for(view, holder.pid, process.pid).0 && !waits.iter().any(|wait| at_listener(holder, wait))
    };
    if !holders.is_empty() && holders.iter().all(is_shut) {
        let text = format!(
            "{name} and {who} wait for each other: {who} waits for it, and not at {}, where it has not accepted its connection",
            socket.remote
        );
        let finding =
            Finding::hung(process.pid, Signature::PeerSilent, Mechanism::E8, text).ends(end_it(view, process.pid));
        let because = "it is in the queue of that listener, which no thread watches";
        return Some(finding.because(because).after(view.age_ms(process), view.limits.silent_ms));
    }
    let because = "it is in the queue of that listener, and no process holds its other end";
    let limit = view.limits.silent_ms.saturating_mul(HUNG_LIMITS);
    Some(finding.because(because).after(view.age_ms(process).min(limit - 1), limit))
}

/// A tool server of an agent, known by its streams, that listens for somebody who has not come: it may owe the agent an
/// answer until then.
fn server_beside(view: &View<'_>, process: &Process) -> String {
    let ours = |child: &Process, fd: i32, reads: bool| {
        child.fd(fd).is_some_and(|fd| view.other_end(child, fd, reads).contains(&process.pid))
    };
    let servers = view.living_children(process.pid).filter(|child| ours(child, 0, true) && ours(child, 1, false));
    let found = servers.filter_map(|child| {
        let at = child.listening(&view.after.sockets).next()?;
        let called = child.fds.iter().filter_map(|fd| view.socket(fd));
        let called = called.filter(|one| one.state == SocketState::Established && one.local == at.local).count();
        (called == 0).then(|| {
            format!("; its tool server {} listens at {}, and nobody has called on it", view.name(child.pid), at.local)
        })
    });
    found.take(1).collect()
}

/// Who is at the other end of a connection: a process of this machine, or a server.
fn server(view: &View<'_>, socket: &Socket) -> String {
    let holder = socket.peer.and_then(|peer| view.after.socket_holders(peer).next());
    holder.map_or_else(|| "a tool server".to_owned(), |(holder, _)| view.name(holder.pid).to_string())
}

/// Whether a connection has brought, since something was asked on it, less than the events of the slowest model and
/// goes on bringing it: keep-alive lines come less often than once a window. All bytes of the connection count, so that
/// on a connection that was used before, this case is missed rather than reported wrongly.
fn trickles(traffic: &Traffic) -> bool {
    let goes_on = traffic.since_received_ms.saturating_mul(2) <= traffic.since_sent_ms;
    let a_second = traffic.received_bytes.saturating_mul(1000) / traffic.since_sent_ms.max(1);
    traffic.received_pieces > HEAD_PIECES && goes_on && a_second < KEEPALIVE_BYTES
}
