//! Standard input that nobody writes to and nobody closes.
//!
//! Invariant: a pipeline is followed to its source; only a writer that is above the reader, or outside its tree, makes an
//! open standard input.

use super::{On, Rules, Wait, agent, best, end_it, fd_name, left, pipe, same, steady, waits_for};
use crate::data::{Descriptor, Mode, Object, Pid, Process, TimeLimit};
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::diagnosis::ways;
use crate::diagnosis::{Sure, Verdict};
use crate::kind;
use crate::shells::COMMON;
use rehang_hangs::{Mechanism, Signature};
use rehang_words::text::duration;

/// A wait for standard input.
pub fn rule(rules: &mut Rules<'_, '_>, process: &Process, wait: &Wait, fd: &Descriptor) -> Option<Finding> {
    let view = rules.view;
    if let Some(finding) = own_error(view, process, fd) {
        return Some(finding);
    }
    if wait.polled && view.own_channel(process, fd) {
        return None;
    }
    if let Some(finding) = kept_open(view, process, fd) {
        return Some(finding);
    }
    let writers = view.other_end(process, fd, true);
    let above: Vec<Pid> = view.ancestors(process.pid).collect();
    // what an agent's run reads from a source that never writes, such as `sleep infinity |`, is open as by a parent
    let is_mute_source = |pid: &Pid| view.is_of_a_run(process.pid) && is_mute(view, *pid);
    let (over, beside): (Vec<Pid>, Vec<Pid>) =
        writers.iter().partition(|pid| above.contains(pid) || outside(view, process, **pid) || is_mute_source(pid));
    if !beside.is_empty() {
        return Some(pipeline(rules, process, &beside));
    }
    let has_escaped = |writer: &Pid| pipe::escaped(view, process, *writer);
    let is_left = view.agent(process.pid).is_none() && !over.is_empty() && over.iter().all(has_escaped);
    if let Some(finding) = produced(view, process, &over, &above).filter(|_| !is_left) {
        return Some(finding);
    }
    if let Some(finding) = unasked(view, process, wait, &writers) {
        return Some(finding);
    }
    if let Some(finding) = between_turns(view, process, &over) {
        return Some(finding);
    }
    if is_server(view, process, &over) {
        let timer = ways::also_a_timer(view, process);
        let (name, over) = (view.name(process.pid), view.names(&over));
        let (text, ends) = match kind::helper(process) {
            true => (format!("{name} waits for requests of {over}{timer}"), "a request".to_owned()),
            // what it is cannot be seen
            false => (
                format!("{name} waits for {over} to write to its standard input{timer}"),
                format!("a request; or, if it is a command that asks something, a line: {}", without_input(&over)),
            ),
        };
        return Some(Finding::waiting(process.pid, Signature::Helper, rank::SERVES, text).ends(ends));
    }
    if agent::takes_requests(view, process) {
        return None;
    }
    if !steady(view, process, wait) {
        let text = format!("{} reads {} as it comes", view.name(process.pid), fd_name(0));
        return Some(Finding::waiting(process.pid, Signature::Reads, rank::CLOCK, text).ends("the end of its input"));
    }
    if let Some(most) = once(view, process, wait) {
        let text = format!("{} waits for its standard input to say something, at most {most}", view.name(process.pid));
        let finding = Finding::waiting(process.pid, Signature::StdinLimit, rank::CLOCK, text).ends("a line, or time");
        return Some(finding.because(format!("{} gave itself that limit, and has never reached it", wait.call)));
    }
    if over.is_empty() && view.writes_itself(process, fd) {
        return Some(its_own(view, process, wait, fd));
    }
    // root sees all processes of its pid namespace, so a process that is not in sight is outside of it, and not part of
    // a pipeline
    if over.is_empty() && view.after.reader.uid != 0 {
        let text =
            format!("{} waits for its standard input, and who holds it open may not be seen", view.name(process.pid));
        let finding = Finding::unknown(process.pid, &text).rank(rank::CLOCK);
        return Some(Finding { signature: Signature::StdinOpen, ..finding }.ends("a line, or the end of its input"));
    }
    if let Some(finding) = after_another(view, process, &over) {
        return Some(finding);
    }
    let finding = match is_left {
        true => pipe::hostage(view, process, fd, &over),
        false => open(view, process, wait, &nearest_first(&over, &above)),
    };
    // outside of a run that should end, a process may read what another one has to say now and then: a logger, a filter
    let is_held_up = over.iter().any(|writer| waits_for(view, *writer, process.pid).1);
    let never_writes = !over.is_empty() && over.iter().all(|writer| is_mute(view, *writer));
    if view.is_of_a_run(process.pid) || is_held_up || never_writes {
        return Some(finding);
    }
    let sure = finding.sure.min(Sure::Likely);
    let because = format!("{}; no agent runs it, and who holds the other end does not wait for it", finding.because);
    Some(Finding { verdict: Verdict::Waiting, sure, ..finding.because(because) })
}

