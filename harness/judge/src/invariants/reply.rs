//! Invariant 6: At most one reply per id; no answer is invented and attributed to the user; a live answerer beats an
//! automatic one.
//!
//! Invariant: what counts is what takes effect or is written, not what is tried over HTTP: a reply to an id that is
//! gone is refused by the server and does no harm. A second `tool_result` on Claude's stdin is not just a try: the
//! model's API refuses the whole conversation for it (iammorganparry/clive). Only the user's answer tells the model
//! "User has answered your questions"; if a strategy gave the answer, or nobody did (anthropics/claude-code#10400), it
//! is invented.

use crate::index::At;
use crate::verdict::Breach;
use crate::view::View;
use rehang_scenario::Invariant;
use rehang_scenario::attribution::ANSWERED as USER_ANSWERED;
use rehang_trace::{
    AskEnd, Fact, What,
    role::{Actor, actor},
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let mut breaches = twice(view);
    breaches.extend(written_twice(view));
    breaches.extend(invented(view));
    breaches.extend(beaten(view));
    breaches.sort_by_key(|breach| breach.at);
    breaches
}

fn breach(at: At, why: String) -> Breach {
    Breach::new(Invariant::DoubleOrInventedReply, at, why)
}

fn twice(view: &View<'_>) -> Vec<Breach> {
    let replied = |end: &&crate::index::End<'_>| matches!(end.end, AskEnd::Replied | AskEnd::Skipped);
    let asks = view.index.asks.iter().filter_map(|ask| {
        let second = ask.ends.iter().filter(replied).nth(1)?;
        let by = view.index.ended_by(ask, second);
        Some(breach(second.at, format!("`{}` of {} is replied to twice, the second time by {by}", ask.id, ask.who)))
    });
    let tools = view.index.tools.iter().filter_map(|tool| {
        let (at, ..) = tool.ends.get(1)?;
        Some(breach(*at, format!("call `{}` of {} has two results", tool.call, tool.who)))
    });
    asks.chain(tools).collect()
}

