//! Checks what an agent states about itself against what came over its wire.
//!
//! Invariant: a verdict rests on facts that the wire confirms. An ask that a client saw and that no process stated, or
//! one whose end on the wire is not the stated one, is a fault of the fake and so an internal error (exit 70), never a
//! verdict. A delayed or doubled event is not an error, and neither is a stated ask that no client saw, since events
//! may be lost. Claude Code's control requests are lines of its stdout: what it asks a host for is a stated ask, and
//! what it takes back has ended. Ids can occur again in the next run, which may begin in the same instant: it is enough
//! that one ask of an id fits.

use crate::index::{Ask, Does, End, Request};
use crate::view::View;
use rehang_scenario::VTime;
use rehang_trace::{AskEnd, Json, What, role::same_agent};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The longest line that can be the protocol's, in bytes: twice what a tool's input may hold.
const LINE_MAX_BYTES: usize = 1 << 20;

/// The first contradiction between facts and wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at {at}: {why}")]
pub struct Inconsistent {
    /// The instant at which it shows.
    pub at: VTime,
    /// The contradiction in one sentence.
    pub why: String,
}

/// Compares facts with events and lists.
///
/// # Errors
/// The first thing that does not fit.
pub fn crosscheck(view: &View<'_>) -> Result<(), Inconsistent> {
    if let Some((who, id, at)) = view.index.stray_ends.first() {
        return Err(Inconsistent {
            at: at.t,
            why: format!("{who} states the end of ask `{id}`, which it never stated to open"),
        });
    }
    let mut lines = Lines::default();
    let mut callbacks = BTreeSet::new();
    for event in &view.trace.events {
        let checked = match &event.what {
            What::Out { fd: 1, text } if speaks_control(view, &event.who) => {
                lines.take(&event.who, text, |message| control(view, event.t, message, &mut callbacks))
            }
            What::Sse(value) if value.kind().contains("question.") || value.kind().contains("permission.") => {
                sse(view, event.t, value)
            }
            What::Response { id, status: 200, body } => listed(view, *id, event.t, body),
            _ => Ok(()),
        };
        checked.map_err(|misfit| Inconsistent { at: event.t, why: format!("{} {misfit}", event.who) })?;
    }
    Ok(())
}

/// Why what a party sees, lists or asks does not fit what was stated: the rest of a sentence about them.
#[derive(Debug, thiserror::Error)]
enum Misfit {
    /// They name no ask.
    #[error("{does} without an id")]
    NoId {
        /// What they do.
        does: String,
    },
    /// No process stated such an ask by then.
    #[error("{does} `{id}`, which no process stated")]
    Unstated {
        /// What they do with the ask.
        does: String,
        /// The id of the ask.
        id: String,
    },
    /// A list has an ask that no process stated by then.
    #[error("finds `{0}` in a list, which no process stated")]
    Listed(String),
    /// The ask has not ended like that.
    #[error("{does} `{id}`, which by its process is {so_far}")]
    Otherwise {
        /// What they do with the ask.
        does: String,
        /// The id of the ask.
        id: String,
        /// How the ask is stated to be, in one word.
        so_far: String,
    },
}

fn sse(view: &View<'_>, t: VTime, value: &Value) -> Result<(), Misfit> {
    let Some(kind) = value.get("type").and_then(Value::as_str) else { return Ok(()) };
    let text = |key: &str| value.pointer(&format!("/properties/{key}")).and_then(Value::as_str);
    let no_id = || Misfit::NoId { does: format!("sees {kind}") };
    let unstated = |id: &str| Misfit::Unstated { does: format!("sees {kind} for"), id: id.to_owned() };
    let ends: &[AskEnd] = match kind {
        "question.asked" | "permission.asked" | "permission.updated" => {
            let id = text("id").ok_or_else(no_id)?;
            return stated(view, id, t).next().map(drop).ok_or_else(|| unstated(id));
        }
        "question.replied" => &[AskEnd::Replied, AskEnd::Skipped],
        "question.rejected" => &[AskEnd::Rejected],
        "permission.replied" if text("reply").or(text("response")) == Some("reject") => &[AskEnd::Rejected],
        "permission.replied" => &[AskEnd::Replied, AskEnd::Skipped],
        _ => return Ok(()),
    };
    let id = text("requestID").or(text("permissionID")).ok_or_else(no_id)?;
    let fits = |ask: &Ask<'_>| ask.ends.iter().any(|end| end.at.t <= t && ends.contains(&end.end));
    let mut asks = stated(view, id, t).peekable();
    let last = *asks.peek().ok_or_else(|| unstated(id))?;
    match asks.any(fits) {
        true => Ok(()),
        false => Err(Misfit::Otherwise { does: format!("sees {kind} for"), id: id.to_owned(), so_far: so_far(last) }),
    }
}