/// An input that its reader holds open itself, so that it never ends: a FIFO for commands, or the input of a server that
/// shall not end. An agent would never see an end; nor would a program that reads to it, but some read one line (`head -1`).
fn kept_open(view: &View<'_>, process: &Process, fd: &Descriptor) -> Option<Finding> {
    if view.agent(process.pid).is_some() {
        return None;
    }
    if let Some(path) = view.kept_open(process, fd) {
        let program = kind::program(process);
        let may_never_end = READERS.contains(&program) && !COMMON.contains(&program) && view.is_of_a_run(process.pid);
        let hung = (Signature::StdinOpen, Some(Mechanism::S1), "it may read to the end, and would never see one");
        return Some(pipe::commands(view, process, path, rank::SERVES, may_never_end.then_some(hung)));
    }
    let serves = view.writes_itself(process, fd) && process.listening(&view.after.sockets).next().is_some();
    let text = format!("{} serves, and keeps its own standard input open", view.name(process.pid));
    serves.then(|| {
        Finding::waiting(process.pid, Signature::Serves, rank::SERVES, text)
            .ends("a request; a server ends when told to")
    })
}

/// Whether a process holds a pipe open and will never write: what sleeps for ever, or follows nothing.
fn is_mute(view: &View<'_>, writer: Pid) -> bool {
    let Some(process) = view.process(writer) else { return false };
    let follows_nothing = super::run::follows(process) && process.args.iter().any(|arg| arg == "/dev/null");
    let naps = ways::timer(process, &view.waits(process)).is_some_and(|way| way.is_soon());
    follows_nothing || (process.comm == "sleep" && !naps)
}

/// Programs that read their standard input to its end, or ask there: with their output in the same hands they are still no
/// servers.
#[rustfmt::skip]
const READERS: [&str; 73] = [
    "cat", "grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "mawk", "head", "tail", "sort", "uniq", "wc",
    "tr", "cut", "tee", "xargs", "jq", "yq", "bc", "dc", "patch", "ssh", "scp", "sftp", "sudo", "su", "passwd",
    "bash", "sh", "dash", "zsh", "ksh", "fish", "git", "gh", "npm", "npx", "yarn", "pnpm", "psql", "mysql",
    "sqlite3", "openssl", "gpg", "unzip", "rm", "cp", "mv", "apt", "apt-get", "dpkg", "terraform", "base64",
    "sha256sum", "md5sum", "more", "pip", "pip3", "twine", "pdb", "poetry", "conda", "gem", "composer", "cargo",
    "keytool", "ed", "ex", "ftp", "tftp", "telnet",
];

/// Whether a process waits on its standard input for requests by design: its name says so, or both its streams lead to one
/// host, and it is none of the programs that read to an end.
fn is_server(view: &View<'_>, process: &Process, hosts: &[Pid]) -> bool {
    if kind::helper(process) {
        return true;
    }
    let at_keys = super::terminal::is_editor(process) || hook_of(view, process).is_some();
    if at_keys || view.agent(process.pid).is_some() || !has_both_streams(view, process, hosts) {
        return false;
    }
    // `python3 -m pip`
    let module = process.args.iter().skip_while(|arg| *arg != "-m").nth(1).map(String::as_str);
    let programs = [Some(kind::program(process)), Some(process.comm.as_str()), module];
    // a piece of code on the command line, or what a shell runs, is a command
    let is_code = match process.args.get(1) {
        Some(arg) => ["-c", "-e", "-"].contains(&arg.as_str()),
        None => kind::is_interpreter(kind::program(process)),
    };
    let by_shell = view.process(process.ppid).is_some_and(|parent| {
        let is_runners = view.process(parent.ppid).is_some_and(runs_packages);
        !hosts.contains(&parent.pid) && is_for_commands(kind::program(parent)) && !is_runners
    });
    // below an agent that serves, and has no turn that is known to be open, no command is known to be under way either
    let serves = |host: &Pid| view.agent(*host).is_some() && view.process(*host).is_some_and(kind::serves);
    let is_command = by_shell && !hosts.iter().any(|host| serves(host) && !view.is_in_a_turn(*host));
    let reads = programs.into_iter().flatten().any(|name| READERS.contains(&name));
    !(reads || is_code || is_command || asks_itself(process))
}

