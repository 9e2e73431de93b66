//! The turn as its client steers it: what it is asked, how it answers, what it adds, and how it interrupts.
//!
//! Invariants: a command that the client is asked for runs, is refused, or waits without a limit; an interrupt ends the turn,
//! and, where commands are waited for, its command; otherwise what runs goes on in the background.

use super::args::Approval;
use super::program::{Fake, Phase};
use super::release::{Protocol, Release, Shell};
use super::turn::{ESCALATED, SESSION, Spoken};
use super::voice::Ended;
use super::writer::aborted;
use rehang_os::os::{Os, Sig};
use rehang_scenario::turns::{Bash, Turn};
use rehang_trace::Fact;
use rehang_wire::model::{Message, Part};
use serde_json::Value;

/// What only a client brings.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Client {
    /// The calls that it was asked for and has not answered.
    pub asking: Vec<String>,
    /// The commands that it has accepted for the session.
    accepted: Vec<String>,
    /// Prompts that came while a turn ran.
    pub more: Vec<String>,
    /// Whether a turn has begun before.
    pub began: bool,
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
    /// Reads an answer in the words of this protocol.
    pub fn of(protocol: Protocol, answer: &Value) -> Decision {
        if answer.get("error").is_some() {
            return Decision::Error;
        }
        let decision = &answer["result"]["decision"];
        if protocol < Protocol::Threads {
            return match decision.as_str() {
                Some("approved") => Decision::Accept,
                Some("approved_for_session") => Decision::AcceptForSession,
                Some("denied") => Decision::Decline,
                Some("abort") => Decision::Cancel,
                _ => Decision::Bogus,
            };
        }
        match decision.as_str() {
            Some("accept") => Decision::Accept,
            Some("acceptForSession") => Decision::AcceptForSession,
            Some("decline") => Decision::Decline,
            Some("cancel") => Decision::Cancel,
            None if decision["acceptWithExecpolicyAmendment"].is_object() => Decision::AcceptForSession,
            _ => Decision::Bogus,
        }
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

    /// Asks the client whether the command may run.
    pub(super) fn ask_client(&mut self, id: &str, bash: &Bash) {
        self.client.asking.push(id.to_owned());
        let command = self.release.in_shell(&bash.command);
        if let Some(voice) = &mut self.writer.voice {
            voice.asks_client(id, &command, &bash.command);
        }
    }

    /// The client has answered.
    pub(super) fn decided(&mut self, os: &mut dyn Os, call: &str, decision: Decision) {
        let server = self.release.server;
        // the older protocol loses the ask
        if server < Protocol::Threads && decision == Decision::Error {
            return;
        }
        let Some(at) = self.client.asking.iter().position(|id| id == call) else { return };
        self.client.asking.remove(at);
        let Some(Turn::Bash(bash)) = self.calls.iter().find(|one| one.id == call).and_then(|one| one.turn.clone())
        else {
            return;
        };
        let (timed, open) = (server == Protocol::Timed, !self.client.asking.is_empty());
        let command = self.release.in_shell(&bash.command);
        let Some(voice) = &mut self.writer.voice else { return };
        let ends = |status| Some((call, command.as_str(), status));
        match decision {
            Decision::Accept | Decision::AcceptForSession => {
                voice.was_answered(None, open);
                if decision == Decision::AcceptForSession {
                    self.client.accepted.push(bash.command.clone());
                }
                return self.run(os, call, &bash);
            }
            Decision::Cancel if server == Protocol::Conversations => {}
            Decision::Decline | Decision::Cancel => voice.was_answered(ends("declined"), open),
            Decision::Bogus if !timed => voice.was_answered(ends("declined"), open),
            Decision::Bogus | Decision::Error => voice.was_answered(ends("failed"), open),
        }
        if decision == Decision::Cancel {
            self.interrupt(os);
            if let Some(voice) = &mut self.writer.voice {
                voice.turn_ends(&Ended::Interrupted);
            }
            return;
        }
        let why = match decision {
            Decision::Bogus | Decision::Error if timed => "approval request failed",
            _ => "rejected by user",
        };
        let of = if self.release.tells_command { format!(" for `{command}`") } else { String::new() };
        let told = match self.release.shell {
            Shell::Yields => {
                format!("exec_command failed{of}: CreateProcess {{ message: \"Rejected(\\\"{why}\\\")\" }}")
            }
            Shell::Waits(_) => "exec command rejected by user".to_owned(),
        };
        self.told(os, call, &told, true);
        self.go_on(os);
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
        self.client.asking.clear();
        self.client.more.clear();
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
