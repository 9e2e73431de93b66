//! Known agents: what they say of themselves, and what it means if none of their work is under way.
//!
//! Invariant: an open question or permission that the agent itself reports outranks everything else.

use super::network::connections;
use super::{On, Rules, Wait, end_it, left, same};
use crate::data::{Agent, Ask, Descriptor, Family, Object, Pid, Process, Socket, Traffic};
use crate::diagnosis::Sure;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::ways;
use crate::heard::{ACP, ELICITATION, QUESTION, asks_host};
use crate::kind;
use rehang_hangs::{Mechanism, Signature};
use rehang_words::text::counted_as;

/// A child that began within this many nanoseconds of its agent is a helper: tools come later.
const BESIDE_NS: u64 = 3_000_000_000;

/// The folder of the sockets at which Claude Code 2.1 takes messages of other sessions: `cc-socks`, or `cc-socks-` and the
/// user's number (2.1.329).
const INBOX: &str = "cc-socks";

/// How Claude Code's prompts are kept from coming back, and how one is seen.
const NEXT_TIME: &str = "; next time, allow the tool beforehand (--allowedTools) or answer its requests";
const SEEN: &str = "its own record has that call without a result";

/// How long an unanswered hook counts as none; its own limit is 10 minutes (Claude Code 2.1.329) or one (2.0.77).
const HOOK_MS: u64 = 11 * 60_000;

/// What the name of a tool server's tool begins with in Claude Code.
const OF_SERVER: &str = "mcp__";

/// What an agent says of itself.
pub fn says(view: &View<'_>, process: &Process) -> Option<Finding> {
    let agent = record(view, process.pid)?;
    let pid = process.pid;
    let Some(ask) = agent.asks.first() else {
        if agent.turn == "retrying" {
            let text = format!("{} waits before it asks its model again", view.name(pid));
            let finding = Finding::waiting(pid, Signature::Retry, rank::TALKS, text).ends("an answer of the model");
            let because = format!("it says so itself: {}", agent.sources.join(", "));
            return Some(Finding { mechanism: Some(Mechanism::M5), sure: Sure::Certain, ..finding }.because(because));
        }
        return gate(view, process, agent);
    };
    let more = if agent.asks.len() > 1 {
        format!(" ({} open)", counted_as(agent.asks.len() - 1, "more is", "more are"))
    } else {
        String::new()
    };
    let (signature, what) = if ask.kind == "permission" {
        (Signature::PermissionOpen, format!("the permission {}", quoted(ask)))
    } else {
        (Signature::QuestionOpen, format!("the answer to its question {}", quoted(ask)))
    };
    let mechanism = match (ask.kind.as_str(), ask.nested, agent.form.as_str()) {
        ("permission", true, _) => Mechanism::P2,
        ("permission", _, "sdk") => Mechanism::P3,
        ("permission", ..) => Mechanism::P1,
        (_, true, _) => Mechanism::Q2,
        _ => Mechanism::Q1,
    };
    let nested = if ask.nested { " asked by a subagent" } else { "" };
    let text = format!("{} waits for {what}{nested}, and nobody answers{more}", view.name(pid));
    let options = if ask.options.is_empty() { String::new() } else { format!(" ({})", ask.options.join(" / ")) };
    let ends = if agent.answer.is_empty() {
        format!("an answer{options}; from outside: {}", end_it(view, pid))
    } else {
        format!("an answer{options}: {}; from outside: {}", agent.answer, end_it(view, pid))
    };
    let because = format!("it says so itself: {}", agent.sources.join(", "));
    let finding = Finding::hung(pid, signature, mechanism, text).ends(ends);
    Some(match route(view, process) {
        Some(route) => Finding { rank: rank::SAID, ..finding.because(format!("{because}; {route}")) },
        None => Finding { sure: Sure::Certain, rank: rank::SAID, ..finding.because(because) },
    })
}

/// The way by which somebody could still answer an ask, if there is one: a person may be about to answer.
pub fn route(view: &View<'_>, process: &Process) -> Option<String> {
    let at_terminal = view.waits(process).into_iter().find_map(|wait| match wait.on {
        On::Input(fd) => process.fd(fd).and_then(|fd| match &fd.what {
            Object::Tty { path, .. } => Some(format!("somebody may still answer at the terminal {path}")),
            _ => None,
        }),
        _ => None,
    });
    let mut listening = process.listening(&view.after.sockets);
    at_terminal.or_else(|| Some(format!("somebody may still answer by way of {}", listening.next()?.local)))
}

