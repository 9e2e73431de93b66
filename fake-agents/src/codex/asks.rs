//! The turn as its client steers it: what it is asked, how it answers, what it adds, and how it interrupts.
//!
//! Invariants: a command that the client is asked for runs, is refused, or waits without a limit; an interrupt ends the turn,
//! and, where commands are waited for, its command; otherwise what runs goes on in the background.

use super::args::{Approval, SANDBOXES};
use super::program::{Fake, Phase};
use super::release::{Protocol, Release, SERVER_LIMIT, Shell};
use super::turn::{ESCALATED, SESSION, Spoken};
use super::voice::Ended;
use super::voice::asked::{Ends, Wanted, asks_for_servers};
use super::writer::aborted;
use rehang_os::os::{Os, Sig};
use rehang_scenario::VTime;
use rehang_scenario::attribution::{CALL_CANCELLED, CALL_REJECTED, PATCH_REJECTED, REJECTED};
use rehang_scenario::turns::{Bash, Permit, Turn};
use rehang_trace::{AskEnd, Cause, Fact};
use rehang_wire::model::{Message, Part};
use serde_json::{Value, json};

/// The permission of a call in whose middle the tool server asks the user something; the texts that it is asked for are the
/// question.
const ELICITATION: &str = "elicitation";

/// What only a client brings.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Client {
    /// What it was asked for and has not answered.
    pub asking: Vec<Asking>,
    /// How often it was asked.
    asked: u32,
    /// The tools of its own that the model may call.
    pub tools: Vec<String>,
    /// The commands that it has accepted for the session.
    accepted: Vec<String>,
    /// The calls that it has accepted and that do not run yet.
    accepted_calls: Vec<String>,
    /// Prompts that came while a turn ran.
    pub more: Vec<String>,
    /// Whether a turn has begun before.
    pub began: bool,
}

/// What the client was asked for.
#[derive(Debug, Clone, Hash)]
pub(super) struct Asking {
    /// Its id in facts.
    id: String,
    pub call: String,
    pub wanted: Wanted,
    /// When the call is given up, if the release limits it.
    pub until: Option<VTime>,
}

/// Whether a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MayRun {
    Yes,
    No,
    Asks,
}

/// The client's answer to an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Accept,
    AcceptForSession,
    Decline,
    Cancel,
    /// A word that is none of these.
    Bogus,
    /// An error instead of an answer.
    Error,
}

impl Decision {
    /// Reads an answer to this in the words of the protocol.
    fn of(protocol: Protocol, wanted: &Wanted, answer: &Value) -> Decision {
        if answer.get("error").is_some() {
            return Decision::Error;
        }
        let result = &answer["result"];
        let word = match wanted {
            Wanted::Answers(_) if result["answers"].is_object() => return Decision::Accept,
            Wanted::Answers(_) | Wanted::Call { .. } => return Decision::Bogus,
            Wanted::Server { .. } => &result["action"],
            Wanted::Command { .. } | Wanted::File { .. } => &result["decision"],
        };
        if protocol < Protocol::Threads {
            return match word.as_str() {
                Some("approved") => Decision::Accept,
                Some("approved_for_session") => Decision::AcceptForSession,
                Some("denied") => Decision::Decline,
                Some("abort") => Decision::Cancel,
                _ => Decision::Bogus,
            };
        }
        match word.as_str() {
            Some("accept") => Decision::Accept,
            Some("acceptForSession") => Decision::AcceptForSession,
            Some("decline") => Decision::Decline,
            Some("cancel") => Decision::Cancel,
            None if word["acceptWithExecpolicyAmendment"].is_object() => Decision::AcceptForSession,
            _ => Decision::Bogus,
        }
    }
}

/// What the client was asked for has ended.
fn ended(os: &mut dyn Os, asking: &Asking, decision: &Decision) {
    let (end, cause) = match decision {
        Decision::Accept | Decision::AcceptForSession => (AskEnd::Replied, Cause::Answer),
        Decision::Decline | Decision::Cancel => (AskEnd::Rejected, Cause::Dismiss),
        Decision::Bogus | Decision::Error => (AskEnd::Rejected, Cause::Malformed),
    };
    note_end(os, asking, end, cause);
}

