//! Questions and permissions: the pending map, replies, rejections.
//!
//! Invariant: an ask leaves the map, then its event is published, then the tool that waits goes on
//! (`question/index.ts`, `permission/index.ts`). Nothing here has a time limit.

use super::engine::{About, Engine};
use super::json::{field, next_field, strings};
use super::places::Places;
use super::release::{Dialect, Flavour};
use super::render;
use super::tools::{Kind, Outcome};
use rehang_scenario::attribution::{ANSWERED, ANSWERS_IN_MIND, EXTERNAL_DISMISSED, PERMISSION_REJECTED};
use rehang_scenario::attribution::{QUESTION_DISMISSED, SKIPPED};
use rehang_scenario::{Canon, turns::Question};
use rehang_strategy::{InsideSeen, Seen, pawwork};
use rehang_trace::{AskEnd, AskKind, Cause, Fact};

/// What 1.0.185 says in addition (recorded).
const TRY_AGAIN: &str = " You may try again with different parameters.";

/// A pending ask of a tool.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) id: String,
    pub(super) session: usize,
    /// The tool run that waits; it may have been aborted meanwhile.
    pub(super) tool: u32,
    pub(super) message: usize,
    pub(super) call: String,
    pub(super) what: Asked,
    pub(super) asked_ms: u64,
    /// Whether it is an external result: it is no event and only in its own list (PawWork 6ab984202).
    pub(super) external: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Asked {
    Question(Vec<Question>),
    Permission { permission: String, patterns: Vec<String>, always: Vec<String>, metadata: String },
}

/// How a permission is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// It is allowed this time.
    Once,
    /// It is allowed from now on.
    Always,
    /// It is not allowed.
    Reject,
}

impl Permit {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Permit::Once => "once",
            Permit::Always => "always",
            Permit::Reject => "reject",
        }
    }

    /// The answer for this word.
    pub fn parse(word: &str) -> Option<Permit> {
        [Permit::Once, Permit::Always, Permit::Reject].into_iter().find(|p| p.word() == word)
    }
}

/// Who ends an ask, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// The name: `user`, `agent`, or a strategy.
    pub who: String,
    /// The cause of the end.
    pub cause: Cause,
}

impl By {
    /// A user who answers it.
    pub fn user() -> By {
        By { who: "user".to_owned(), cause: Cause::Answer }
    }

    /// A user who does this.
    pub fn user_with(cause: Cause) -> By {
        By { who: "user".to_owned(), cause }
    }
}

impl Ask {
    pub(super) fn is_question(&self) -> bool {
        matches!(self.what, Asked::Question(_))
    }

    /// Writes the state. The ask's id is written as it is: a later reply names it.
    pub(super) fn canon(&self, places: &Places, canon: &mut Canon) {
        let Self {
            id,
            session,
            tool,
            message: _, // not compared: only the id of the message is read, which names it and is never looked up
            call,
            what,
            asked_ms: _, // not compared: it is sent to clients, but none of them reads it
            external,
        } = self;
        canon.text(id).num(places.session(*session)).num(places.tool(*tool)).flag(*external);
        places.call(canon, call);
        match what {
            Asked::Question(questions) => canon.num(0).value(questions),
            Asked::Permission { permission, patterns, always, metadata } => {
                canon.num(1).text(permission).value(&(patterns, always)).text(metadata)
            }
        };
    }
}

impl Engine {
    /// Asks a question. The tool waits until it gets a reply.
    pub(super) fn ask_question(&mut self, tool: u32, questions: Vec<Question>) {
        self.next.question += 1;
        let id = format!("que_{}", self.next.question);
        self.push_ask(id, tool, Asked::Question(questions));
    }

    /// Asks for a permission unless it was given for ever; then the tool goes on at once.
    pub(super) fn ask_permission(
        &mut self,
        tool: u32,
        permission: &str,
        patterns: Vec<String>,
        always: Vec<String>,
        metadata: String,
    ) {
        if self.allowed(permission, &patterns) {
            self.show_running(tool);
            self.granted(tool);
            return;
        }
        self.next.permission += 1;
        let id = format!("per_{}", self.next.permission);
        let permission = permission.to_owned();
        self.push_ask(id, tool, Asked::Permission { permission, patterns, always, metadata });
    }

