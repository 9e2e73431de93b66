//! Invariant 9: Nobody speaks for the user: no text that a model, a caller or a transcript reads says that a user
//! answered, refused or interrupted, unless a person did.
//!
//! Invariant: the texts are those of [`attribution`], which the fakes emit. A tool's result is compared with the ask
//! that it waited for: who really ended it, and whether a person did what the text says while it was open. If the call
//! waited for no ask, a person's deed during the call is enough. A program is not a person: neither a strategy, nor a
//! client that rejects by itself, nor the agent. A person who allows has not answered, unless by a key that chooses, and
//! one whose answer did not fit has not dismissed. Any other text (output, events, responses, what strategies say)
//! counts only if no tool's result says the same, since it would repeat it.

use crate::acts::first_word;
use crate::index::{Act, Ask, At, Did, Does, End, Tool};
use crate::verdict::Breach;
use crate::view::View;
use rehang_scenario::Invariant;
use rehang_scenario::VTime;
use rehang_scenario::attribution::{Attribution, Deed, Place, said_in, said_in_result};
use rehang_trace::{
    AskEnd, Fact, What,
    role::{Actor, actor},
};
use std::collections::BTreeSet;

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut breaches = results(view, &mut told);
    breaches.extend(preempted(view, &mut told));
    breaches.extend(elsewhere(view, &told));
    breaches.sort_by_key(|breach| breach.at);
    breaches
}

fn breach(at: At, why: String) -> Breach {
    Breach::new(Invariant::AttributedToUser, at, why)
}

/// What the results of tools say.
fn results<'a>(view: &View<'a>, told: &mut BTreeSet<&'a str>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut taken: BTreeSet<At> = BTreeSet::new();
    for tool in &view.index.tools {
        for &(at, _, text) in &tool.ends {
            let said: Vec<&Attribution> = said_in_result(text).filter(|said| is_own(tool, said)).collect();
            told.extend(said.iter().map(|said| said.text));
            let Some(said) = said.first() else { continue };
            let from = if tool.tool.is_empty() { VTime::ZERO } else { tool.began.t };
            let why = match ask_of(view, tool, at, text, said.deed, &mut taken) {
                Some((ask, end)) => unfounded_end(view, ask, end, said.deed),
                None => (!person_did(view, said.deed, from, at)).then(|| "nobody did".to_owned()),
            };
            if let Some(why) = why {
                let (who, deed, call) = (tool.who, said.deed.word(), tool.call);
                breaches
                    .push(breach(at, format!("{who} tells the model that the user {deed}, and {why} (call `{call}`)")));
            }
        }
    }
    breaches
}

/// Whether the tool itself says it: the result of a command quotes whatever the command prints.
fn is_own(tool: &Tool<'_>, said: &Attribution) -> bool {
    said.place != Place::Anywhere || ["", "question", "AskUserQuestion"].contains(&tool.tool)
}

/// The ask that a call waited for, and its end: the last that ended before the result, unless another one's question is
/// quoted. Each end accounts for one result.
fn ask_of<'v, 'a>(
    view: &'v View<'a>,
    tool: &Tool<'_>,
    at: At,
    text: &str,
    deed: Deed,
    taken: &mut BTreeSet<At>,
) -> Option<(&'v Ask<'a>, &'v End<'a>)> {
    let fits = |end: &End<'_>| match deed {
        Deed::Answered => matches!(end.end, AskEnd::Replied | AskEnd::Skipped),
        Deed::Refused | Deed::Interrupted => matches!(end.end, AskEnd::Rejected | AskEnd::Dropped),
    };
    let asks = view.index.asks.iter();
    let asks = asks.filter(|ask| ask.who == tool.who && (tool.session.is_empty() || ask.session == tool.session));
    let ends = asks.flat_map(|ask| ask.ends.iter().map(move |end| (ask, end)));
    let during = |end: &End<'_>| tool.began < end.at && end.at < at && !taken.contains(&end.at);
    let ends: Vec<_> = ends.filter(|(_, end)| fits(end) && during(end)).collect();
    let quoted = |(ask, _): &&(&Ask<'_>, &End<'_>)| ask.questions.iter().any(|q| text.contains(&q.question));
    let found = ends.iter().find(quoted).or_else(|| ends.iter().max_by_key(|(_, end)| end.at)).copied();
    taken.extend(found.map(|(_, end)| end.at));
    found
}

