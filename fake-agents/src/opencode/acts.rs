//! Carries out the acts of the strategies inside, and keeps PawWork's blockers as a strategy publishes them.
//!
//! Invariants: a published event is on the bus before anything else happens; every other act waits until the input that
//! caused it has been handled, and acts are carried out in the order in which they were decided.

use super::asks::{By, Permit};
use super::engine::{About, Effect, Engine};
use super::json::{field, number, quoted};
use super::release::Dialect;
use crate::agent_host;
use rehang_strategy::Acting;
use rehang_strategy::{Act, InsideAct, InsideSeen, Seen, Then};
use rehang_trace::{Cause, Fact};
use serde_json::Value;

/// How many acts one input may cause: strategies that answer each other for ever are cut off.
const ACTS_MAX: usize = 10_000;

impl Engine {
    /// Tells the strategies inside. Their events are published now; their other acts wait for [`Engine::act`].
    pub(super) fn see(&mut self, seen: impl FnOnce() -> Seen) {
        if self.inside.is_empty() {
            return;
        }
        for acting in self.inside.see(self.now, &seen()) {
            self.now_or_later(acting);
        }
    }

    pub(super) fn now_or_later(&mut self, acting: Acting) {
        match acting.act {
            Act::Inside(InsideAct::Publish(event)) => self.publish_act(&event),
            _ => self.acts.push_back(acting),
        }
    }

    /// Carries out the acts of the strategies inside.
    pub(super) fn act(&mut self) {
        for _ in 0..ACTS_MAX {
            let Some(acting) = self.acts.pop_front() else { return };
            self.do_act(acting);
        }
        self.acts.clear();
    }

    fn do_act(&mut self, acting: Acting) {
        let fact = agent_host::fact(&acting);
        let by = |cause| By { who: acting.by.clone(), cause };
        match acting.act {
            Act::Inside(InsideAct::Reply { id, answers }) => {
                self.record_act(fact);
                let word = answers.first().and_then(|answer| answer.first()).and_then(|word| Permit::parse(word));
                match word.filter(|_| self.questions_of_ask(&id).is_none()) {
                    Some(permit) => drop(self.reply_permission(&id, permit, &by(Cause::Policy))),
                    None => drop(self.reply_question(&id, answers, &by(Cause::Policy))),
                }
            }
            Act::Inside(InsideAct::Reject { id, reason, policy }) => {
                self.record_act(fact);
                let by = by(if policy { Cause::Policy } else { Cause::Silence });
                if self.reject_question(&id, Some(reason), &by).is_none() {
                    let _ = self.reply_permission(&id, Permit::Reject, &by);
                }
            }
            Act::Inside(InsideAct::AbortStream { session, fail, text, reject_asks }) => {
                self.record_act(fact);
                if let Some(session) = self.find(&session) {
                    self.abort_stream(session, fail, &text, reject_asks, &by(Cause::Silence));
                }
            }
            Act::Inside(InsideAct::Withhold { text }) => {
                self.record_act(fact);
                self.withheld = Some(text);
            }
            Act::Inside(InsideAct::StripEnv(name)) => {
                self.record_act(fact);
                self.effect(Effect::StripEnv(name));
            }
            Act::Say(text) => {
                self.record_act(fact);
                self.effect(Effect::Say(text));
            }
            Act::Inside(InsideAct::Publish(event)) => self.publish_act(&event),
            // an answer at the tool's entry and a verdict are handled where they belong
            Act::Inside(InsideAct::AnswerTool { .. } | InsideAct::Verdict { .. } | InsideAct::Note(_))
            | Act::Report(_)
            | Act::Process(_)
            | Act::Protocol(_) => self.record_act(fact),
        }
    }

    fn record_act(&mut self, fact: Option<Fact>) {
        if let Some(fact) = fact {
            self.fact(fact);
        }
    }

    /// Stops a session's model stream: the turn fails, or the stream drains as if it had ended.
    fn abort_stream(&mut self, session: usize, fail: bool, text: &str, reject_asks: bool, by: &By) {
        let Some(at) = self.runs.iter().position(|run| run.session == session && run.live) else { return };
        let id = self.runs[at].id;
        self.end_text(at);
        self.stop_stream(at);
        if reject_asks {
            self.reject_below(session, by);
        }
        if self.run_at(id).is_none() {
            return;
        }
        self.stop_below(id);
        if fail {
            self.fail_run(id, "UnknownError", text);
            return;
        }
        self.abort_tools(id);
        // a subagent's run that was stopped has been removed, and the others moved up
        let Some(at) = self.run_at(id) else { return };
        let run = &mut self.runs[at];
        run.blocked = true;
        run.finish.get_or_insert(("stop", None));
        self.step_over(id);
    }