/// A tool that was called, of which nothing runs, while the agent listens for an answer: its permission prompt, or its
/// question, is open. The tool, and the descriptor at which the answer would come.
fn prompts<'a>(view: &View<'a>, process: &'a Process) -> Option<(&'a str, &'a Descriptor)> {
    let agent = record(view, process.pid).filter(|agent| agent.name == "claude" || asks_host(&agent.form))?;
    let tool = agent.running.first()?;
    let pid = process.pid;
    // a subagent is started without a permission, and thinks for as long as it likes: what is open is an ask of its own only
    // if nobody talks to a model
    let talks = !super::network::connections(view, process).is_empty();
    let is_subagent =
        tool.split(':').next().is_some_and(|name| ["task", "agent"].contains(&&*name.to_ascii_lowercase()));
    if (is_subagent && talks)
        || view.living_children(pid).any(|child| !kind::helper(child) && child.began_ns > process.began_ns + BESIDE_NS)
        || (talks && view.wants(pid) > 0.05)
    {
        return None;
    }
    let zero = process.fd(0)?;
    let is_input = |fd: &&Descriptor| fd.fd == 0 || same(&zero.what, &fd.what);
    let answers = view.waits(process).into_iter().find_map(|wait| match wait.on {
        On::Input(fd) => process.fd(fd).filter(is_input),
        _ => None,
    })?;
    Some((tool, answers))
}

/// The waits of an agent whose prompt is certainly open, but for those that do not matter to the prompt: a command has no
/// process or a question was put, and the last word on each connection was the peer's (a model may be asked whether a
/// command is safe).
///
/// No release of Claude Code limits a prompt, so no timer of its own ends it. Its inbox takes what other sessions say, and
/// no answer (read in 2.1.329: `user` and `control` lines); that a watched file changes is no answer either. A tool server
/// may be asked for the permission, and an editor may be attached: what is waited for from those counts.
pub fn prompted(view: &View<'_>, process: &Process) -> Option<Vec<Wait>> {
    prompts(view, process)?;
    let is_prompt = |tool: &String| {
        let name = tool.split(':').next().unwrap_or_default();
        ["Bash", "AskUserQuestion"].contains(&name)
    };
    let is_answered = |socket: &Socket| {
        // a peer on this machine answers within one tick of the kernel's clock
        let last = |traffic: Traffic| traffic.received_bytes > 0 && traffic.since_received_ms <= traffic.since_sent_ms;
        socket.traffic.is_some_and(last)
    };
    let outward = connections(view, process);
    let agent = record(view, process.pid)?;
    // a release of Codex gives such a call up after two minutes
    let is_limited = |tool: &String| tool.split(':').next() == Some(ELICITATION);
    // over a protocol of requests, each of them was asked for
    if agent.running.iter().any(is_limited)
        || at_hook(process, agent)
        || !(asks_host(&agent.form) || agent.running.iter().all(is_prompt))
        || !outward.iter().all(|(_, socket)| is_answered(socket))
    {
        return None;
    }
    let is_idle = |fd: i32| {
        let what = process.fd(fd);
        let is_inbox = |socket: &Socket| {
            socket.family == Family::Unix && socket.local.split('/').any(|dir| dir.starts_with(INBOX))
        };
        what.is_some_and(|fd| matches!(fd.what, Object::Timer { .. } | Object::Inotify))
            || what.and_then(|fd| view.socket(fd)).is_some_and(is_inbox)
            || outward.iter().any(|(other, _)| *other == fd)
    };
    let matters = |wait: &Wait| match wait.on {
        On::Clock | On::Futex => false,
        On::Input(fd) | On::Output(fd) => !is_idle(fd),
        _ => true,
    };
    Some(view.waits(process).into_iter().filter(matters).collect())
}

/// Whether the call that is open waits for a hook of its host, not for a permission: none is asked for in this mode. Claude Code
/// gives a hook up after a time.
fn at_hook(process: &Process, agent: &Agent) -> bool {
    let is_call = |tool: &String| {
        let name = tool.split(':').next().unwrap_or_default();
        name != "AskUserQuestion" && !name.starts_with(OF_SERVER)
    };
    agent.name == "claude" && kind::is_hosted(process) && kind::bypasses(process) && agent.running.iter().all(is_call)
}