/// Whether it runs a program of a package, as tool servers are started: `npx`, `npm exec`, `uvx`.
fn runs_packages(process: &Process) -> bool {
    const RUNNERS: [&str; 5] = ["npx", "npx-cli", "bunx", "uvx", "pnpx"];
    const MANAGERS: [&str; 5] = ["npm", "npm-cli", "pnpm", "yarn", "bun"];
    let words: Vec<&str> = words(process).take(3).map(kind::stem).collect();
    let execs = |pair: &[&str]| MANAGERS.contains(&pair[0]) && ["exec", "x", "dlx"].contains(&pair[1]);
    words.iter().take(2).any(|word| RUNNERS.contains(word)) || words.windows(2).any(execs)
}

/// Programs that run commands, on the input that they were given themselves, and no servers: shells, git (an editor, a hook), make.
fn is_for_commands(program: &str) -> bool {
    COMMON.contains(&program) || ["git", "make", "gmake"].contains(&program)
}

/// Whether it is a command of a package manager's own, such as `npm init`, and not a program that one runs.
fn asks_itself(process: &Process) -> bool {
    const MANAGERS: [&str; 4] = ["npm", "npm-cli", "pnpm", "yarn"];
    const RUN: [&str; 8] = ["exec", "x", "run", "run-script", "start", "dlx", "node", "--call"];
    let mut first = words(process).take(2).map(kind::stem);
    first.any(|word| MANAGERS.contains(&word)) && !words(process).skip(1).any(|word| RUN.contains(&word))
}

/// The words of its command line. npm writes its arguments into its title, as one.
fn words(process: &Process) -> impl Iterator<Item = &str> {
    process.args.iter().flat_map(|arg| arg.split_whitespace())
}

/// Whether one process holds the other ends of both its standard input and its standard output.
fn has_both_streams(view: &View<'_>, process: &Process, hosts: &[Pid]) -> bool {
    let readers = process.fd(1).map(|fd| view.other_end(process, fd, false)).unwrap_or_default();
    hosts.iter().any(|host| readers.contains(host))
}

/// An agent that its host sends messages on its standard input, while nothing is said to be under way: the next message may
/// come at any time (H7). The arguments of a known agent say whether it takes messages; a named one may.
fn between_turns(view: &View<'_>, process: &Process, hosts: &[Pid]) -> Option<Finding> {
    view.agent(process.pid)?;
    let takes = kind::is_hosted(process) || kind::serves(process) || !view.is_known_agent(process.pid);
    if view.is_in_a_turn(process.pid) || !takes || !has_both_streams(view, process, hosts) {
        return None;
    }
    let timer = ways::also_a_timer(view, process);
    let text = format!("{} waits for the next message of {}{timer}", view.name(process.pid), view.names(hosts));
    let finding = Finding::waiting(process.pid, Signature::BetweenTurns, rank::LOOP, text)
        .ends("a message, or the end of its input");
    let finding = finding.because("both its streams are in one host's hands, and no turn is known to be open");
    Some(Finding { mechanism: Some(Mechanism::H7), ..finding })
}