    fn push_ask(&mut self, id: String, tool: u32, what: Asked) {
        let Some(run) = self.tools.iter().find(|t| t.id == tool) else { return };
        let external = self.external && matches!(what, Asked::Question(_));
        let id = if external { run.call.clone() } else { id };
        let ask = Ask {
            id: id.clone(),
            external,
            session: run.session,
            tool,
            message: run.message,
            call: run.call.clone(),
            what,
            asked_ms: self.now_ms(),
        };
        let session = ask.session;
        let question = ask.is_question();
        let about = match &ask.what {
            Asked::Question(_) => About::Question(id.clone()),
            Asked::Permission { permission, patterns, .. } => {
                About::Permission { id: id.clone(), permission: permission.clone(), patterns: patterns.clone() }
            }
        };
        let fact = self.asked_fact(&ask);
        let seen = self.seen_ask(&ask);
        self.asks.push(ask);
        self.see(|| Seen::Inside(InsideSeen::Pending(seen)));
        if external {
            self.fact(fact);
            self.show_external(tool);
            return;
        }
        let kind = match (question, self.release.dialect) {
            (true, _) => "question.asked",
            (false, Dialect::V1_0) => "permission.updated",
            (false, _) => "permission.asked",
        };
        // All recordings of 1.0.185 have the part first (seen live); in those of the others the ask comes first.
        if self.release.dialect == Dialect::V1_0 {
            self.show_running(tool);
        }
        self.publish(kind, Some(session), about, |engine, out| {
            if let Some(ask) = engine.asks.last() {
                engine.render_ask(out, ask);
            }
        });
        self.fact(fact);
        self.show_running(tool);
    }

    /// Answers a question. `None` if there is no such question.
    pub fn reply_question(&mut self, id: &str, answers: Vec<Vec<String>>, by: &By) -> Option<()> {
        let at = self.asks.iter().position(|ask| ask.id == id && ask.is_question())?;
        let ask = self.asks.remove(at);
        let Asked::Question(questions) = &ask.what else { return None };
        self.closing(&ask, "replied");
        if !ask.external {
            self.publish("question.replied", Some(ask.session), About::Other, |engine, out| {
                field!(out, "sessionID", &engine.sessions[ask.session].id);
                next_field!(out, "requestID", &ask.id);
                out.push_str(",\"answers\":");
                render::answers(out, &answers);
            });
        }
        let skipped = answers.iter().all(|answer| answer.iter().all(|label| label.trim().is_empty()));
        let end = if skipped { AskEnd::Skipped } else { AskEnd::Replied };
        self.ended(&ask.id, end, by, answers.clone());
        let text = told(questions, &answers, self.release.flavour == Flavour::Pawwork);
        let mut metadata = String::from("\"answers\":");
        render::answers(&mut metadata, &answers);
        let title = asked_title(questions.len());
        self.tool_over(ask.tool, Outcome::Done { output: text, title, metadata });
        self.seen_ended(&ask.id);
        Some(())
    }

    /// Rejects a question; the reason is on the wire if the fork sends one. `None` if there is no such question.
    pub fn reject_question(&mut self, id: &str, reason: Option<&'static str>, by: &By) -> Option<()> {
        let at = self.asks.iter().position(|ask| ask.id == id && ask.is_question())?;
        let ask = self.asks.remove(at);
        let reason = reason.filter(|_| self.release.flavour == Flavour::Pawwork);
        self.closing(&ask, reason.unwrap_or("dismissed"));
        if !ask.external {
            self.publish("question.rejected", Some(ask.session), About::Other, |engine, out| {
                field!(out, "sessionID", &engine.sessions[ask.session].id);
                next_field!(out, "requestID", &ask.id);
                if let Some(reason) = reason {
                    next_field!(out, "reason", reason);
                }
            });
        }
        self.ended(&ask.id, AskEnd::Rejected, by, Vec::new());
        let outcome = match reason {
            Some("dismissed") | None if ask.external => Outcome::Done {
                output: EXTERNAL_DISMISSED.to_owned(),
                title: asked_title(1),
                metadata: "\"dismissed\":true".to_owned(),
            },
            Some(reason) if ask.external => {
                let reason = if reason == "cancelled" { "aborted" } else { reason };
                Outcome::Refused { error: pawwork::external_text(reason) }
            }
            Some(reason) => Outcome::Refused { error: pawwork::ended_text(reason).to_owned() },
            None => Outcome::Refused { error: QUESTION_DISMISSED.to_owned() },
        };
        self.tool_over(ask.tool, outcome);
        self.seen_ended(&ask.id);
        Some(())
    }