fn gate(view: &View<'_>, process: &Process, agent: &Agent) -> Option<Finding> {
    let (tool, answers) = prompts(view, process)?;
    let pid = process.pid;
    let name = view.name(pid);
    if at_hook(process, agent) {
        let who = view.names(&view.other_end(process, answers, true));
        let text = format!("{name} waits for the hook that {who} runs for “{tool}”, until that hook's limit");
        let ends = format!(
            "a control_response line there, for that hook_callback request; from outside: {}",
            end_it(view, pid)
        );
        let sources = agent.sources.join(", ");
        let because = format!(
            "it asks for no permission in this mode, and its record has that call without a result ({sources})"
        );
        let finding = Finding::hung(pid, Signature::PermissionOpen, Mechanism::X5, text).ends(ends).because(because);
        return Some(finding.rank(rank::SAID).after(0, HOOK_MS));
    }
    let who = view.other_end(process, answers, true);
    let (name_of_tool, _) = tool.split_once(':').unwrap_or((tool, ""));
    let question = ["AskUserQuestion", QUESTION, ELICITATION].contains(&name_of_tool);
    let (at, mechanism) = match (&answers.what, question) {
        (Object::Tty { path, .. }, true) => (format!("a key at the terminal {path} should bring"), Mechanism::Q1),
        (Object::Tty { path, .. }, false) => (format!("a key at the terminal {path} should bring"), Mechanism::P1),
        (_, true) => (format!("{} should write to its standard input and does not", view.names(&who)), Mechanism::Q1),
        (_, false) => (format!("{} should write to its standard input and does not", view.names(&who)), Mechanism::P3),
    };
    let what = if question { "the answer to its question" } else { "the answer to its permission prompt for" };
    let text = format!("{name} waits for {what} “{tool}”, which {at}");
    let (answer, next_time, seen) = match &answers.what {
        _ if asks_host(&agent.form) => (
            if agent.form == ACP {
                "a JSON-RPC response line there, for that session/request_permission"
            } else {
                "a response line there, with the id of that request"
            },
            "",
            "it has asked its host for that, and has said nothing of that call since",
        ),
        Object::Tty { .. } => ("an answer typed there", NEXT_TIME, SEEN),
        _ => ("a control_response line there, for that can_use_tool request", NEXT_TIME, SEEN),
    };
    let ends = format!("{answer}{next_time}; from outside: {}", end_it(view, pid));
    let because =
        format!("{seen}, no command of it runs, and it listens on its standard input ({})", agent.sources.join(", "));
    let signature = if question { Signature::QuestionOpen } else { Signature::PermissionOpen };
    Some(Finding::hung(pid, signature, mechanism, text).ends(ends).because(because).rank(rank::SAID))
}

/// The tool of a tool server whose result an agent waits for, if its record has no other call without a result: its model
/// has said all that it will for now.
pub fn owed_tool<'a>(view: &View<'a>, process: &Process) -> Option<&'a str> {
    let running = &record(view, process.pid)?.running;
    let all = running.iter().all(|tool| tool.starts_with(OF_SERVER));
    running.first().filter(|_| all).map(String::as_str)
}

fn record<'a>(view: &View<'a>, pid: Pid) -> Option<&'a Agent> {
    view.after.agents.iter().find(|agent| agent.pid == pid)
}

/// Whether an agent takes its host's requests on its standard input: [`idle`] says whose turn it is.
pub fn takes_requests(view: &View<'_>, process: &Process) -> bool {
    record(view, process.pid).is_some_and(|agent| asks_host(&agent.form))
}