fn note_end(os: &mut dyn Os, asking: &Asking, end: AskEnd, cause: Cause) {
    if asking.wanted.kind().is_some() {
        let (id, by) = (asking.id.clone(), "user".to_owned());
        os.note(Fact::AskEnded { id, end, cause, by, answers: Vec::new() });
    }
}

/// Whether a call changes a file.
pub(super) fn is_patch(permit: &Permit) -> bool {
    matches!(permit.tool.as_str(), "write" | "edit" | "multiedit")
}

/// What the model is told of a call of a tool server's tool.
fn told_of_server(release: &Release, text: &str) -> String {
    match release.server {
        Protocol::Timed => format!("Wall time: 0.0000 seconds\nOutput:\n{text}"),
        _ => json!([{"type": "text", "text": text}]).to_string(),
    }
}

impl Fake {
    /// Whether this command may run, by the policy and the sandbox. Without a sandbox there is nothing to leave.
    pub(super) fn may_run(&self, bash: &Bash) -> MayRun {
        let escalated = bash.asks.as_deref() == Some(ESCALATED);
        match self.args.approval {
            Approval::Never if escalated => MayRun::No,
            _ if self.client.accepted.contains(&bash.command) => MayRun::Yes,
            Approval::Untrusted => MayRun::Asks,
            Approval::Leaving if escalated && self.args.sandbox != "danger-full-access" => MayRun::Asks,
            Approval::Never | Approval::Leaving => MayRun::Yes,
        }
    }

    /// What a call asks the client for, if it asks for anything: not in `exec`, which has no client.
    pub(super) fn wanted(&self, turn: &Turn) -> Option<Wanted> {
        self.writer.voice.as_ref()?;
        match turn {
            Turn::Bash(bash) if self.may_run(bash) == MayRun::Asks => {
                Some(Wanted::Command { command: self.release.in_shell(&bash.command), line: bash.command.clone() })
            }
            Turn::Ask(questions) if self.args.asks_user => Some(Wanted::Answers(questions.clone())),
            Turn::Permit(permit) if is_patch(permit) => {
                let asks = self.args.sandbox == SANDBOXES[0] && self.args.approval != Approval::Never;
                let path = permit.patterns.first().cloned().unwrap_or_default();
                asks.then_some(Wanted::File { path })
            }
            Turn::Permit(permit) if self.client.tools.contains(&permit.tool) => {
                Some(Wanted::Call { tool: permit.tool.clone() })
            }
            Turn::Permit(permit) => {
                let (server, tool) = permit.tool.strip_prefix("mcp__")?.split_once("__")?;
                let (server, tool) = (server.to_owned(), tool.to_owned());
                let message = (permit.permission == ELICITATION).then(|| permit.patterns.join(" "));
                let asks = message.is_some() || asks_for_servers(self.release.server);
                (asks && self.args.approval != Approval::Never).then_some(Wanted::Server { server, tool, message })
            }
            _ => None,
        }
    }

    /// Asks the client for it.
    pub(super) fn ask_client(&mut self, os: &mut dyn Os, call: &str, wanted: Wanted) {
        self.client.asked += 1;
        let id = format!("req_{}", self.client.asked);
        if let Some(kind) = wanted.kind() {
            os.note(Fact::Asked {
                id: id.clone(),
                kind,
                session: SESSION.to_owned(),
                questions: wanted.questions(),
                permission: wanted.permission(),
            });
        }
        if let Some(voice) = &mut self.writer.voice {
            voice.asks_client(call, &wanted);
        }
        // 0.116.0 limits a call of a tool server, whatever the user is asked meanwhile
        let is_call = matches!(&wanted, Wanted::Server { message: Some(_), .. });
        let until = (is_call && self.release.server == Protocol::Threads).then(|| os.now() + SERVER_LIMIT);
        self.client.asking.push(Asking { id, call: call.to_owned(), wanted, until });
    }