    /// Asks of a session and of the child sessions below it end as cancelled.
    fn reject_below(&mut self, session: usize, by: &By) {
        let below = |engine: &Engine, mut of: usize| loop {
            if of == session {
                return true;
            }
            match engine.sessions[of].parent {
                Some(parent) => of = parent,
                None => return false,
            }
        };
        let asks: Vec<String> =
            self.asks.iter().filter(|ask| below(self, ask.session)).map(|ask| ask.id.clone()).collect();
        for id in asks {
            if self.reject_question(&id, Some("cancelled"), by).is_none() {
                let _ = self.reply_permission(&id, Permit::Reject, by);
            }
        }
    }

    /// Passes what a person submitted to a strategy, which decides. `false`: no strategy does.
    pub(super) fn submit(&mut self, ticket: u32, id: &str, session: &str, dismiss: bool, body: &Value) -> bool {
        if !(self.inside.has("ledger") || self.inside.has("external-result")) {
            return false;
        }
        let seen = Seen::Inside(InsideSeen::Submitted {
            id: id.to_owned(),
            session: session.to_owned(),
            dismiss,
            body: body.clone(),
        });
        let mut verdict = None;
        for acting in self.inside.see(self.now, &seen) {
            match acting.act {
                Act::Inside(InsideAct::Verdict { status, body, then, .. }) if verdict.is_none() => {
                    verdict = Some((status, body, then))
                }
                act => self.now_or_later(Acting { by: acting.by, act }),
            }
        }
        let Some((status, body, then)) = verdict else { return false };
        match then {
            Then::Take(answers) => drop(self.reply_question(id, answers, &By::user())),
            Then::Dismiss => drop(self.reject_question(id, Some("dismissed"), &By::user_with(Cause::Dismiss))),
            Then::Destroy => drop(self.reject_question(id, Some("rejected"), &By::user_with(Cause::Malformed))),
            Then::Keep => {}
        }
        self.respond(ticket, status, if body.is_null() { String::new() } else { body.to_string() });
        true
    }

    // --- blockers ---

    /// An event that a strategy publishes. Blockers are kept, and get the request and the tool that they are about.
    fn publish_act(&mut self, event: &Value) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or("");
        let mut properties = event.get("properties").cloned().unwrap_or_default();
        let request = properties.get("requestID").and_then(Value::as_str).unwrap_or("").to_owned();
        let kind = match kind {
            "session.blocker.upserted" => {
                self.fill_blocker(&mut properties, &request);
                self.blockers.retain(|(of, _)| *of != request);
                self.blockers.push((request, properties.clone()));
                "session.blocker.upserted"
            }
            "session.blocker.removed" => {
                self.blockers.retain(|(of, _)| *of != request);
                "session.blocker.removed"
            }
            _ => "strategy.event",
        };
        let session = properties.get("sessionID").and_then(Value::as_str).and_then(|id| self.find(id));
        let about = About::Other;
        self.publish(kind, session, about, |_, out| {
            if let Value::Object(fields) = &properties {
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(name));
                    out.push(':');
                    out.push_str(&value.to_string());
                }
            }
        });
    }

    fn fill_blocker(&self, properties: &mut Value, request: &str) {
        let Some(ask) = self.asks.iter().find(|ask| ask.id == request) else { return };
        let mut shown = String::from("{");
        self.render_ask(&mut shown, ask);
        shown.push('}');
        let shown: Value = serde_json::from_str(&shown).unwrap_or_default();
        if let Value::Object(fields) = properties {
            fields.insert("tool".to_owned(), shown.get("tool").cloned().unwrap_or_default());
            fields.insert("request".to_owned(), shown);
        }
    }

    /// The blockers, as `GET /blocker` lists them.
    pub(super) fn list_blockers(&self) -> String {
        Value::Array(self.blockers.iter().map(|(_, entry)| entry.clone()).collect()).to_string()
    }

    /// An event that belongs to one connection and not to the bus: `server.connected`, `server.heartbeat`.
    pub fn server_event(&mut self, kind: &'static str) -> String {
        let mut json = String::from("{");
        if self.release.dialect == Dialect::V1_18 {
            self.next.event += 1;
            json.push_str("\"id\":\"evt_");
            number(&mut json, self.next.event.into());
            json.push_str("\",");
        }
        field!(&mut json, "type", kind);
        json.push_str(",\"properties\":{}}");
        json
    }
}