/// A run without a person whose turn is over by its own record, and which is still there.
pub fn lingers(view: &View<'_>, process: &Process, waits: &[Wait]) -> Option<Finding> {
    let agent = view.agent(process.pid)?;
    let is_over = |record: &&Agent| record.turn == "ended" && record.asks.is_empty() && record.running.is_empty();
    let record = record(view, process.pid).filter(is_over)?;
    if !kind::headless(&agent, process) || kind::serves(process) {
        return None;
    }
    let pid = process.pid;
    let name = view.name(pid);
    // its host may send the next message at any time
    let hosted = kind::is_hosted(process)
        && waits.iter().any(|wait| wait.on == On::Input(0))
        && process.fd(0).is_some_and(|fd| !view.other_end(process, fd, true).is_empty());
    if hosted {
        let text = format!("{name} has finished its turn and waits for the next message on its standard input");
        let finding = Finding::waiting(pid, Signature::BetweenTurns, rank::LIKELY + 1, text)
            .ends("a message, or the end of its input");
        let finding =
            finding.because(format!("its own record ends with a finished turn: {}", record.sources.join(", ")));
        return Some(Finding { mechanism: Some(Mechanism::H7), ..finding });
    }
    let children: Vec<Pid> = view.living_children(pid).map(|child| child.pid).collect();
    let input = waits.iter().find_map(|wait| match wait.on {
        On::Input(0) => process.fd(0).filter(|fd| matches!(fd.what, Object::Pipe { .. } | Object::Socket { .. })),
        _ => None,
    });
    let (kept, ends) = if let Some(fd) = input {
        let who = view.names(&view.other_end(process, fd, true));
        (format!("{who} holds its standard input open and writes nothing"), format!("{who} closes it"))
    } else if !children.is_empty() {
        let who = view.names(&children);
        (format!("{who} below it lives"), format!("the end of {who}"))
    } else if let Some((_, socket)) = connections(view, process).first() {
        (format!("its connection to {} stands", socket.remote), "the end of that connection".to_owned())
    } else {
        ("nothing in sight keeps it".to_owned(), "nothing in sight".to_owned())
    };
    let text = format!("{name} has finished its turn and does not exit: {kept}");
    let ends = format!("{ends}; from outside: {} (its result is out)", end_it(view, pid));
    let because = format!("its own record ends with a finished turn: {}", record.sources.join(", "));
    Some(
        Finding::hung(pid, Signature::AliveAfterResult, Mechanism::H1, text)
            .ends(ends)
            .because(because)
            .rank(rank::LIKELY + 1),
    )
}

/// A tool server, known by its name, that does not read what its agent asks, while the agent waits for nothing else:
/// the server is busy with something else, or never comes up (anthropics/claude-code#93087).
pub fn mute_server(view: &View<'_>, process: &Process) -> Option<Finding> {
    view.agent(process.pid)?;
    if !connections(view, process).is_empty() {
        return None;
    }
    let ours = |child: &Process, number: i32, reads: bool| {
        child.fd(number).is_some_and(|fd| view.other_end(child, fd, reads).contains(&process.pid))
    };
    let server = view.living_children(process.pid).filter(|child| kind::helper(child)).find(|child| {
        let asked = child.fd(0).filter(|_| ours(child, 0, true) && ours(child, 1, false));
        asked.is_some_and(|fd| !super::reads_now(view, child.pid, fd)) && view.wants(child.pid) < 0.25
    })?;
    let (name, other) = (view.name(process.pid), view.name(server.pid));
    let text = format!("{name} has a tool server, {other}, that does not read what it is asked");
    let ends =
        format!("{other} reads, or ends: {}; next time, a limit on its start and on calls", end_it(view, server.pid));
    let finding = Finding::waiting(process.pid, Signature::ToolServerMute, rank::CLOCK + 1, text).ends(ends);
    let because =
        "both its streams lead to the agent, and none of its threads reads them: it may be busy, or never come up";
    Some(Finding { mechanism: Some(Mechanism::X1), ..finding.because(because) })
}