/// A parent that waits for another child, and for nothing else, writes no word until that has ended: that child is what the
/// parent waits for. So it is with one that hands on an answer that it waits for, such as `git fetch` to `git index-pack`.
fn after_another(view: &View<'_>, process: &Process, over: &[Pid]) -> Option<Finding> {
    let [parent] = over else { return None };
    if let Some(asks) = asks_a_peer(view, *parent, process.pid).filter(|_| view.agent(*parent).is_none()) {
        let text = format!("{} waits for what {} writes, which {asks}", view.name(process.pid), view.name(*parent));
        return Some(Finding::waiting(process.pid, Signature::Pipeline, rank::IDLE, text).ends("that answer"));
    }
    let mut children = view.living_children(*parent).map(|child| child.pid);
    let child = children.find(|child| {
        let is_apart = *child != view.after.reader.pid && !view.after.descends(process.pid, *child);
        is_apart && waits_for(view, *parent, *child).1
    })?;
    let (name, parent, child) = (view.name(process.pid), view.name(*parent), view.name(child));
    let text = format!("{name} waits for what {parent} writes, which waits for {child}");
    let finding = Finding::waiting(process.pid, Signature::Pipeline, rank::IDLE, text);
    Some(finding.ends(format!("the end of {child}")))
}

/// Whether a thread of a process does nothing but wait for another one than `child` at a connection, in words.
fn asks_a_peer(view: &View<'_>, parent: Pid, child: Pid) -> Option<String> {
    let parent = view.process(parent)?;
    let remote = |wait: &Wait| {
        let On::Input(fd) = wait.on else { return None };
        let fd = parent.fd(fd).filter(|_| !wait.polled)?;
        let is_of_child = view.other_end(parent, fd, true).contains(&child);
        view.socket(fd).filter(|socket| !socket.remote.is_empty() && !is_of_child)
    };
    let waits = view.waits(parent);
    waits.iter().find_map(remote).map(|socket| format!("waits for {}", socket.remote))
}

/// A writer beside the tree that sleeps, or waits for a child that does, will go on: it is a slow producer.
fn produced(view: &View<'_>, process: &Process, over: &[Pid], above: &[Pid]) -> Option<Finding> {
    let beside = |writer: &&Pid| !above.contains(writer) && **writer != view.after.reader.pid;
    let producer = over.iter().filter(beside).filter_map(|writer| view.process(*writer)).find_map(|writer| {
        if super::run::follows(writer) {
            return None;
        }
        let naps = ways::nap(view, writer, process.pid).filter(ways::Way::is_soon).map(|way| way.words());
        let works = super::run::rule(view, writer).map(|_| "it works".to_owned());
        let hidden = (writer.has_unseen || !writer.fds_read).then(|| "what is below it is not in sight".to_owned());
        naps.or(works).or(hidden).map(|why| (writer.pid, why))
    });
    let (pid, why) = producer?;
    let text = format!("{} waits for what {} writes", view.name(process.pid), view.name(pid));
    let finding =
        Finding::waiting(process.pid, Signature::Pipeline, rank::CLOCK, text).ends("the end of what it reads");
    Some(finding.because(format!("that goes on: {why}")))
}

/// What `who` does next time, so that what it starts finds the end of its input at once.
pub fn without_input(who: &str) -> String {
    format!("next time, {who} starts it with </dev/null")
}

fn holders(view: &View<'_>, writers: &[Pid]) -> String {
    if writers.is_empty() { "a process that is not in sight".to_owned() } else { view.names(writers) }
}

/// A tool server that waits for a request, while the only one who could send it waits for its answer: a call was taken
/// and not answered, or the server has asked back and the other one reads on for its result. No thread of either waits
/// for anything else or has a limit: an agent that polls its servers' pipes may send a request at any time.
fn unasked(view: &View<'_>, process: &Process, wait: &Wait, writers: &[Pid]) -> Option<Finding> {
    let [writer] = writers else { return None };
    let each_other = waits_for(view, *writer, process.pid).1 && waits_for(view, process.pid, *writer).1;
    if !(is_server(view, process, writers) && each_other && steady(view, process, wait)) {
        return None;
    }
    let both = [Some(process), view.process(*writer)];
    if both.into_iter().flatten().flat_map(|one| view.waits(one)).any(|wait| left(wait.limit).is_some()) {
        return None;
    }
    let (name, other) = (view.name(process.pid), view.name(*writer));
    let what = if kind::helper(process) { "its tool server, " } else { "" };
    let text = format!(
        "{other} waits for an answer of {what}{name}, and {name} waits for a request: they wait for each other"
    );
    let ends = format!("{}; next time, a limit on calls", end_it(view, process.pid));
    let because = "both are in a read without a time limit on a pipe that only the other one writes to";
    Some(Finding::hung(process.pid, Signature::MutualWait, Mechanism::X2, text).ends(ends).because(because).certain())
}