fn listed(view: &View<'_>, request: u32, t: VTime, body: &Json) -> Result<(), Misfit> {
    let Some(request) = view.index.requests.get(request) else { return Ok(()) };
    for id in listed_ids(request, body) {
        stated(view, id, t).next().ok_or_else(|| Misfit::Listed(id.to_owned()))?;
    }
    Ok(())
}

/// The asks that a response lists; none if the request was for something else, and then its body is not read.
pub(crate) fn listed_ids<'a>(request: &Request<'_>, body: &'a Json) -> impl Iterator<Item = &'a str> + use<'a> {
    let rows = if request.does == Does::ListAsks { body.as_array() } else { None };
    let id = |row: &'a Value| row.get("requestID").or(row.get("id")).and_then(Value::as_str);
    rows.into_iter().flatten().filter_map(id)
}

/// Whether this process speaks the control protocol on its stdout.
fn speaks_control(view: &View<'_>, who: &str) -> bool {
    let argv = view.index.processes.get(same_agent(who)).map(|process| process.argv);
    argv.and_then(<[String]>::first).is_some_and(|name| name.ends_with("claude"))
}

/// What a host is asked, or is no longer asked. `callbacks` are the requests for which it is called as a hook: nobody is
/// asked by them.
fn control(view: &View<'_>, t: VTime, message: &Value, callbacks: &mut BTreeSet<String>) -> Result<(), Misfit> {
    let text = |at: &str| message.pointer(at).and_then(Value::as_str);
    if text("/request/subtype") == Some("hook_callback") {
        callbacks.extend(text("/request_id").map(str::to_owned));
    }
    let asks = text("/type") == Some("control_request") && text("/request/subtype") == Some("can_use_tool");
    let cancels = text("/type") == Some("control_cancel_request");
    if !asks && !cancels {
        return Ok(());
    }
    let does = || String::from(if asks { "asks by can_use_tool" } else { "takes back" });
    let id = text("/request_id").ok_or_else(|| Misfit::NoId { does: does() })?;
    if callbacks.contains(id) {
        return Ok(());
    }
    let gone = |end: &End<'_>| end.at.t <= t && matches!(end.end, AskEnd::Rejected | AskEnd::Dropped);
    let mut stated = stated(view, id, t).peekable();
    let last = *stated.peek().ok_or_else(|| Misfit::Unstated { does: does(), id: id.to_owned() })?;
    match asks || stated.any(|ask| ask.ends.iter().any(gone)) {
        true => Ok(()),
        false => Err(Misfit::Otherwise { does: does(), id: id.to_owned(), so_far: so_far(last) }),
    }
}

/// Chunks of output, joined into lines; a line is a message if it is a JSON object.
#[derive(Default)]
struct Lines<'a> {
    begun: BTreeMap<&'a str, String>,
}

impl<'a> Lines<'a> {
    fn take(
        &mut self,
        who: &'a str,
        text: &str,
        mut check: impl FnMut(&Value) -> Result<(), Misfit>,
    ) -> Result<(), Misfit> {
        let begun = self.begun.entry(who).or_default();
        for piece in text.split_inclusive('\n') {
            if begun.len() <= LINE_MAX_BYTES {
                begun.push_str(piece);
            }
            if !piece.ends_with('\n') {
                continue;
            }
            let line = std::mem::take(begun);
            // most lines are no control messages, and need not be read
            if line.starts_with('{')
                && line.contains("\"control_")
                && let Ok(message) = serde_json::from_str(&line)
            {
                check(&message)?;
            }
        }
        Ok(())
    }
}

/// The stated state of an ask, in one word.
fn so_far(ask: &Ask<'_>) -> String {
    ask.ends.first().map_or("open".to_owned(), |end| format!("{:?}", end.end).to_lowercase())
}