    /// Answers a permission. `always` also allows others that it covers, and from 1.1 on a rejection also rejects
    /// every other ask of the session. `None` if there is no such ask.
    pub fn reply_permission(&mut self, id: &str, reply: Permit, by: &By) -> Option<()> {
        let at = self.asks.iter().position(|ask| ask.id == id && !ask.is_question())?;
        let ask = self.asks.remove(at);
        let mut over = vec![ask];
        let session = over[0].session;
        match reply {
            Permit::Reject if !self.release.reject_reaches_others => {}
            Permit::Reject => over.extend(self.take_permissions(session, |_, _, _| true)),
            Permit::Always => {
                if let Asked::Permission { permission, always, .. } = &over[0].what {
                    self.approved.extend(always.iter().map(|pattern| (permission.clone(), pattern.clone())));
                }
                over.extend(self.take_permissions(session, |engine, patterns, of| engine.allowed(of, patterns)));
            }
            Permit::Once => {}
        }
        // Every reply is published before a tool goes on; what `always` covers is allowed one after the other in 1.18.33
        // (recorded: serve_two_reject, serve_two_always).
        let at_once = if reply == Permit::Always && self.release.dialect == Dialect::V1_18 { 1 } else { over.len() };
        for over in over.chunks(at_once) {
            over.iter().for_each(|ask| self.permission_replied(ask, reply, by));
            over.iter().for_each(|ask| self.permission_over(ask, reply));
        }
        Some(())
    }

    /// The instance is disposed of: open questions end (PawWork 2837fabbb).
    pub(super) fn dispose(&mut self) {
        let asked: Vec<String> = self.asks.iter().filter(|ask| ask.is_question()).map(|ask| ask.id.clone()).collect();
        let by = By { who: "shutdown".to_owned(), cause: Cause::Shutdown };
        for id in asked {
            self.reject_question(&id, Some("shutdown"), &by);
        }
    }

    fn permission_replied(&mut self, ask: &Ask, reply: Permit, by: &By) {
        let old = self.release.dialect == Dialect::V1_0;
        self.publish("permission.replied", Some(ask.session), About::Other, |engine, out| {
            field!(out, "sessionID", &engine.sessions[ask.session].id);
            match old {
                true => {
                    next_field!(out, "permissionID", &ask.id);
                    next_field!(out, "response", reply.word());
                }
                false => {
                    next_field!(out, "requestID", &ask.id);
                    next_field!(out, "reply", reply.word());
                }
            }
        });
        let rejected = reply == Permit::Reject;
        let by = match (rejected, by.cause) {
            (true, Cause::Answer) => By { who: by.who.clone(), cause: Cause::Dismiss },
            _ => by.clone(),
        };
        let answers = if rejected { Vec::new() } else { vec![vec![reply.word().to_owned()]] };
        self.ended(&ask.id, if rejected { AskEnd::Rejected } else { AskEnd::Replied }, &by, answers);
    }

