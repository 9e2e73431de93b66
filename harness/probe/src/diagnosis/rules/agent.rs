//! Agents that we know: what they say of themselves, and what it means when nothing of theirs is under way.
//!
//! Invariant: an open question or permission that the agent itself reports speaks over everything else.

use super::network::connections;
use super::{On, Wait, end_it, left, same};
use crate::data::{Agent, Ask, Object, Process, SocketState};
use crate::diagnosis::Sure;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use crate::kind;

/// A child that began within so many nanoseconds of its agent is a helper: tools come later.
const BESIDE_NS: u64 = 3_000_000_000;

/// What an agent says of itself.
pub fn says(view: &View<'_>, process: &Process) -> Option<Finding> {
    let agent = view.after.agents.iter().find(|agent| agent.pid == process.pid)?;
    let Some(ask) = agent.asks.first() else { return gate(view, process, agent) };
    let pid = process.pid;
    let more = if agent.asks.len() > 1 { format!(" ({} more are open)", agent.asks.len() - 1) } else { String::new() };
    let (signature, what) = if ask.kind == "permission" {
        ("permission-open", format!("the permission {}", quoted(ask)))
    } else {
        ("question-open", format!("the answer to its question {}", quoted(ask)))
    };
    let mechanism = match (ask.kind.as_str(), ask.nested, agent.form.as_str()) {
        ("permission", true, _) => "P2",
        ("permission", _, "sdk") => "P3",
        ("permission", ..) => "P1",
        (_, true, _) => "Q2",
        _ => "Q1",
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
    let finding = Finding::hung(pid, signature, mechanism, text).ends(ends).because(because);
    Some(Finding { sure: Sure::Certain, rank: rank::SAID, ..finding })
}

/// A tool that was called, of which nothing runs, while the agent listens for an answer: its permission prompt, or its
/// question, is open.
fn gate(view: &View<'_>, process: &Process, agent: &Agent) -> Option<Finding> {
    let tool = agent.running.first()?;
    let pid = process.pid;
    if agent.name != "claude"
        || view.living_children(pid).any(|child| !kind::helper(child) && child.began_ns > process.began_ns + BESIDE_NS)
    {
        return None;
    }
    let answers = view.waits(process).into_iter().find_map(|wait| match wait.on {
        On::Input(fd)
            if process.fd(0).is_some_and(|zero| {
                fd == 0 || same(&zero.what, &process.fd(fd).map(|fd| fd.what.clone()).unwrap_or(Object::Null))
            }) =>
        {
            process.fd(fd)
        }
        _ => None,
    })?;
    if !super::network::connections(view, process).is_empty() && view.wants(pid) > 0.05 {
        return None;
    }
    let name = view.name(pid);
    let who = view.other_end(process, answers, true);
    let (name_of_tool, _) = tool.split_once(':').unwrap_or((tool, ""));
    let question = name_of_tool == "AskUserQuestion";
    let (at, mechanism) = match (&answers.what, question) {
        (Object::Tty { path, .. }, true) => (format!("a key at the terminal {path} should bring"), "Q1"),
        (Object::Tty { path, .. }, false) => (format!("a key at the terminal {path} should bring"), "P1"),
        (_, true) => (format!("{} should write to its standard input and does not", view.names(&who)), "Q1"),
        (_, false) => (format!("{} should write to its standard input and does not", view.names(&who)), "P3"),
    };
    let what = if question { "the answer to its question" } else { "the answer to its permission prompt for" };
    let text = format!("{name} waits for {what} “{tool}”, which {at}");
    let answer = match &answers.what {
        Object::Tty { .. } => "an answer typed there",
        _ => "a control_response line there, for that can_use_tool request",
    };
    let ends = format!(
        "{answer}; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: {}",
        end_it(view, pid)
    );
    let because = format!(
        "its transcript has that call without a result, no command of it runs, and it listens on its standard input ({})",
        agent.sources.join(", ")
    );
    let signature = if question { "question-open" } else { "permission-open" };
    Some(Finding::hung(pid, signature, mechanism, text).ends(ends).because(because).rank(rank::SAID))
}

fn quoted(ask: &Ask) -> String {
    if ask.text.is_empty() { ask.id.clone() } else { format!("“{}”", ask.text) }
}

/// An agent of which nothing is under way: no connection, no child, no input.
pub fn idle(view: &View<'_>, process: &Process, waits: &[Wait]) -> Option<Finding> {
    let agent = view.agent(process.pid)?;
    let pid = process.pid;
    let name = view.name(pid);
    let record = view.after.agents.iter().find(|agent| agent.pid == pid);
    let ours = process.fds.iter().filter_map(|fd| view.socket(fd));
    let port = ours
        .filter(|socket| socket.state == SocketState::Listening && !socket.local.is_empty())
        .map(|socket| &socket.local)
        .next();
    let busy = record.and_then(|record| record.busy).unwrap_or(0);
    if kind::serves(process) && busy == 0 {
        let at = port.map(|port| format!(" at {port}")).unwrap_or_default();
        let text = format!("{name} waits for requests{at}");
        return Some(Finding::waiting(pid, "serves", rank::SERVES, text).ends("a request"));
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
        let finding = Finding::hung(pid, "oauth-callback", "X4", text).ends(ends);
        return Some(finding.because("a listening socket, no connection, no child"));
    }
    if !connections(view, process).is_empty() {
        return None;
    }
    let timer = waits.iter().filter(|wait| wait.on == On::Clock).find_map(|wait| left(wait.limit));
    let timer = timer.map(|left| format!(", its nearest timer {left}")).unwrap_or_default();
    let text = format!("{name} has nothing under way: no connection to a model, no child, no input that it waits for");
    let ends = format!("nothing in sight; {}", end_it(view, pid));
    let ended = record.is_some_and(|record| record.turn == "ended");
    if ended {
        let text = format!("{name} has finished its turn and does not exit");
        return Some(
            Finding::hung(pid, "alive-after-result", "H1", text)
                .ends(ends)
                .because("its own record ends with a finished turn"),
        );
    }
    let finding = Finding::hung(pid, "no-connection", "M8", text).ends(ends);
    Some(finding.because(format!(
        "it waits inside itself{timer}: an answer that nobody gives, or an event that got lost, look like this"
    )))
}