/// A `tool_result` written to stdin for a call that already has a result, from the agent or from an earlier line.
fn written_twice(view: &View<'_>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut has_result: BTreeSet<String> = BTreeSet::new();
    let mut streams: BTreeMap<(&str, u8), String> = BTreeMap::new();
    for (place, event) in view.trace.events.iter().enumerate() {
        let at = At { place, t: event.t };
        match &event.what {
            What::Fact(Fact::ToolEnded { call, .. }) if event.who == "agent" => {
                has_result.insert(call.clone());
            }
            What::Out { fd, text } => {
                for line in lines(streams.entry((&event.who, *fd)).or_default(), text) {
                    has_result.extend(tool_results(&line));
                }
            }
            What::In { text } => {
                // Stdin has one buffer, whoever writes to it.
                for line in lines(streams.entry(("", u8::MAX)).or_default(), text) {
                    for call in tool_results(&line) {
                        if !has_result.insert(call.clone()) {
                            breaches
                                .push(breach(at, format!("{} writes a second tool_result for `{call}`", event.who)));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    breaches
}

/// The whole lines of a stream after a chunk; what follows the last newline stays. A line above 1 MiB is dropped.
fn lines(pending: &mut String, chunk: &str) -> Vec<String> {
    const LINE_MAX_BYTES: usize = 1 << 20;
    let mut whole = Vec::new();
    for (n, piece) in chunk.split('\n').enumerate() {
        if n > 0 {
            whole.push(std::mem::take(pending));
        }
        if pending.len() + piece.len() <= LINE_MAX_BYTES {
            pending.push_str(piece);
        }
    }
    whole
}

fn tool_results(line: &str) -> Vec<String> {
    if !line.contains("tool_result") {
        return Vec::new();
    }
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let blocks = message.pointer("/message/content").and_then(Value::as_array);
    let results =
        blocks.into_iter().flatten().filter(|block| block.get("type").is_some_and(|kind| kind == "tool_result"));
    results.filter_map(|block| block.get("tool_use_id").and_then(Value::as_str)).map(str::to_owned).collect()
}

/// The model is told that the user answered, and no user did.
fn invented(view: &View<'_>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut taken: BTreeSet<At> = BTreeSet::new();
    for tool in &view.index.tools {
        // Only at its start: a subagent's report that quotes such a result does not say it itself.
        for &(at, _, text) in tool.ends.iter().filter(|(.., text)| text.starts_with(USER_ANSWERED)) {
            // Each end of an ask accounts for one result: that of the call that waited for it.
            let asks = view
                .index
                .asks
                .iter()
                .filter(|ask| ask.who == tool.who && (tool.session.is_empty() || ask.session == tool.session));
            let ends = asks.flat_map(|ask| ask.ends.iter().map(move |end| (ask, end)));
            let mut ends: Vec<_> =
                ends.filter(|(_, end)| tool.began < end.at && end.at < at && !taken.contains(&end.at)).collect();
            ends.retain(|(_, end)| matches!(end.end, AskEnd::Replied | AskEnd::Skipped));
            let quoted = |ask: &crate::index::Ask<'_>| ask.questions.iter().any(|q| text.contains(&q.question));
            let end = ends.iter().find(|(ask, _)| quoted(ask)).or(ends.first());
            let who = match end {
                Some((ask, end)) => {
                    taken.insert(end.at);
                    let by = view.index.ended_by(ask, end);
                    if by != "agent" && actor(by) != Actor::Strategy {
                        continue;
                    }
                    format!("{by}'s answer to `{}`", ask.id)
                }
                None => {
                    let by = view.index.preempted.iter().find(|p| p.who == tool.who && p.call == tool.call);
                    by.map_or("an answer that nobody gave".to_owned(), |p| format!("{}'s answer", p.by))
                }
            };
            breaches.push(breach(at, format!("{} passes {who} off as the user's (call `{}`)", tool.who, tool.call)));
        }
    }
    // What is told at the tool's entry need not come out of a tool a second time.
    let told = |call: &str| {
        view.index
            .tools
            .iter()
            .any(|t| t.call == call && t.ends.iter().any(|(.., text)| text.starts_with(USER_ANSWERED)))
    };
    for p in view.index.preempted.iter().filter(|p| p.text.contains(USER_ANSWERED) && !told(p.call)) {
        breaches
            .push(breach(p.at, format!("{} passes {}'s answer off as the user's (call `{}`)", p.who, p.by, p.call)));
    }
    breaches
}

/// A strategy acts on an ask that a person could have answered, and would have.
fn beaten(view: &View<'_>) -> Vec<Breach> {
    let live = view.index.preempted.iter().filter(|p| p.live);
    let preempted = live.map(|p| {
        breach(
            p.at,
            format!("{} answers call `{}` of {} itself, and somebody could have answered", p.by, p.call, p.who),
        )
    });
    let ends = view.index.asks.iter().filter(|_| view.facts.answerer);
    let ended = ends.filter_map(|ask| {
        let end = ask.ends.first()?;
        let by = view.index.ended_by(ask, end);
        let beaten = actor(by) == Actor::Strategy && end.end == AskEnd::Replied;
        beaten.then(|| {
            breach(end.at, format!("{by} answers `{}` of {} itself, before the person who would have", ask.id, ask.who))
        })
    });
    preempted.chain(ended).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};
    use rehang_trace::RunEnd;
    use rehang_trace::{AskKind, Cause, Fact};
    use serde_json::json;

    fn says(cell: Cell, want: Expect) {
        want.assert_eq(&said(check, cell, &facts("x")));
    }

    fn asked() -> Cell {
        Cell::new().started().tool("call_1", "question").ask("que_1", "ses_1").at(500)
    }

    fn replied(cell: Cell, by: &str) -> Cell {
        cell.end("que_1", AskEnd::Replied, Cause::Answer, by, &["A"])
    }

    const TOLD: &str = "User has answered your questions: \"Which?\"=\"A\". You can now continue";

    #[test]
    fn one_reply_an_id() {
        says(replied(asked(), "user"), expect![""]);
        says(
            replied(replied(asked(), "user"), "user"),
            expect![[r#"
            500ms double-or-invented-reply: `que_1` of agent is replied to twice, the second time by user
        "#]],
        );
        // A dismiss after a reply is an end too many, but not a reply.
        says(replied(asked(), "user").end("que_1", AskEnd::Rejected, Cause::Dismiss, "user", &[]), expect![""]);
        says(
            asked().tool_end("call_1", "x").tool_end("call_1", "y"),
            expect![[r#"
            500ms double-or-invented-reply: call `call_1` of agent has two results
        "#]],
        );
        // another run counts its calls anew
        let over = What::RunOver { outcome: RunEnd::Failed, cause: String::new(), text: String::new() };
        says(asked().tool_end("call_1", "x").add("wrapper", over).tool_end("call_1", "y"), expect![""]);
    }

    fn result_line(call: &str) -> String {
        let block = json!({"type": "tool_result", "tool_use_id": call, "content": "", "is_error": false});
        format!("{}\n", json!({"type": "user", "message": {"role": "user", "content": [block]}}))
    }

    #[test]
    fn a_second_tool_result_on_stdin() {
        let write = |cell: Cell, text: &str| cell.add("auto-approve@v1", What::In { text: text.into() });
        let out = |cell: Cell, text: &str| cell.add("agent", What::Out { fd: 1, text: text.into() });
        let line = result_line("call_1");
        says(
            write(asked().tool_end("call_1", "exit 1"), &line),
            expect![[r#"
            500ms double-or-invented-reply: auto-approve@v1 writes a second tool_result for `call_1`
        "#]],
        );
        // Another agent has a call of the same name.
        let call = || "call_1".to_owned();
        let other = What::Fact(Fact::ToolEnded { call: call(), error: false, text: String::new() });
        let began = What::Fact(Fact::ToolBegan { call: call(), tool: "bash".into(), session: "ses_1".into() });
        let beside = Cell::new().started().spawn("agent.1").add("agent.1", began).add("agent.1", other);
        says(write(beside, &line), expect![""]);
        // Seen only on the wire, and in two pieces.
        let (a, b) = line.split_at(30);
        says(
            write(out(out(Cell::new(), a), b), &line),
            expect![[r#"
            0ms double-or-invented-reply: auto-approve@v1 writes a second tool_result for `call_1`
        "#]],
        );
        says(write(write(Cell::new(), &line), &result_line("call_2")), expect![""]);
        says(
            write(write(Cell::new(), &line), &line),
            expect![[r#"
            0ms double-or-invented-reply: auto-approve@v1 writes a second tool_result for `call_1`
        "#]],
        );
        says(
            write(Cell::new(), "{\"type\":\"user\",\"message\":{\"content\":\"tool_result\"}}\n{{{tool_result\n"),
            expect![""],
        );
    }

    #[test]
    fn an_answer_that_is_not_the_users() {
        says(replied(asked(), "user").tool_end("call_1", TOLD), expect![""]);
        says(
            replied(asked(), "auto-answer@r1(at=ask)").tool_end("call_1", TOLD),
            expect![[r#"
            500ms double-or-invented-reply: agent passes auto-answer@r1(at=ask)'s answer to `que_1` off as the user's (call `call_1`)
        "#]],
        );
        // The agent takes it for a person's, but the trace shows whose it is.
        let posted = asked().post("pending-ask", 1, "/question/que_1/reply");
        says(
            replied(posted.at(501), "user").tool_end("call_1", TOLD),
            expect![[r#"
            501ms double-or-invented-reply: agent passes pending-ask's answer to `que_1` off as the user's (call `call_1`)
        "#]],
        );
        says(replied(asked(), "pending-ask").tool_end("call_1", "No user answered; the policy chose A."), expect![""]);
        let nobody = Cell::new().started().tool("call_1", "AskUserQuestion");
        says(
            nobody.tool_end("call_1", "User has answered your questions: . You can"),
            expect![[r#"
            0ms double-or-invented-reply: agent passes an answer that nobody gave off as the user's (call `call_1`)
        "#]],
        );
    }

    #[test]
    fn one_answer_founds_one_result() {
        let two = asked().tool("call_2", "question").ask("que_2", "ses_1").at(600);
        let one = replied(two, "user").tool_end("call_1", TOLD).tool_end("call_2", TOLD);
        says(
            one.clone(),
            expect![[r#"
            600ms double-or-invented-reply: agent passes an answer that nobody gave off as the user's (call `call_2`)
        "#]],
        );
    }

    #[test]
    fn a_live_answerer_comes_first() {
        let early =
            |live| Cell::new().started().preempt("auto-answer@r1", &["B"], "Auto-answered with safe defaults", live);
        says(early(false), expect![""]);
        says(
            early(true),
            expect![[r#"
            0ms double-or-invented-reply: auto-answer@r1 answers call `call_1` of agent itself, and somebody could have answered
        "#]],
        );
        says(
            Cell::new().started().preempt("x", &["B"], TOLD, false),
            expect![[r#"
            0ms double-or-invented-reply: agent passes x's answer off as the user's (call `call_1`)
        "#]],
        );
        let mut live = facts("x");
        live.answerer = true;
        let by = |by: &str| said(check, replied(asked(), by), &live);
        expect![[r#"
            500ms double-or-invented-reply: pending-ask answers `que_1` of agent itself, before the person who would have
        "#]].assert_eq(&by("pending-ask"));
        expect![""].assert_eq(&by("user"));
    }

    #[test]
    fn an_answer_founds_a_result_of_its_own_agent_and_session_alone() {
        let of = |who: &'static str, cell: Cell, fact: Fact| cell.add(who, What::Fact(fact));
        let answered = |who: &'static str, session: &str| {
            let (id, kind, permission) = ("que_2".to_owned(), AskKind::Question, String::new());
            let asked = Fact::Asked { id, kind, session: session.into(), questions: vec![question()], permission };
            let (end, cause, answers) = (AskEnd::Replied, Cause::Answer, vec![vec!["A".to_owned()]]);
            let ended = Fact::AskEnded { id: "que_2".into(), end, cause, by: "user".into(), answers };
            let cell = Cell::new().started().tool("call_1", "question").at(500);
            said(check, of(who, of(who, cell, asked), ended).tool_end("call_1", TOLD), &facts("x"))
        };
        assert_eq!(answered("agent", "ses_1"), "");
        for (who, session) in [("agent.1", "ses_1"), ("agent", "ses_2")] {
            assert!(answered(who, session).contains("an answer that nobody gave"), "{who} {session}");
        }
    }

    #[test]
    fn who_pre_empted_the_call_is_named() {
        let cell = Cell::new().started().preempt("auto-answer@r1", &["A"], "Auto-answered: A", false);
        let both = cell.tool("call_1", "question").tool("call_2", "question").at(5);
        says(
            both.tool_end("call_1", TOLD).tool_end("call_2", TOLD),
            expect![[r#"
                5ms double-or-invented-reply: agent passes auto-answer@r1's answer off as the user's (call `call_1`)
                5ms double-or-invented-reply: agent passes an answer that nobody gave off as the user's (call `call_2`)
            "#]],
        );
    }
}