/// A process between two others, such as an adapter of an editor and an agent: its host waits for its answer and for nothing
/// else, and all that it waits for itself is its host and its own children, or nothing is left below it.
pub fn owes_answer(view: &View<'_>, process: &Process, waits: &[Wait]) -> Option<Finding> {
    let pid = process.pid;
    if view.agent(pid).is_some() || !connections(view, process).is_empty() {
        return None;
    }
    let zero = process.fd(0)?;
    let polls = |wait: &Wait| {
        wait.polled && matches!(wait.on, On::Input(fd) if process.fd(fd).is_some_and(|fd| same(&fd.what, &zero.what)))
    };
    if !waits.iter().any(polls) || view.own_channel(process, zero) {
        return None;
    }
    let hosts = view.other_end(process, zero, true);
    // who waits for its end waits for no answer
    let reads = |host: &Pid| {
        let host = view.process(*host);
        host.is_some_and(|host| !view.waits(host).iter().any(|wait| matches!(wait.on, On::Child(_))))
    };
    let host = hosts.into_iter().find(|host| super::waits_for(view, *host, pid).1 && reads(host))?;
    let mut others = Vec::new();
    for wait in waits {
        match wait.on {
            On::Clock | On::Futex => {}
            On::Input(number) | On::Output(number) => {
                let fd = process.fd(number)?;
                let is_own = view.own_channel(process, fd)
                    || matches!(
                        fd.what,
                        Object::Event { .. } | Object::Signal | Object::Children | Object::Timer { .. } | Object::Null
                    );
                let ends = view.other_end(process, fd, matches!(wait.on, On::Input(_)));
                let known = ends.iter().all(|end| *end == host || view.after.descends(*end, pid));
                if !is_own && (ends.is_empty() || !known) {
                    return None;
                }
                others.extend(
                    ends.into_iter()
                        .filter(|end| *end != host && *end != pid && !others.contains(end))
                        .collect::<Vec<_>>(),
                );
            }
            _ => return None,
        }
    }
    others.dedup();
    let (name, host_) = (view.name(pid), view.name(host));
    let ended = view.zombies(pid).next().is_some();
    let (what, subject) = match others.as_slice() {
        [] if ended => ("nothing is under way for it: its child has ended".to_owned(), pid),
        [] => ("nothing is under way for it: no child, no connection".to_owned(), pid),
        [child, ..] => (format!("{}, its child, owes it one, and waits for a request", view.names(&others)), *child),
    };
    let waits_for_us = |child: &Pid| super::waits_for(view, *child, pid).0;
    if !others.is_empty() && !others.iter().all(waits_for_us) {
        return None;
    }
    let text = format!("{name} owes {host_} an answer, and {what}");
    let ends = format!("nothing in sight; from outside: {}", end_it(view, subject));
    let because = format!(
        "{host_} reads its answer and does nothing else, and {name} waits only for the next request and for what is below it"
    );
    Some(Finding::hung(pid, Signature::OwesAnswer, Mechanism::X2, text).ends(ends).because(because))
}

/// A client of an agent's server, of which that server itself says what it waits for: an answer, or nothing at all, so that
/// the event that the client listens for was missed or is never sent.
pub fn at_server(view: &View<'_>, process: &Process, socket: &Socket) -> Option<Finding> {
    let peer = socket.peer?;
    let mut holders = view.after.socket_holders(peer).map(|(holder, _)| holder);
    let server = holders.find(|holder| kind::serves(holder) && record(view, holder.pid).is_some())?;
    let agent = record(view, server.pid)?;
    if view.agent(process.pid).is_some_and(|agent| !kind::headless(&agent, process)) {
        return None;
    }
    let (name, other) = (view.name(process.pid), view.name(server.pid));
    if !agent.asks.is_empty() {
        let found = says(view, server)?;
        let because = format!("{}; {name} is its client", found.because);
        return Some(found.because(because));
    }
    if agent.busy != Some(0) || !agent.running.is_empty() {
        return None;
    }
    let text = format!("{name} waits for events of {other} at {}, which says that nothing is under way", socket.remote);
    let ends = format!(
        "a new task for {other}, or a client that asks for the sessions' status when it (re)connects; from outside: {}",
        end_it(view, process.pid)
    );
    let because = format!(
        "no session is busy there and no ask is open ({}), and no more than signs of life come: the event that ends the wait was missed, or never sent; a client that is there for the next task looks the same",
        agent.sources.join(", ")
    );
    let finding = Finding::hung(process.pid, Signature::EventMissed, Mechanism::E1, text).ends(ends).because(because);
    Some(finding.guess().rank(rank::FRESH))
}