    /// A call whose time is up fails; returns whether there was one. What the client was asked stays open until the turn ends.
    pub(super) fn gives_up(&mut self, os: &mut dyn Os) -> bool {
        let is_due = |asking: &Asking| asking.until.is_some_and(|until| until <= os.now());
        let Some(at) = self.client.asking.iter().position(is_due) else { return false };
        let asking = self.client.asking.remove(at);
        let (id, by) = (asking.id, "agent".to_owned());
        os.note(Fact::AskEnded { id, end: AskEnd::Dropped, cause: Cause::Policy, by, answers: Vec::new() });
        let Wanted::Server { server, tool, .. } = &asking.wanted else { return true };
        let limit = SERVER_LIMIT.as_ms() / 1_000;
        let why = format!(
            "tool call error: tool call failed for `{server}/{tool}`\n\nCaused by:\n    timed out awaiting tools/call after {limit}s"
        );
        if let Some(voice) = &mut self.writer.voice {
            voice.ends(&asking.call, &asking.wanted, &Ends { status: "failed", result: Err(&why) });
        }
        self.goes_on_with(os, &asking.call, &why, true);
        true
    }

    /// The client has answered.
    pub(super) fn decided(&mut self, os: &mut dyn Os, call: &str, message: &Value) {
        let server = self.release.server;
        let at = self.client.asking.iter().position(|asking| asking.call == call);
        let Some(decision) = at.map(|at| Decision::of(server, &self.client.asking[at].wanted, message)) else { return };
        // the older protocol loses the ask
        if server < Protocol::Threads && decision == Decision::Error {
            return;
        }
        let asking = self.client.asking.remove(at.unwrap_or_default());
        let Asking { wanted, .. } = &asking;
        ended(os, &asking, &decision);
        match (wanted, &decision) {
            (Wanted::Call { .. }, _) => return self.client_called(os, call, wanted, message),
            (Wanted::Answers(_), _) => {
                let answers = if decision == Decision::Accept { &message["result"]["answers"] } else { &json!({}) };
                let text = json!({ "answers": answers }).to_string();
                return self.answered(os, call, wanted, None, &text);
            }
            (Wanted::Server { .. }, _) => return self.server_called(os, call, wanted, (&decision, message)),
            (Wanted::Command { line, .. }, Decision::Accept | Decision::AcceptForSession) => {
                if decision == Decision::AcceptForSession {
                    self.client.accepted.push(line.clone());
                }
                self.tell_answered(call, wanted, None);
                self.client.accepted_calls.push(call.to_owned());
                return self.run_accepted(os);
            }
            (Wanted::File { .. }, Decision::Accept | Decision::AcceptForSession) => {
                let ends = Ends { status: "completed", result: Ok("") };
                let text = self.output_of(call);
                return self.answered(os, call, wanted, Some(&ends), &text);
            }
            _ => {}
        }
        let timed = server == Protocol::Timed;
        let failed = timed && matches!(decision, Decision::Bogus | Decision::Error);
        let is_command = matches!(wanted, Wanted::Command { .. });
        let status = if is_command && (failed || decision == Decision::Error) { "failed" } else { "declined" };
        // what is cancelled has no end in the oldest release, nor has a change of a file in the newest one
        let has_end = decision != Decision::Cancel
            || (server != Protocol::Conversations && (is_command || server != Protocol::Timed));
        let ends = Ends { status, result: Ok("") };
        if decision == Decision::Cancel {
            self.tell_answered(call, wanted, has_end.then_some(&ends));
            self.interrupt(os);
            if let Some(voice) = &mut self.writer.voice {
                voice.turn_ends(&Ended::Interrupted);
            }
            return;
        }
        let told = match (wanted, self.release.shell) {
            (Wanted::Command { command, .. }, Shell::Yields) => {
                let of = if self.release.tells_command { format!(" for `{command}`") } else { String::new() };
                let why = if failed { r#"Rejected(\"approval request failed\")" }"# } else { REJECTED };
                format!("exec_command failed{of}: CreateProcess {{ message: \"{why}")
            }
            (Wanted::Command { .. }, Shell::Waits(_)) => "exec command rejected by user".to_owned(),
            _ if failed => "approval request failed".to_owned(),
            _ => PATCH_REJECTED.to_owned(),
        };
        self.tell_answered(call, wanted, Some(&ends));
        if let (Wanted::File { .. }, Protocol::Threads, Some(voice)) = (wanted, server, &mut self.writer.voice) {
            // 0.116.0 says twice that a change was declined
            voice.ends(call, wanted, &ends);
        }
        self.goes_on_with(os, call, &told, true);
    }

    /// Runs the commands that the client has accepted: 0.169.0 begins with them once no other command is asked for.
    fn run_accepted(&mut self, os: &mut dyn Os) {
        let mut asking = self.client.asking.iter();
        if self.release.server == Protocol::Timed
            && asking.any(|asking| matches!(asking.wanted, Wanted::Command { .. }))
        {
            return;
        }
        for call in std::mem::take(&mut self.client.accepted_calls) {
            let turn = self.calls.iter().find(|one| one.id == call).and_then(|one| one.turn.clone());
            if let Some(Turn::Bash(bash)) = turn {
                self.run(os, &call, &bash);
            }
        }
    }

    /// The client has answered for a tool server: whether its tool may be called, or what the user says to it.
    fn server_called(&mut self, os: &mut dyn Os, call: &str, wanted: &Wanted, (decision, answer): (&Decision, &Value)) {
        let Wanted::Server { message, .. } = wanted else { return };
        let (text, refused) = match (message, decision) {
            (Some(_), Decision::Accept) => {
                let content = Some(&answer["result"]["content"]).filter(|content| !content.is_null());
                let mut said = json!({"action": "accept"});
                content.into_iter().for_each(|content| said["content"] = content.clone());
                (said.to_string(), None)
            }
            (Some(_), Decision::Cancel) => (json!({"action": "cancel"}).to_string(), None),
            (Some(_), _) => (json!({"action": "decline"}).to_string(), None),
            (None, Decision::Accept) => (self.output_of(call), None),
            (None, Decision::Cancel) => (String::new(), Some(CALL_CANCELLED)),
            (None, _) => (String::new(), Some(CALL_REJECTED)),
        };
        let ends = match refused {
            Some(why) => Ends { status: "failed", result: Err(why) },
            None => Ends { status: "completed", result: Ok(&text) },
        };
        let told = told_of_server(self.release, refused.unwrap_or(&text));
        self.answered(os, call, wanted, Some(&ends), &told);
    }

    /// A tool server's tool is called without a question.
    pub(super) fn call_server(&mut self, os: &mut dyn Os, call: &str, permit: &Permit) -> bool {
        let names = permit.tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        let (Some((server, tool)), Some(voice)) = (names, &mut self.writer.voice) else { return false };
        if self.release.server != Protocol::Threads {
            return false;
        }
        let wanted = Wanted::Server { server: server.to_owned(), tool: tool.to_owned(), message: None };
        voice.called(call, &wanted, &Ends { status: "completed", result: Ok(&permit.output) });
        self.told(os, call, &told_of_server(self.release, &permit.output), false);
        true
    }

    /// The client has given the result of its own tool.
    fn client_called(&mut self, os: &mut dyn Os, call: &str, wanted: &Wanted, message: &Value) {
        let result = &message["result"];
        let items = result["contentItems"].as_array().filter(|_| result["success"].is_boolean());
        let text = match items {
            Some(items) => items.iter().filter_map(|item| item["text"].as_str()).collect::<Vec<_>>().join("\n"),
            None if message.get("error").is_some() => "dynamic tool request failed".to_owned(),
            None => "dynamic tool response was invalid".to_owned(),
        };
        let ends = match items.is_some() && result["success"] == true {
            true => Ends { status: "completed", result: Ok(&text) },
            false => Ends { status: "failed", result: Err(&text) },
        };
        self.answered(os, call, wanted, Some(&ends), &text);
    }

    /// What was asked for has its answer, and the model is told this.
    fn answered(&mut self, os: &mut dyn Os, call: &str, wanted: &Wanted, ends: Option<&Ends<'_>>, text: &str) {
        self.tell_answered(call, wanted, ends);
        let failed = ends.is_some_and(|ends| ends.status != "completed");
        self.goes_on_with(os, call, text, failed);
    }

    fn goes_on_with(&mut self, os: &mut dyn Os, call: &str, text: &str, failed: bool) {
        self.told(os, call, text, failed);
        self.run_accepted(os);
        self.go_on(os);
    }

    fn tell_answered(&mut self, call: &str, wanted: &Wanted, ends: Option<&Ends<'_>>) {
        let open = self.client.asking.iter().any(|asking| asking.wanted.kind().is_some());
        if let Some(voice) = &mut self.writer.voice {
            voice.was_answered(call, wanted, ends, open);
        }
    }

    /// What the tool of this call returns, as its file says.
    fn output_of(&self, call: &str) -> String {
        let turn = self.calls.iter().find(|one| one.id == call).and_then(|one| one.turn.as_ref());
        match turn {
            Some(Turn::Permit(permit)) => permit.output.clone(),
            _ => String::new(),
        }
    }

    /// Begins a turn.
    pub(super) fn prompted(&mut self, os: &mut dyn Os, prompt: &str) {
        if std::mem::replace(&mut self.client.began, true) {
            self.nth += 1;
        }
        self.spoken = Spoken::default();
        (self.tries, self.lost) = ((0, 0), false);
        self.messages.push(Message::text("user", prompt));
        os.note(Fact::Session { id: SESSION.to_owned(), parent: String::new() });
        os.note(Fact::Busy { session: SESSION.to_owned(), busy: true });
        self.take_more();
        self.ask(os);
    }

    /// What the client added while the turn ran is said to the model with its next request.
    pub(super) fn take_more(&mut self) {
        for text in std::mem::take(&mut self.client.more) {
            if let Some(voice) = &mut self.writer.voice {
                voice.prompt(&text);
            }
            self.messages.push(Message::text("user", &text));
        }
    }

    /// Whether there is something that the client added; then the turn goes on with another request.
    pub(super) fn has_more(&mut self, os: &mut dyn Os) -> bool {
        if self.client.more.is_empty() {
            return false;
        }
        self.writer.response_ends();
        self.nth += 1;
        self.take_more();
        self.ask(os);
        true
    }

    /// The turn is given up; its commands go on in the background.
    pub(super) fn interrupt(&mut self, os: &mut dyn Os) {
        let running = std::mem::take(&mut self.running);
        let mut told = self.aborted(os, &running);
        match self.release.shell {
            Shell::Yields => self.terminals.extend(running),
            Shell::Waits(_) => running.into_iter().for_each(|(run, _)| drop(run.kill(os, Sig::Kill))),
        }
        for call in std::mem::take(&mut self.calls) {
            let aborted = told.iter().position(|(id, _)| *id == call.id).map(|at| told.remove(at).1);
            let text = aborted.or(call.told.map(|(text, _)| text));
            let text = text.unwrap_or_else(|| aborted_now(self.release));
            self.messages.push(Message {
                role: "user".to_owned(),
                parts: vec![Part::Result { id: call.id, text, is_error: true }],
            });
        }
        for asking in std::mem::take(&mut self.client.asking) {
            note_end(os, &asking, AskEnd::Rejected, Cause::Stop);
            if let (Wanted::Call { .. }, Protocol::Timed, Some(voice)) =
                (&asking.wanted, self.release.server, &mut self.writer.voice)
            {
                voice.ends(&asking.call, &asking.wanted, &Ends { status: "failed", result: Err("") });
            }
        }
        self.client.more.clear();
        self.client.accepted_calls.clear();
        self.model.abort(os);
        os.note(Fact::Result { ok: false, text: "interrupted".to_owned() });
        os.note(Fact::Busy { session: SESSION.to_owned(), busy: false });
        self.phase = Phase::Leaving(1);
        if let Some(voice) = &mut self.writer.voice {
            voice.given_up();
        }
    }
}

fn aborted_now(release: &Release) -> String {
    aborted(release, rehang_scenario::Span::ZERO)
}