    /// The tool that waited goes on, or ends.
    fn permission_over(&mut self, ask: &Ask, reply: Permit) {
        if reply == Permit::Reject {
            let mut error = PERMISSION_REJECTED.to_owned();
            if self.release.dialect == Dialect::V1_0 {
                error.push_str(TRY_AGAIN);
                if let (Asked::Permission { metadata, .. }, Some((.., shown))) = (&ask.what, self.shown(ask.tool)) {
                    shown.metadata.clone_from(metadata);
                }
            }
            self.tool_over(ask.tool, Outcome::Refused { error });
        } else {
            self.granted(ask.tool);
        }
        self.seen_ended(&ask.id);
    }

    /// Removes the permissions that a session asks for and that are meant, and returns them.
    fn take_permissions(&mut self, session: usize, meant: impl Fn(&Engine, &[String], &str) -> bool) -> Vec<Ask> {
        let is_meant = |ask: &Ask| match &ask.what {
            Asked::Permission { permission, patterns, .. } => {
                ask.session == session && meant(self, patterns, permission)
            }
            Asked::Question(_) => false,
        };
        let ids: Vec<String> = self.asks.iter().filter(|ask| is_meant(ask)).map(|ask| ask.id.clone()).collect();
        let (taken, left) = std::mem::take(&mut self.asks).into_iter().partition(|ask| ids.contains(&ask.id));
        self.asks = left;
        taken
    }

    fn allowed(&self, permission: &str, patterns: &[String]) -> bool {
        let covered =
            |pattern: &String| self.approved.iter().any(|(of, rule)| of == permission && matches(pattern, rule));
        !patterns.is_empty() && patterns.iter().all(covered)
    }

    pub(super) fn ended(&mut self, id: &str, end: AskEnd, by: &By, answers: Vec<Vec<String>>) {
        self.fact(Fact::AskEnded { id: id.to_owned(), end, cause: by.cause, by: by.who.clone(), answers });
    }

    pub(super) fn seen_ended(&mut self, id: &str) {
        self.see(|| Seen::Inside(InsideSeen::Ended { id: id.to_owned() }));
    }

    /// An ask is gone from the map, but not yet reported on the wire.
    fn closing(&mut self, ask: &Ask, reason: &'static str) {
        let session = self.sessions[ask.session].id.clone();
        self.see(|| Seen::Inside(InsideSeen::Closing { id: ask.id.clone(), session, reason }));
    }

    /// Appends an ask as its event and its list show it.
    pub(super) fn render_ask(&self, out: &mut String, ask: &Ask) {
        let session = &self.sessions[ask.session];
        field!(out, "id", &ask.id);
        next_field!(out, "sessionID", &session.id);
        let message = &session.messages[ask.message].id;
        match &ask.what {
            Asked::Question(questions) => {
                out.push_str(",\"questions\":");
                render::questions(out, questions);
            }
            Asked::Permission { permission, patterns, always, metadata } if self.release.dialect == Dialect::V1_0 => {
                next_field!(out, "type", permission);
                // For a command it shows what `always` would allow, and the command itself in the title.
                let command = match self.tool(ask.tool).map(|tool| &tool.kind) {
                    Some(Kind::Bash { bash, .. }) if permission == "bash" => Some(bash.command.clone()),
                    _ => None,
                };
                out.push_str(",\"pattern\":");
                strings(out, if command.is_some() { always } else { patterns });
                next_field!(out, "messageID", message);
                next_field!(out, "callID", &ask.call);
                next_field!(out, "title", &command.unwrap_or_else(|| patterns.join("; ")));
                out.push_str(",\"metadata\":{");
                out.push_str(metadata);
                out.push_str("},\"time\":{\"created\":");
                super::json::number(out, ask.asked_ms);
                out.push('}');
                return;
            }
            Asked::Permission { permission, patterns, always, metadata } => {
                next_field!(out, "permission", permission);
                out.push_str(",\"patterns\":");
                strings(out, patterns);
                out.push_str(",\"metadata\":{");
                out.push_str(metadata);
                out.push_str("},\"always\":");
                strings(out, always);
            }
        }
        out.push_str(",\"tool\":{");
        field!(out, "messageID", message);
        next_field!(out, "callID", &ask.call);
        out.push('}');
    }