/// The limit of a poll of standard input alone that is longer than the process has lived: it does not belong to a loop;
/// `read -t` is an example. An event loop's own nearest timer does not count as a limit.
fn once(view: &View<'_>, process: &Process, wait: &Wait) -> Option<String> {
    let TimeLimit::GivenMs(most) = wait.limit else { return None };
    let lived = view.after.at_ns.saturating_sub(process.began_ns) / 1_000_000;
    let alone = view.waits(process).iter().all(|other| other.on == wait.on || (other.polled && other.on == On::Clock));
    (alone && most > lived && !wait.call.starts_with("epoll")).then(|| duration(most))
}

fn nearest_first(over: &[Pid], above: &[Pid]) -> Vec<Pid> {
    let mut over = over.to_vec();
    over.sort_by_key(|pid| above.iter().position(|other| other == pid).unwrap_or(usize::MAX));
    over
}

/// A process that belongs neither to the tree nor to the reader's own siblings.
fn outside(view: &View<'_>, process: &Process, pid: Pid) -> bool {
    // orphans have one parent, and are no siblings
    let is_beside = |other: &Process| {
        other.ppid == process.ppid
            && (!kind::adopted(process) || (other.pgrp, other.session) == (process.pgrp, process.session))
    };
    !view.after.tree.contains_key(&pid) && !view.process(pid).is_some_and(is_beside)
}

fn pipeline(rules: &mut Rules<'_, '_>, process: &Process, writers: &[Pid]) -> Finding {
    let view = rules.view;
    let found: Vec<Finding> = writers.iter().map(|pid| rules.explain(*pid)).collect();
    let source = best(found).unwrap_or_else(|| Finding::unknown(process.pid, "its source is gone"));
    match source.verdict {
        Verdict::Hung => source,
        _ => {
            let (name, who) = (view.name(process.pid), view.names(writers));
            let write = if writers.len() > 1 { "write" } else { "writes" };
            let text = format!("{name} waits for what {who} {write}: {}", source.sentence);
            Finding::waiting(process.pid, Signature::Pipeline, source.rank.clamp(rank::CLOCK, rank::WORKS), text)
                .ends("the end of what it reads")
        }
    }
}

/// Only the reader itself holds it open, such as `cat <>fifo`: it never sees an end.
fn its_own(view: &View<'_>, process: &Process, wait: &Wait, fd: &Descriptor) -> Finding {
    let (pid, name) = (process.pid, view.name(process.pid));
    let text =
        format!("{name} waits for its standard input, which only it holds open itself: it would never see an end");
    let finding = Finding::hung(pid, Signature::StdinOpen, Mechanism::S1, text);
    let because = format!("{}, and nobody else has the other end", wait.call);
    match &fd.what {
        Object::Fifo { path, .. } => finding.because(format!("{because}; somebody might still open {path}")).ends(
            format!("a line written to {path}; next time, opens it to read only; from outside: {}", end_it(view, pid)),
        ),
        _ => finding.because(because).ends(end_it(view, pid)),
    }
}