/// Why no person did it; `None` if one did.
fn unfounded_end(view: &View<'_>, ask: &Ask<'_>, end: &End<'_>, deed: Deed) -> Option<String> {
    let by = view.index.ended_by(ask, end);
    match actor(by) {
        Actor::Person if person_did(view, deed, ask.opened.t, end.at) => None,
        Actor::Person => Some(format!("no person did while `{}` was open", ask.id)),
        _ => Some(format!("it was {by} that ended `{}`", ask.id)),
    }
}

/// Whether a person did it between these two points.
fn person_did(view: &View<'_>, deed: Deed, from: VTime, to: At) -> bool {
    let during = |act: &&Act<'_>| actor(act.who) == Actor::Person && from <= act.at.t && act.at < to;
    view.index.acts.iter().filter(during).any(|act| is_deed(view, act, deed))
}

/// Whether an act of a person is this deed.
fn is_deed(view: &View<'_>, act: &Act<'_>, deed: Deed) -> bool {
    match act.what {
        Did::Acts(what) => match first_word(what) {
            "answer" | "answers" | "skip" | "malformed" => deed == Deed::Answered,
            // a refusal at the terminal ends the turn, and a person who stops a run refuses what it asks
            "dismiss" | "deny" | "stop" | "soft-stop" | "hang-up" | "run" => deed != Deed::Answered,
            // what is typed can be anything
            "type" => true,
            // the key that allows is the one that takes the first option, if a question is on the screen
            "allow" | "always" => deed == Deed::Answered && typed_keys(view, act),
            _ => false,
        },
        Did::Request(id) => {
            let Some(request) = view.index.requests.get(id) else { return false };
            let says = |key: &str| request.body.get(key).and_then(serde_json::Value::as_str) == Some("reject");
            let refuses =
                request.does == Does::Abort || request.path.ends_with("/reject") || says("reply") || says("response");
            let refused = request.response.is_some_and(|(_, status, _)| status >= 400);
            request.method == "POST" && !refused && refuses == (deed != Deed::Answered)
        }
        // what they typed is known from their act, if that is in the trace
        Did::Wrote(_) => !view.index.acts.iter().any(|of| of.who == act.who && matches!(of.what, Did::Acts(_))),
        Did::Signal(..) | Did::Closed => deed != Deed::Answered,
        Did::Fault(_) | Did::Inside(_) => false,
    }
}

/// Whether what this person did was to press keys, and not to send a message.
fn typed_keys(view: &View<'_>, act: &Act<'_>) -> bool {
    let of_it = |of: &&Act<'_>| of.who == act.who && of.at.t == act.at.t && act.at < of.at;
    view.index.acts.iter().filter(of_it).any(|of| matches!(of.what, Did::Wrote(keys) if !keys.starts_with('{')))
}

/// What the model is told of a question that never became an ask: it is the strategy's own text.
fn preempted<'a>(view: &View<'a>, told: &mut BTreeSet<&'a str>) -> Vec<Breach> {
    let in_result = |call: &str| {
        let tools = view.index.tools.iter().filter(|tool| tool.call == call);
        tools.flat_map(|tool| &tool.ends).any(|(.., text)| said_in_result(text).next().is_some())
    };
    let mut breaches = Vec::new();
    for p in &view.index.preempted {
        let Some(said) = said_in(p.text).next() else { continue };
        told.extend(said_in(p.text).map(|said| said.text));
        if !in_result(p.call) {
            let (by, deed, call) = (p.by, said.deed.word(), p.call);
            breaches.push(breach(
                p.at,
                format!("{by} tells the model that the user {deed}, and nobody did (call `{call}`)"),
            ));
        }
    }
    breaches
}