    /// The pending asks of one kind as a JSON array.
    pub(super) fn list_asks(&self, questions: bool) -> String {
        let mut out = String::from("[");
        for ask in self.asks.iter().filter(|ask| ask.is_question() == questions && !ask.external) {
            out.push_str(if out.len() > 1 { ",{" } else { "{" });
            self.render_ask(&mut out, ask);
            out.push('}');
        }
        out.push(']');
        out
    }

    /// The pending external results, as `GET /external-result` lists them.
    pub(super) fn list_externals(&self) -> String {
        let mut out = String::from("[");
        for ask in self.asks.iter().filter(|ask| ask.external) {
            out.push_str(if out.len() > 1 { ",{" } else { "{" });
            let session = &self.sessions[ask.session];
            field!(&mut out, "sessionID", &session.id);
            next_field!(&mut out, "messageID", &session.messages[ask.message].id);
            next_field!(&mut out, "callID", &ask.call);
            if let Asked::Question(questions) = &ask.what {
                out.push_str(",\"questions\":");
                render::questions(&mut out, questions);
            }
            out.push('}');
        }
        out.push(']');
        out
    }

    pub(super) fn seen_ask(&self, ask: &Ask) -> rehang_strategy::Ask {
        let (questions, permission) = match &ask.what {
            Asked::Question(questions) => (questions.clone(), String::new()),
            Asked::Permission { permission, .. } => (Vec::new(), permission.clone()),
        };
        let session = &self.sessions[ask.session];
        rehang_strategy::Ask {
            id: ask.id.clone(),
            session: session.id.clone(),
            child: session.parent.is_some(),
            questions,
            permission,
        }
    }

    fn asked_fact(&self, ask: &Ask) -> Fact {
        let (kind, questions, permission) = match &ask.what {
            Asked::Question(questions) => (AskKind::Question, questions.clone(), String::new()),
            Asked::Permission { permission, patterns, .. } => {
                (AskKind::Permission, Vec::new(), format!("{permission} ({})", patterns.join(", ")))
            }
        };
        Fact::Asked { id: ask.id.clone(), kind, session: self.sessions[ask.session].id.clone(), questions, permission }
    }
}

/// What an answered question tells the model. A missing or empty answer is `Unanswered`; PawWork has its own words for
/// a skipped one.
pub fn told(questions: &[Question], answers: &[Vec<String>], pawwork: bool) -> String {
    let mut list = String::new();
    for (at, question) in questions.iter().enumerate() {
        if at > 0 {
            list.push_str(", ");
        }
        let labels: Vec<&str> =
            answers.get(at).into_iter().flatten().map(String::as_str).filter(|l| !l.is_empty()).collect();
        let answer = match labels.is_empty() {
            true if pawwork => SKIPPED.to_owned(),
            true => "Unanswered".to_owned(),
            false => labels.join(", "),
        };
        list.push_str(&format!("\"{}\"=\"{answer}\"", question.question));
    }
    format!("{ANSWERED}: {list}. {ANSWERS_IN_MIND}")
}

/// The title of a question tool: the plural begins above one (`tool/question.ts`).
pub fn asked_title(questions: usize) -> String {
    format!("Asked {questions} question{}", if questions > 1 { "s" } else { "" })
}

/// Whether a text matches a pattern with `*` and `?`; a pattern that ends in ` *` matches the bare word too
/// (`util/wildcard.ts`).
pub fn matches(text: &str, pattern: &str) -> bool {
    if let Some(word) = pattern.strip_suffix(" *")
        && matches(text, word)
    {
        return true;
    }
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut t, mut p) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_as_upstream() {
        assert!(matches("echo hi", "echo *"));
        assert!(matches("echo", "echo *"));
        assert!(!matches("echoes", "echo *"));
        assert!(matches("/a/b/c", "/a/*"));
        assert!(!matches("git push", "git p?ll"));
    }

    #[test]
    fn the_title_counts_as_upstream_does() {
        assert_eq!(asked_title(0), "Asked 0 question");
        assert_eq!(asked_title(1), "Asked 1 question");
        assert_eq!(asked_title(2), "Asked 2 questions");
    }
}