/// The asks of this id that were opened by then, the last one first.
fn stated<'v>(view: &'v View<'_>, id: &str, t: VTime) -> impl Iterator<Item = &'v Ask<'v>> {
    view.index.asks.iter().rev().filter(move |ask| ask.id == id && ask.opened.t <= t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use crate::{Index, verdict};
    use expect_test::expect;
    use rehang_trace::{AskEnd, Cause};
    use serde_json::json;

    fn check(cell: Cell) -> String {
        let (trace, facts) = (cell.trace(), facts("none"));
        let (index, verdict) = (Index::of(&trace), verdict(&trace, &facts));
        let view = View { trace: &trace, facts: &facts, index: &index, verdict: &verdict, baseline: None };
        crosscheck(&view).map_or_else(|error| error.to_string(), |()| "fits".into())
    }

    #[test]
    fn what_the_wire_says_must_have_been_stated() {
        let asked = |cell: Cell| cell.sse("question.asked", json!({"id": "que_1"}));
        expect!["at 0ms: client sees question.asked for `que_1`, which no process stated"]
            .assert_eq(&check(asked(Cell::new())));
        let stated = || Cell::new().started().ask("que_1", "ses_1");
        // Events may come late and twice.
        expect!["fits"].assert_eq(&check(asked(asked(stated().at(900)))));
        let rejected = |cell: Cell| cell.at(9).sse("question.rejected", json!({"requestID": "que_1"}));
        expect!["at 9ms: client sees question.rejected for `que_1`, which by its process is open"]
            .assert_eq(&check(rejected(stated())));
        let end = |end, cause| stated().end("que_1", end, cause, "user", &[]);
        expect!["at 9ms: client sees question.rejected for `que_1`, which by its process is replied"]
            .assert_eq(&check(rejected(end(AskEnd::Replied, Cause::Answer))));
        expect!["fits"].assert_eq(&check(rejected(end(AskEnd::Rejected, Cause::Dismiss))));
    }

    #[test]
    fn a_permission_denied_is_rejected() {
        let replied = |reply: &str, end| {
            let cell = Cell::new().started().permit("per_1").end("per_1", end, Cause::Answer, "user", &[]);
            check(cell.sse("permission.replied", json!({"requestID": "per_1", "reply": reply})))
        };
        assert_eq!(replied("once", AskEnd::Replied), "fits");
        assert_eq!(replied("reject", AskEnd::Rejected), "fits");
        expect!["at 0ms: client sees permission.replied for `per_1`, which by its process is replied"]
            .assert_eq(&replied("reject", AskEnd::Replied));
    }

    #[test]
    fn lists_are_crossed_too() {
        let list = |path: &str| {
            let cell = Cell::new().request("person1", 1, "GET", path);
            check(cell.at(1).respond("person1", 1, 200, json!([{"id": "que_9"}])))
        };
        expect!["at 1ms: person1 finds `que_9` in a list, which no process stated"]
            .assert_eq(&list("/question?directory=x"));
        expect!["fits"].assert_eq(&list("/session"));
    }

    #[test]
    fn what_a_host_is_asked_must_have_been_stated() {
        let claude = || {
            let argv = vec!["fake-claude".to_owned(), "-p".to_owned()];
            Cell::new().add("agent", What::Spawn { parent: String::new(), argv })
        };
        let out = |cell: Cell, text: &str| cell.add("agent", What::Out { fd: 1, text: text.into() });
        let request = |id: &str| {
            let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}});
            format!("{}\n", json!({"type": "control_request", "request_id": id, "request": request}))
        };
        let cancel = |id: &str| format!("{}\n", json!({"type": "control_cancel_request", "request_id": id}));
        expect!["at 0ms: agent asks by can_use_tool `req_1`, which no process stated"]
            .assert_eq(&check(out(claude(), &request("req_1"))));
        let asked = || out(claude().permit("req_1"), &request("req_1"));
        expect!["fits"].assert_eq(&check(asked()));
        // a line can come in any chunks, after other lines
        let whole = format!("hello\n{{}}\n{}", request("req_2"));
        let in_chunks = whole.split_inclusive([',', 'o']).fold(claude(), out);
        expect!["at 0ms: agent asks by can_use_tool `req_2`, which no process stated"].assert_eq(&check(in_chunks));
        // the stated end is the one that the host is told
        expect!["at 9ms: agent takes back `req_1`, which by its process is open"]
            .assert_eq(&check(out(asked().at(9), &cancel("req_1"))));
        let end = |end| asked().end("req_1", end, Cause::Stop, "user", &[]).at(9);
        expect!["fits"].assert_eq(&check(out(end(AskEnd::Rejected), &cancel("req_1"))));
        expect!["at 9ms: agent takes back `req_1`, which by its process is replied"]
            .assert_eq(&check(out(end(AskEnd::Replied), &cancel("req_1"))));
        expect!["at 9ms: agent takes back `req_2`, which no process stated"]
            .assert_eq(&check(out(end(AskEnd::Rejected), &cancel("req_2"))));
        // a next run asks with the same id, in the same instant
        expect!["fits"].assert_eq(&check(out(end(AskEnd::Rejected), &cancel("req_1")).permit("req_1")));
        // a host that is called as a hook is not asked
        let hook = json!({"subtype": "hook_callback", "callback_id": "before"});
        let called = format!("{}\n", json!({"type": "control_request", "request_id": "req_1", "request": hook}));
        expect!["fits"].assert_eq(&check(out(out(claude(), &called), &cancel("req_1"))));
        // another program may print anything
        expect!["fits"].assert_eq(&check(out(Cell::new().spawn("agent"), &request("req_1"))));
    }

    #[test]
    fn an_end_without_a_begin() {
        let cell = Cell::new().end("que_1", AskEnd::Replied, Cause::Answer, "user", &[]);
        expect!["at 0ms: agent states the end of ask `que_1`, which it never stated to open"].assert_eq(&check(cell));
    }
}