/// What an agent says is under way although its processes are idle: a tool of which nothing runs, a turn that is
/// complete.
fn lost(view: &View<'_>, process: &Process, record: &Agent) -> Option<Finding> {
    let pid = process.pid;
    let name = view.name(pid);
    let ends = format!("nothing in sight; from outside: {}", end_it(view, pid));
    let sources = record.sources.join(", ");
    if let Some(tool) = record.running.first() {
        let (mechanism, why) = match tool.as_str() {
            tool if tool.starts_with(OF_SERVER) => (Mechanism::X2, "which a tool server owes it"),
            // of opencode: only a tool whose session is idle is listed as running
            tool if tool == "task" || tool.starts_with("task: ") => {
                (Mechanism::E9, "a subagent whose own session is idle")
            }
            _ => (Mechanism::B13, "of which nothing runs: no command, no connection"),
        };
        let text = format!("{name} waits for the result of its tool “{tool}”, {why}");
        let finding = Finding::hung(pid, Signature::ToolLost, mechanism, text).ends(ends);
        return Some(finding.because(format!("its own record has that call without a result: {sources}")));
    }
    if record.turn == "ended" && record.busy.is_some_and(|busy| busy > 0) {
        let text = format!("{name} calls its session busy, and that session's last answer is complete");
        return Some(
            Finding::hung(pid, Signature::BusyStuck, Mechanism::E3, text)
                .ends(format!("an abort of that session; {ends}"))
                .because(format!("it says so itself: {sources}")),
        );
    }
    None
}

fn quoted(ask: &Ask) -> String {
    if ask.text.is_empty() { ask.id.clone() } else { format!("“{}”", ask.text) }
}

/// A command of an agent that runs without a person, which never ends by itself: a server, or one that watches files.
pub fn endless_command(rules: &mut Rules<'_, '_>, process: &Process) -> Option<Finding> {
    let view = rules.view;
    view.agent(process.pid).filter(|agent| kind::headless(agent, process))?;
    if kind::serves(process) || !connections(view, process).is_empty() {
        return None;
    }
    let commands: Vec<Pid> = commands(view, process).map(|child| child.pid).collect();
    let found = commands.into_iter().map(|pid| rules.explain(pid));
    let found = found
        .into_iter()
        .find(|found| matches!(found.signature, Signature::Serves | Signature::Watches | Signature::Debugger))?;
    let does = found.sentence;
    let name = view.name(process.pid);
    // one event, or one client, is all that it waits for: whether that comes cannot be seen
    // a bound datagram socket is no sign of a server: clients have those too
    let may_end = |command: &&Process| {
        let serves = found.signature == Signature::Serves;
        kind::ends_at_first(command) || serves && command.listening(&view.after.sockets).next().is_none()
    };
    if let Some(command) = view.process(found.pid).filter(may_end) {
        let text = format!("{name} waits for a command that ends at the first: {does}");
        let ends = format!("{}; from outside: {}", found.ends, end_it(view, found.pid));
        let finding = Finding::hung(found.pid, Signature::NeverEnds, Mechanism::B5, text).ends(ends);
        return Some(finding.because("whether it will come cannot be seen").after(view.age_ms(command), ways::LONG_MS));
    }
    let text = format!("{name} waits for a command that usually does not end: {does}");
    let ends = format!("{}; next time, start it in the background, or with a limit", end_it(view, found.pid));
    let finding = Finding::hung(found.pid, Signature::NeverEnds, Mechanism::B5, text).ends(ends);
    Some(finding.because("the agent has nothing else under way: no connection to a model, no input that it waits for"))
}

/// What an agent has started and still runs, without its tool servers.
fn commands<'a>(view: &View<'a>, process: &Process) -> impl Iterator<Item = &'a Process> {
    view.living_children(process.pid).filter(|child| !kind::helper(child))
}

/// In the middle of a turn, an agent that takes messages of its host on its standard input, while nothing else is under way:
/// what its host has to say is all that can still come.
fn host_owes(view: &View<'_>, process: &Process, record: &Agent, waits: &[Wait]) -> Option<Finding> {
    let asks = asks_host(&record.form);
    if record.turn != "open" || !(asks || record.name == "claude" && kind::is_hosted(process)) {
        return None;
    }
    let stdin = waits.iter().find_map(|wait| match wait.on {
        On::Input(0) => process.fd(0).filter(|fd| matches!(fd.what, Object::Pipe { .. } | Object::Socket { .. })),
        _ => None,
    })?;
    let hosts = view.other_end(process, stdin, true);
    if hosts.is_empty() || hosts.contains(&process.pid) {
        return None;
    }
    let (pid, name, host) = (process.pid, view.name(process.pid), view.names(&hosts));
    let text = format!(
        "{name} waits for its host in the middle of a turn: {host} holds its standard input open and writes nothing"
    );
    let line = if asks { "response to its last request" } else { "control_response to the last control_request" };
    let ends = format!(
        "a line of {host}, such as the {line}; next time, a limit on what the host answers; from outside: {}",
        end_it(view, pid)
    );
    let because = format!(
        "its turn is open by its own record ({}), and it has no connection, no command and no other input; what it has asked its host, if anything, was not seen: an answer that got lost inside it looks the same",
        record.sources.join(", ")
    );
    Some(Finding::hung(pid, Signature::HostSilent, Mechanism::P4, text).ends(ends).because(because))
}

