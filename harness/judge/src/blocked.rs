//! What a hung cell is blocked on, in one word.
//!
//! Invariant: the innermost cause is named: if an agent's bash tool runs a child that reads stdin, it is `stdin`, not
//! `bash`. What the processes say they wait for (the labels of a proof) and what they state about themselves are read
//! together. The first row that holds:
//!
//! | word | when |
//! |---|---|
//! | `stopped` | the agent, or a process that its wait leads to, is stopped by a signal (SIGTTIN, SIGTTOU, SIGSTOP): see [`crate::leads`] |
//! | `exit` | the agent's result of this run is out and its process lives on |
//! | `question`, `permission` | an ask is open in a session that is not idle, or for which an editor's agent waits; the earliest opened |
//! | `stdin`, `tty`, `pipe` | a child of a running bash tool waits for it; `pipe` too if the tool waits though its own child is gone and a grandchild lives, which then holds the pipe |
//! | `bash` | another running bash tool; or one that has ended, and its result is not taken up |
//! | `stdin`, `tty`, `pipe` | the agent itself waits for it; or it waits for a child, and what that one started does |
//! | `pipe` | the agent is over, and its wrapper still waits for the end of its output: a process that it left holds the pipe, or nobody reads it |
//! | `model` | a request to the model has no end, or it failed and a busy session is about to ask again; not if the agent's event loop is stuck |
//! | `tool` | another tool runs that neither asks nor starts an agent |
//! | `message` | the agent waits for its host in the middle of a turn: for the answer of a hook |
//! | `worker` | a party waits for the companion's worker |
//! | `post` | a client's prompt has no response, though the server is idle or its last step ended regularly |
//! | `event` | a client waits for an event, though the server is idle, its last step ended regularly, or it is gone |
//! | `spin` | the state repeats within one instant: steps are taken without time passing |
//! | – | otherwise the agent's own label, else the first label, else `unknown` |

use crate::cell::CellFacts;
use crate::index::{Ask, Index};
use crate::leads::{self, is_below};
use rehang_scenario::BlockedOn;
use rehang_trace::{
    AskKind, Ended,
    role::{Actor, actor, same_agent},
};

/// What a cell that was not settled is blocked on.
pub fn blocked_on(index: &Index<'_>, facts: &CellFacts) -> BlockedOn {
    let waits = waits(index);
    let label = |role: &str| waits.iter().find(|(who, _)| *who == role).map(|&(_, on)| plain(on));
    let rules: [&dyn Fn() -> Option<&'static str>; 12] = [
        &|| leads::to_stopped(index, &waits).then_some("stopped"),
        &|| exit(index, facts, label("agent")),
        &|| ask(index, label("agent").filter(|_| waits.contains(&("client", "reply")))),
        &|| bash(index, &waits),
        &|| label("agent").filter(|on| matches!(*on, "stdin" | "tty" | "pipe")).and_then(known),
        &|| label("agent").filter(|on| *on == "child").and_then(|_| below("agent", &waits)),
        &|| held(index, label("wrapper")),
        &|| {
            (reads_model(index, label("agent")) && index.sessions.iter().any(|s| asks_model(s, index)))
                .then_some("model")
        },
        &|| index.running_tools().any(|tool| is_plain(tool.tool)).then_some("tool"),
        &|| (label("agent") == Some("message") && in_turn(index)).then_some("message"),
        &|| client(index, &waits),
        &|| spins(index).then_some("spin"),
    ];
    if let Some(word) = rules.iter().find_map(|rule| rule()) {
        return BlockedOn::of(word).unwrap_or(BlockedOn::Unknown);
    }
    let said = label("agent").or_else(|| waits.first().map(|&(_, on)| plain(on)));
    said.and_then(BlockedOn::of).unwrap_or(BlockedOn::Unknown)
}

/// Whether a tool ends by itself, without a person or a subagent.
fn is_plain(tool: &str) -> bool {
    !["bash", "question", "askuserquestion", "task", "agent"].iter().any(|other| tool.eq_ignore_ascii_case(other))
}