fn open(view: &View<'_>, process: &Process, wait: &Wait, writers: &[Pid]) -> Finding {
    let pid = process.pid;
    let (name, kind) = (view.name(pid), view.agent(pid));
    let holders = holders(view, writers);
    let messages =
        kind.is_some_and(|kind| kind.name == "claude") && process.args.iter().any(|arg| arg.contains("stream-json"));
    let hook = hook_of(view, process);
    let input = match process.fd(0).map(|fd| &fd.what) {
        Some(Object::Fifo { path, .. }) => format!("its standard input, the FIFO {path},"),
        _ => "its standard input".to_owned(),
    };
    let mechanism = match (kind, view.agent_above(pid)) {
        _ if hook.is_some() => Mechanism::S3,
        (None, Some(_)) => Mechanism::B1,
        _ => Mechanism::S1,
    };
    let text = if let Some(agent) = hook {
        format!(
            "{name}, a hook of {}, waits for its standard input to end, and {holders} keeps it open",
            view.name(agent)
        )
    } else if messages {
        format!(
            "{name} waits for the next message on its standard input, which {holders} holds open and does not write to"
        )
    } else {
        format!("{name} waits for {input} to end or to say something, and {holders} keeps it open without a word")
    };
    let circle = writers.iter().copied().find(|writer| waits_for(view, *writer, pid).1);
    let who = if writers.is_empty() { "its holder".to_owned() } else { holders.clone() };
    // who has passed its own input on to it
    let is_shell = |process: &Process| ways::SHELLS.contains(&crate::kind::program(process));
    let starter = view.ancestors(pid).filter_map(|above| view.process(above)).find(|above| !is_shell(above));
    let starter = starter.filter(|above| view.after.tree.contains_key(&above.pid) && !writers.contains(&above.pid));
    let start = match starter {
        _ if hook.is_some() => "closes a hook's input behind what it has to say".to_owned(),
        _ if messages => "ends its input once its result is there".to_owned(),
        Some(parent) => format!("{} starts it with </dev/null", view.name(parent.pid)),
        None => "starts it with </dev/null".to_owned(),
    };
    let ends = format!("{who} closes its end or writes to it; next time, {start}; from outside: {}", end_it(view, pid));
    let mut finding = Finding::hung(pid, Signature::StdinOpen, mechanism, text).ends(ends);
    let call = if wait.polled {
        let limit = left(wait.limit).map(|left| format!(", {left} at a time")).unwrap_or_default();
        format!("{} watches descriptor 0{limit}", wait.call)
    } else {
        format!("{}(0) has no time limit", wait.call)
    };
    if wait.polled {
        // in the middle of a turn an agent that would also take a next message waits for something else
        finding = finding.rank(if view.is_in_a_turn(pid) { rank::BELOW } else { rank::LOOP });
    }
    match circle {
        Some(writer) => {
            let because = format!(
                "{call}, and {}, which could end it, waits for {name} itself: they wait for each other",
                view.name(writer)
            );
            if wait.polled { finding.because(because) } else { finding.because(because).certain() }
        }
        None if mechanism == Mechanism::B1 => finding.because(format!(
            "{call}; {who} might still write: a tool server that waits for requests looks the same, where nothing in its name says that it is one"
        )),
        None => finding.because(format!("{call}; {who} might still write")),
    }
}

/// The agent whose hook or status line a process is, or runs for: one of the commands between them has that name.
fn hook_of(view: &View<'_>, process: &Process) -> Option<Pid> {
    let agent = view.agent_above(process.pid)?;
    let between = std::iter::once(process.pid).chain(view.ancestors(process.pid)).take_while(|pid| *pid != agent);
    let called = |arg: &String| {
        let arg = arg.to_ascii_lowercase();
        ["hook", "statusline", "status-line", "status_line"].iter().any(|word| arg.contains(word))
    };
    let is_one = between.filter_map(|pid| view.process(pid)).any(|one| one.args.iter().any(called));
    is_one.then_some(agent)
}

/// An editor without a terminal that has made its own standard error its input: Vim does, on the end of its input
/// (earendil-works/pi#9936).
fn own_error(view: &View<'_>, process: &Process, fd: &Descriptor) -> Option<Finding> {
    let error = process.fd(2)?;
    if !same(&fd.what, &error.what) {
        return None;
    }
    let editor = super::terminal::is_editor(process);
    let written_only = matches!(fd.what, Object::Pipe { .. }) && fd.mode == Mode::Write;
    let output_too = process.fd(1).is_some_and(|one| same(&one.what, &fd.what));
    // a network service is started with one socket as all three streams
    if !(written_only || editor || (matches!(fd.what, Object::Socket { .. }) && !output_too)) {
        return None;
    }
    let name = view.name(process.pid);
    let text =
        format!("{name} had no terminal and reads its own standard error as if it were one: nothing can come there");
    let ends = format!(
        "{}; next time, set GIT_EDITOR=true (or false to refuse), or give it no editor to start",
        end_it(view, process.pid)
    );
    let because = "descriptors 0 and 2 are the same pipe, and it waits for input there";
    Some(
        Finding::hung(process.pid, Signature::EditorOnStderr, Mechanism::B4, text)
            .ends(ends)
            .because(because)
            .certain(),
    )
}