/// An agent of which nothing is under way: no connection, no child, no input.
pub fn idle(view: &View<'_>, process: &Process, waits: &[Wait]) -> Option<Finding> {
    let agent = view.agent(process.pid)?;
    let pid = process.pid;
    let name = view.name(pid);
    let record = record(view, pid);
    let port = process.listening(&view.after.sockets).map(|socket| &socket.local).find(|local| !local.is_empty());
    let busy = record.and_then(|record| record.busy).unwrap_or(0);
    let between_turns = takes_requests(view, process) && record.is_some_and(|record| record.turn != "open");
    let may_serve = port.is_some() && !view.is_known_agent(pid);
    if (kind::serves(process) && busy == 0) || between_turns || may_serve {
        let at = port.map(|port| format!(" at {port}")).unwrap_or_default();
        let text = format!("{name} waits for requests{at}");
        return Some(Finding::waiting(pid, Signature::Serves, rank::SERVES, text).ends("a request"));
    }
    if let Some(port) = port
        && record.is_none_or(|record| record.sources.is_empty())
        && !kind::serves(process)
        && agent.name != "opencode"
    {
        let text = format!(
            "{name} listens on {port} and does nothing else: it waits for a browser to come back from a log-in"
        );
        let ends = format!(
            "the log-in in a browser on this machine; next time, an API key; from outside: {}",
            end_it(view, pid)
        );
        let finding = Finding::hung(pid, Signature::OauthCallback, Mechanism::X4, text).ends(ends);
        return Some(finding.because("a listening socket, no connection, no child"));
    }
    // it waits for a child, or all its threads for each other: that says more
    let is_at_child = |wait: &Wait| match wait.on {
        On::Child(_) => view.living_children(pid).next().is_some(),
        On::Input(fd) => process.fd(fd).is_some_and(|fd| {
            let others = view.other_end(process, fd, true);
            others.iter().any(|other| view.after.descends(*other, pid))
        }),
        _ => false,
    };
    if waits.iter().any(|wait| !wait.polled && is_at_child(wait))
        || (!waits.is_empty() && waits.iter().all(|wait| wait.on == On::Futex))
    {
        return None;
    }
    // a command that idles is still under way, so it decides
    if !connections(view, process).is_empty() || commands(view, process).next().is_some() {
        return None;
    }
    if let Some(lost) = record.and_then(|record| lost(view, process, record)) {
        return Some(lost);
    }
    if let Some(owes) = record.and_then(|record| host_owes(view, process, record, waits)) {
        return Some(owes);
    }
    let timer = waits.iter().filter(|wait| wait.on == On::Clock).find_map(|wait| left(wait.limit));
    let child = if view.living_children(pid).next().is_some() { "command" } else { "child" };
    let text =
        format!("{name} has nothing under way: no connection to a model, no {child}, no input that it waits for");
    let ends = format!("nothing in sight; {}", end_it(view, pid));
    let finding = Finding::hung(pid, Signature::NoConnection, Mechanism::M8, text).ends(ends);
    let limit = view.limits.silent_ms.saturating_mul(super::network::HUNG_LIMITS);
    let finding = finding.after(view.age_ms(process), limit);
    if !view.is_known_agent(pid) && ways::awaits_signals(process) {
        return Some(finding.guess().because("it handles signals by which programs wake each other"));
    }
    Some(match timer {
        // a pause between two tries ends by itself; the timers of a runtime look the same
        Some(left) => finding.guess().because(format!(
            "it waits inside itself, its nearest timer {left}: an answer that nobody gives, an event that got lost, or a pause before it tries again look like this"
        )),
        None => finding.because("it waits inside itself: an answer that nobody gives, or an event that got lost, look like this"),
    })
}