fn waits<'a>(index: &Index<'a>) -> Vec<(&'a str, &'a str)> {
    match index.ended {
        Some((_, Ended::Deadlock(waits) | Ended::Lasso { waits, .. })) => {
            waits.iter().map(|(who, on)| (same_agent(who), on.as_str())).collect()
        }
        _ => Vec::new(),
    }
}

/// A label in the words of the table: a stream that cannot be written is a full pipe.
fn plain(on: &str) -> &str {
    match on {
        "stdout" | "stderr" | "write" | "drain" | "full-pipe" => "pipe",
        "terminal" | "screen" => "tty",
        on => on,
    }
}

fn known(word: &str) -> Option<&'static str> {
    ["stdin", "tty", "pipe", "bash"].into_iter().find(|known| *known == word)
}

fn spins(index: &Index<'_>) -> bool {
    matches!(index.ended, Some((_, Ended::Lasso { cycle_ms: 0, .. })))
}

fn exit(index: &Index<'_>, facts: &CellFacts, agent: Option<&str>) -> Option<&'static str> {
    let out = index.results.iter().any(|&(who, at, ..)| who == "agent" && index.of_last_run(at));
    let out = out && !facts.server && index.alive("agent");
    // A result that cannot be written is not out.
    (out && agent != Some("pipe")).then_some("exit")
}

fn ask(index: &Index<'_>, agent: Option<&str>) -> Option<&'static str> {
    let end = index.ended.map_or(rehang_scenario::VTime(u64::MAX), |(at, _)| at.t);
    let word = |kind: AskKind| match kind {
        AskKind::Question => "question",
        AskKind::Permission => "permission",
    };
    let blocks = |ask: &&Ask<'_>| {
        index.busy(ask.who, ask.session, end) != Some(false) || (ask.who == "agent" && agent == Some(word(ask.kind)))
    };
    index.open_asks().find(blocks).map(|ask| word(ask.kind))
}

fn bash(index: &Index<'_>, waits: &[(&str, &str)]) -> Option<&'static str> {
    let is_bash = |tool: &str| tool.eq_ignore_ascii_case("bash");
    if let Some(tool) = index.running_tools().find(|tool| is_bash(tool.tool)) {
        let child = below(tool.who, waits);
        if child.is_some() {
            return child;
        }
        let below = |role: &str| is_below(role, tool.who);
        let depth = |role: &str| role.matches('.').count();
        let alive = |deep: fn(usize, usize) -> bool| {
            let mut all = index.processes.iter().filter(|(role, process)| below(role) && process.ended.is_none());
            all.any(|(role, _)| deep(depth(role), depth(tool.who) + 1))
        };
        return Some(if alive(|d, child| d > child) && !alive(|d, child| d == child) { "pipe" } else { "bash" });
    }
    let last = index.tools.last().filter(|t| is_bash(t.tool) && index.alive(t.who))?;
    let ended = last.ends.last()?.0;
    let session = index.sessions.iter().find(|s| s.who == last.who && s.id == last.session)?;
    let taken_up = session.steps.iter().any(|&(at, _)| at > ended);
    (!taken_up && session.busy.last().is_some_and(|&(_, busy)| busy)).then_some("bash")
}

/// What a process below this one waits for that none of its own processes gives.
fn below(above: &str, waits: &[(&str, &str)]) -> Option<&'static str> {
    let mut labels = waits.iter().filter(|(who, _)| is_below(who, above)).map(|(_, on)| plain(on));
    labels.find_map(|on| known(on).filter(|on| *on != "bash"))
}

fn held(index: &Index<'_>, wrapper: Option<&str>) -> Option<&'static str> {
    (wrapper.is_some() && index.processes.contains_key("agent") && !index.alive("agent")).then_some("pipe")
}

/// Whether the agent is in the middle of a turn.
fn in_turn(index: &Index<'_>) -> bool {
    let busy = |session: &crate::index::Session<'_>| session.busy.last().is_some_and(|&(_, busy)| busy);
    index.sessions.iter().any(|session| session.who == "agent" && busy(session))
}

/// Whether the agent would read what its model says: if its event loop is stuck, it would not.
fn reads_model(index: &Index<'_>, agent: Option<&str>) -> bool {
    index.alive("agent") && agent != Some("nothing")
}

fn asks_model(session: &crate::index::Session<'_>, index: &Index<'_>) -> bool {
    let busy = session.busy.last().is_some_and(|&(_, busy)| busy);
    let asks = |step: &Option<&str>| step.is_none_or(|finish| finish == "error" && busy);
    index.alive(session.who) && session.steps.last().is_some_and(|(_, step)| asks(step))
}

fn client(index: &Index<'_>, waits: &[(&str, &str)]) -> Option<&'static str> {
    if waits.iter().any(|&(who, on)| who == "worker" || on == "worker" || on == "job") {
        return Some("worker");
    }
    let outside = |who: &str| matches!(actor(who), Actor::Client | Actor::Strategy);
    if !waits.iter().any(|(who, _)| outside(who)) {
        return None;
    }
    let mut open = index.requests.iter().filter(|r| outside(r.who) && r.response.is_none() && r.failed.is_none());
    Some(if index.alive("agent") && open.any(|r| r.method == "POST") { "post" } else { "event" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use rehang_trace::{AskEnd, Cause, RunEnd, What};

    fn on(cell: Cell, waits: &[(&str, &str)]) -> String {
        let trace = cell.deadlock(waits).trace();
        blocked_on(&Index::of(&trace), &facts("none")).word().to_owned()
    }

    #[test]
    fn an_open_ask_and_none_that_is_over() {
        let asked = Cell::new().started().ask("que_1", "ses_1");
        assert_eq!(on(asked.clone(), &[("agent", "question"), ("client", "event")]), "question");
        assert_eq!(on(Cell::new().started().permit("per_1"), &[("agent", "client")]), "permission");
        // in the Agent Client Protocol an agent whose session was cancelled can still wait for one
        let cancelled = Cell::new().started().permit("per_1").busy("ses_1", false);
        assert_eq!(on(cancelled, &[("agent", "permission"), ("client", "reply")]), "permission");
        // An ask of a session that was aborted blocks nothing: the client waits for an event.
        assert_eq!(on(asked.clone().busy("ses_1", false), &[("agent", "client"), ("client", "event")]), "event");
        let ended = asked.end("que_1", AskEnd::Replied, Cause::Answer, "user", &["A"]).step("", "stop");
        assert_eq!(on(ended, &[("agent", "client"), ("client", "event")]), "event");
    }

    #[test]
    fn a_running_tool_is_named_by_its_innermost_cause() {
        let bash = || Cell::new().started().tool("call_1", "bash").spawn("agent.1");
        assert_eq!(on(bash(), &[("agent", "bash"), ("agent.1", "hold")]), "bash");
        assert_eq!(on(bash(), &[("agent", "bash"), ("agent.1", "stdin")]), "stdin");
        assert_eq!(on(bash(), &[("agent", "bash"), ("agent.1", "stderr")]), "pipe");
        let edit = Cell::new().started().tool("call_1", "edit").post("client", 1, "/session/ses_1/message");
        assert_eq!(on(edit, &[("agent", "client"), ("client", "post")]), "tool");
        let orphan = || bash().spawn("agent.1.1");
        assert_eq!(on(orphan(), &[("agent", "bash")]), "bash");
        assert_eq!(on(orphan().exit("agent.1", 0), &[("agent", "bash")]), "pipe");
        // The tool has ended, but its state has not.
        assert_eq!(on(bash().exit("agent.1", 0), &[("agent", "client")]), "bash");
        // The state has ended, and its result is not taken up.
        let lost = bash().exit("agent.1", 0).tool_end("call_1", "done");
        assert_eq!(on(lost.clone(), &[("agent", "client")]), "bash");
        assert_eq!(on(lost.step("ok", "stop"), &[("agent", "client"), ("client", "event")]), "event");
        let asked = bash().add("agent.1", What::Stopped("TTIN".into()));
        assert_eq!(on(asked.clone(), &[("agent", "bash")]), "stopped");
        assert_eq!(on(asked.add("agent.1", What::Continued), &[("agent", "bash")]), "bash");
    }

    #[test]
    fn a_stopped_process_that_nobody_waits_for_is_not_what_it_hangs_on() {
        let job = |cell: Cell| cell.spawn("agent.1").add("agent.1", What::Stopped("STOP".into()));
        let reads = job(Cell::new().at(0).spawn("agent"));
        assert_eq!(on(reads, &[("agent", "stdin"), ("agent.1", "stopped"), ("wrapper", "exit")]), "stdin");
        let asks = job(Cell::new().started()).ask("que_1", "ses_1");
        assert_eq!(on(asks, &[("agent", "question"), ("agent.1", "stopped"), ("client", "post")]), "question");
        let frozen = Cell::new().started().add("agent", What::Stopped("STOP".into()));
        assert_eq!(on(frozen, &[("agent", "stopped"), ("client", "post")]), "stopped");
    }

    #[test]
    fn the_agent_itself_and_its_surroundings() {
        let up = || Cell::new().at(0).spawn("agent");
        assert_eq!(on(up(), &[("agent", "stdin"), ("wrapper", "output")]), "stdin");
        assert_eq!(on(up(), &[("agent", "stderr"), ("wrapper", "output")]), "pipe");
        let asked = rehang_trace::Fact::ModelAsked { session: "ses_1".into(), response: 1 };
        assert_eq!(on(up().fact(asked.clone()), &[("agent", "model")]), "model");
        let mute = up().fact(asked).post("client", 1, "/session/ses_1/message");
        assert_eq!(on(mute, &[("agent", "nothing"), ("client", "post")]), "post", "its event loop is stuck");
        assert_eq!(on(up().result("Hi"), &[("agent", "client")]), "exit");
        assert_eq!(on(up().result("Hi"), &[("agent", "stdout")]), "pipe");
        let over = What::RunOver { outcome: RunEnd::Completed, cause: String::new(), text: String::new() };
        let again = up().result("Hi").exit("agent", 0).add("wrapper", over).spawn("agent");
        assert_eq!(on(again.clone(), &[("agent", "child")]), "child", "the result is an earlier run's");
        assert_eq!(on(again.result("Hi"), &[("agent", "child")]), "exit");
        let post = up().post("client", 1, "/session/ses_1/message");
        assert_eq!(on(post.clone(), &[("agent", "client"), ("client", "post")]), "post");
        assert_eq!(on(post.killed("agent", "KILL"), &[("client", "post")]), "event");
        assert_eq!(on(up(), &[("agent", "client"), ("client", "job"), ("worker", "")]), "worker");
        let left = || up().spawn("agent.1").exit("agent", 0);
        assert_eq!(on(left(), &[("agent.1", "nothing"), ("wrapper", "exit")]), "pipe");
        assert_eq!(on(left().exit("agent.1", 0), &[("wrapper", "exit")]), "pipe", "nobody reads it");
        let runs = || up().spawn("agent.1");
        assert_eq!(on(runs(), &[("agent", "child"), ("agent.1", "stdin")]), "stdin");
        assert_eq!(on(runs(), &[("agent", "child"), ("agent.1", "nothing")]), "child");
        assert_eq!(on(up(), &[("agent", "nothing")]), "nothing");
        assert_eq!(on(up(), &[("agent", "queue")]), "unknown", "no word of a file");
        assert_eq!(on(up(), &[]), "unknown");
        let cycle = |cycle_ms| {
            let waits = vec![("agent".to_owned(), "timer".to_owned())];
            let trace = up().add("", What::Ended(Ended::Lasso { waits, cycle_ms })).trace();
            blocked_on(&Index::of(&trace), &facts("none"))
        };
        assert_eq!((cycle(0), cycle(1)), (BlockedOn::Spin, BlockedOn::Timer));
    }
}
