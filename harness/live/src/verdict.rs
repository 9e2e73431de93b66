//! What a cell's end means.
//!
//! Invariant: the innermost cause is named. The words are those of the other stages' judge, and three more: `start` (the
//! agent has not asked its model once), `task` (a subagent of which nothing can be seen) and `hot-loop` (it asks its
//! model without end, or computes without end where nothing else is open).

use crate::pending::Owed;
use crate::processes::Command;
use crate::report::{Ask, Exit, Outcome};
use crate::spec::CellSpec;
use crate::watch::Watch;
use rehang_agents::{Form, Means};
use rehang_scenario::Terminal;
use rehang_scenario::turns::Turn;

/// The outcome of an agent that is over.
pub fn ended(watch: &Watch, exit: Exit, stopped: Option<&str>) -> Outcome {
    if let Some(cause) = stopped {
        return Outcome::Stopped { cause: cause.to_owned() };
    }
    let failed = |reason: String| Outcome::Failed { reason };
    match exit {
        Exit::Code(0) => match (watch.ledger.reached(), watch.said) {
            (Err(never), _) => failed(never.to_string()),
            (_, Some(Means::Fails)) => failed("it says so".to_owned()),
            _ => Outcome::Completed,
        },
        Exit::Code(code) => failed(format!("exit code {code}")),
        Exit::Signal(signal) => failed(format!("signal {signal}")),
    }
}

/// What a hung agent is blocked on; `asks` are those that are known to be open.
pub fn blocked_on(watch: &Watch, order: &CellSpec, asks: &[Ask]) -> String {
    let (now, _) = watch.looks();
    let (main, left) = now.map(|look| look.tools()).unwrap_or_default();
    if watch.exited.is_some() {
        // it is over, and another process holds its output
        return "pipe".to_owned();
    }
    if let Some(ask) = asks.first() {
        return ask.kind.clone();
    }
    let writes = now.is_some_and(|look| look.is_writing());
    let word = match watch.pending.owed(&order.scenario.turns) {
        _ if writes => "pipe",
        _ if watch.repeats() => "hot-loop",
        Owed::Nothing | Owed::Broken(_) | Owed::Done if watch.is_hot() && main.is_empty() => "hot-loop",
        Owed::Nothing if !main.is_empty() || !left.is_empty() => "child",
        Owed::Nothing => match order.sandbox.terminal {
            Terminal::Pipe if order.form == Form::Run => "stdin",
            Terminal::Tty => "tty",
            _ => "start",
        },
        Owed::Response | Owed::Silence | Owed::Broken(_) => "model",
        Owed::Results(calls) => results(&calls, &main, &left, watch.called()),
        Owed::Done if order.form == Form::Serve => "event",
        Owed::Done => "exit",
    };
    word.to_owned()
}

fn results(calls: &[Turn], main: &[Command], left: &[Command], called: bool) -> &'static str {
    if let Some(command) = main.first() {
        return match command {
            Command::ReadsStdin => "stdin",
            Command::ReadsTty => "tty",
            Command::Stopped => "stopped",
            Command::Works | Command::Holds => "bash",
        };
    }
    // what lives beside a call of a tool server is the server
    if !left.is_empty() && !matches!(calls.first(), Some(Turn::Permit(_))) {
        return "pipe";
    }
    match calls.first() {
        Some(Turn::Ask(_)) => "question",
        Some(Turn::Bash(bash)) if bash.asks.is_some() && !called => "permission",
        Some(Turn::Bash(_)) => "bash",
        Some(Turn::Task(_)) => "task",
        _ => "tool",
    }
}

/// The asks that follow from calls of the model whose result it was never told: an agent without a wire shows no
/// others.
pub fn asks(watch: &Watch, order: &CellSpec) -> Vec<Ask> {
    let Owed::Results(calls) = watch.pending.owed(&order.scenario.turns) else { return Vec::new() };
    let ask = |kind: &str, about: String| Ask {
        kind: kind.to_owned(),
        id: String::new(),
        about,
        known_by: "call".to_owned(),
    };
    let busy = watch.looks().0.is_some_and(|look| {
        let (main, left) = look.tools();
        !main.is_empty() || !left.is_empty()
    });
    calls
        .iter()
        .filter_map(|call| match call {
            Turn::Ask(questions) => {
                Some(ask("question", questions.iter().map(|q| q.question.as_str()).collect::<Vec<_>>().join(" ")))
            }
            Turn::Bash(bash) if bash.asks.is_some() && !watch.called() && !busy => {
                Some(ask("permission", bash.command.clone()))
            }
            _ => None,
        })
        .collect()
}