/// What any other text says and no tool's result says, each once.
fn elsewhere(view: &View<'_>, told: &BTreeSet<&str>) -> Vec<Breach> {
    let mut told = told.clone();
    let mut breaches = Vec::new();
    // whoever polls is given the same body again, and what it says is told by then
    let mut searched: BTreeSet<*const str> = BTreeSet::new();
    for (place, event) in view.trace.events.iter().enumerate() {
        let at = At { place, t: event.t };
        let text: &str = match &event.what {
            What::Out { text, .. } | What::Says(text) | What::Settled { text, .. } | What::RunOver { text, .. } => text,
            What::Response { body, .. } if !searched.insert(body.text()) => continue,
            What::Sse(body) | What::Response { body, .. } => body.text(),
            What::Fact(Fact::Result { text, .. }) => text,
            What::Fact(Fact::Policy { policy, .. }) | What::Report(policy) => {
                policy.text.as_deref().unwrap_or_default()
            }
            // The model's own text, and a tool's that was looked at: a text that repeats them is a quotation.
            What::Fact(Fact::ModelSaid { text, .. } | Fact::ToolEnded { text, .. }) => {
                told.extend(said_in(text).map(|said| said.text));
                continue;
            }
            _ => continue,
        };
        for said in said_in(text) {
            if told.insert(said.text) && !person_did(view, said.deed, VTime::ZERO, at) {
                let (who, deed) = (&event.who, said.deed.word());
                breaches
                    .push(breach(at, format!("{who} says \"{}\": that the user {deed}, and nobody did", said.text)));
            }
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};
    use rehang_scenario::attribution::{
        ANSWERED, ANSWERS_IN_MIND, PERMISSION_REJECTED, QUESTION_DISMISSED, SKIPPED, TAKEN_BACK,
    };
    use rehang_trace::Cause;
    use serde_json::json;

    fn says(cell: Cell, want: Expect) {
        want.assert_eq(&said(check, cell, &facts("x")));
    }

    fn asked() -> Cell {
        Cell::new().started().tool("call_1", "question").ask("que_1", "ses_1").at(500)
    }

    fn dismissed(cell: Cell, by: &str) -> Cell {
        cell.end("que_1", AskEnd::Rejected, Cause::Dismiss, by, &[]).tool_end("call_1", QUESTION_DISMISSED)
    }

    #[test]
    fn a_person_s_refusal_is_theirs() {
        says(dismissed(asked().acts("person1", "dismiss"), "user"), expect![""]);
        says(dismissed(asked().post("person1", 1, "/question/que_1/reject"), "user"), expect![""]);
        says(
            dismissed(asked().post("pending-ask", 1, "/question/que_1/reject"), "user"),
            expect![[r#"
            500ms attributed-to-user: agent tells the model that the user refused, and it was pending-ask that ended `que_1` (call `call_1`)
        "#]],
        );
        says(
            dismissed(asked(), "user"),
            expect![[r#"
            500ms attributed-to-user: agent tells the model that the user refused, and no person did while `que_1` was open (call `call_1`)
        "#]],
        );
        says(
            dismissed(asked().acts("person1", "malformed"), "user"),
            expect![[r#"
            500ms attributed-to-user: agent tells the model that the user refused, and no person did while `que_1` was open (call `call_1`)
        "#]],
        );
    }

    #[test]
    fn what_a_person_did_before_the_ask_says_nothing_of_it() {
        let early = Cell::new().started().acts("person1", "dismiss").at(100).tool("call_1", "question");
        let cell = early.ask("que_1", "ses_1").at(500);
        assert!(said(check, dismissed(cell, "user"), &facts("x")).contains("no person did while `que_1` was open"));
        // an abort of the session refuses its open asks
        says(dismissed(asked().post("person1", 1, "/session/ses_1/abort"), "user"), expect![""]);
    }

    #[test]
    fn a_program_is_no_person() {
        let rejected = |by: &str| {
            let cell = Cell::new().started().tool("call_1", "bash").permit("per_1").at(500);
            let cell = cell.end("per_1", AskEnd::Rejected, Cause::Policy, by, &[]);
            cell.tool_end("call_1", &format!("Error: {PERMISSION_REJECTED}"))
        };
        says(
            rejected("client"),
            expect![[r#"
            500ms attributed-to-user: agent tells the model that the user refused, and it was client that ended `per_1` (call `call_1`)
        "#]],
        );
        says(
            rejected("guard-asks"),
            expect![[r#"
            500ms attributed-to-user: agent tells the model that the user refused, and it was guard-asks that ended `per_1` (call `call_1`)
        "#]],
        );
    }

    #[test]
    fn who_allows_has_not_answered() {
        let text = format!("{ANSWERED}: . {ANSWERS_IN_MIND}");
        let replied = |does: &str| {
            let cell = asked().acts("person1", does).end("que_1", AskEnd::Replied, Cause::Answer, "user", &[]);
            cell.tool_end("call_1", &text)
        };
        says(replied("answer"), expect![""]);
        says(replied("skip"), expect![""]);
        let at_terminal = |keys: &str| {
            let cell = asked().acts("person1", "allow").add("person1", What::In { text: keys.into() });
            let cell = cell.end("que_1", AskEnd::Replied, Cause::Answer, "user", &[]).tool_end("call_1", &text);
            said(check, cell, &facts("x"))
        };
        assert_eq!(at_terminal("1\n"), "");
        assert_ne!(at_terminal("{\"type\":\"control_response\"}\n"), "");
        says(
            replied("allow"),
            expect![[r#"
            500ms attributed-to-user: agent tells the model that the user answered, and no person did while `que_1` was open (call `call_1`)
        "#]],
        );
    }

    #[test]
    fn a_strategy_s_own_words_are_read_too() {
        let told = |text: &str| Cell::new().started().at(5).preempt("auto-answer@r1", &["A"], text, false);
        says(
            told(&format!("Auto-answered: A. {ANSWERS_IN_MIND}")),
            expect![[r#"
            5ms attributed-to-user: auto-answer@r1 tells the model that the user answered, and nobody did (call `call_1`)
        "#]],
        );
        says(told("No user was available to answer."), expect![""]);
    }

    #[test]
    fn what_the_caller_alone_reads_counts_and_a_quotation_does_not() {
        let event = |cell: Cell| cell.sse("message.part.updated", json!({"error": TAKEN_BACK}));
        says(
            event(event(Cell::new().started().at(7))),
            expect![[r#"
            7ms attributed-to-user: client says "User rejected tool use": that the user refused, and nobody did
        "#]],
        );
        says(event(Cell::new().started().at(7).acts("person1", "stop")), expect![""]);
        says(event(Cell::new().started().at(7).step(TAKEN_BACK, "stop")), expect![""]);
        let printed = |text: &str| Cell::new().started().at(7).tool("call_1", "bash").tool_end("call_1", text);
        says(printed(&format!("$ grep\n{QUESTION_DISMISSED}")), expect![""]);
        says(printed(&format!("$ grep\n{SKIPPED}")), expect![""]);
    }

    #[test]
    fn a_refusal_that_the_server_did_not_take_is_none() {
        let posted = |status| {
            let cell = asked().post("person1", 1, "/question/que_1/reject").respond("person1", 1, status, json!(true));
            said(check, dismissed(cell.at(501), "user"), &facts("x"))
        };
        assert_eq!(posted(200), "");
        assert!(posted(404).contains("no person did while `que_1` was open"), "{}", posted(404));
    }

    #[test]
    fn what_a_person_types_counts_where_nothing_says_what_they_did() {
        let typed = |cell: Cell| cell.add("person1", What::In { text: "\u{1b}".into() });
        says(dismissed(typed(asked()), "user"), expect![""]);
        assert_ne!(said(check, dismissed(typed(asked().acts("person1", "answer A")), "user"), &facts("x")), "");
        // a person who ends the agent or its input refuses what it asks, and answers nothing
        says(dismissed(asked().signal("person1", "INT", "agent"), "user"), expect![""]);
        says(dismissed(asked().add("person1", What::InEnd), "user"), expect![""]);
        let answered =
            asked().signal("person1", "INT", "agent").end("que_1", AskEnd::Replied, Cause::Answer, "user", &["A"]);
        assert_ne!(
            said(check, answered.tool_end("call_1", &format!("{ANSWERED}: A. {ANSWERS_IN_MIND}")), &facts("x")),
            ""
        );
    }
}
