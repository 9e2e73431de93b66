//! The agent of a drafted scenario and who is around it: release, form, terminal, people.
//!
//! Invariant: people do only what the log shows.

use super::{Drafter, person};
use crate::commands::Waits;
use crate::guess::{End, Hang};
use crate::limits;
use crate::note::{Fork, Form, Kind, Reply};
use crate::story::{Ask, Post};
use rehang_scenario::AgentKind;
use rehang_scenario::agents::{CLAUDE, OPENCODE};
use rehang_scenario::{
    Agent, Altimate, Claude, ClaudeMode, Client, Does, Malformed, Opencode, OpencodeMode, Pawwork, Person, Sees, Span,
    Terminal, Via,
};

impl Drafter<'_> {
    pub(super) fn via(&self) -> Via {
        match (self.story.agent.kind, self.interactive()) {
            (_, true) => Via::Tty,
            (Kind::Claude, _) => Via::Stdin,
            _ => Via::Http,
        }
    }

    /// Whether a person was at the session, as far as the log shows.
    fn interactive(&self) -> bool {
        let waits = matches!(self.guess.hang, Hang::Ask(_) | Hang::Call { .. });
        self.story.agent.kind == Kind::Claude && self.story.agent.form == Form::Transcript && waits
    }

    /// Who ended the asks that are kept, and who stopped it.
    pub(super) fn people(&mut self) -> Vec<Person> {
        let via = self.via();
        let http = via == Via::Http;
        let tree = self.asks.iter().any(|&at| self.story.depth(&self.story.asks[at].session) > 0);
        let sees = http.then_some(if tree { Sees::Tree } else { Sees::Events });
        let mut people = Vec::new();
        if self.story.agent.kind.is_alone() {
            return people;
        }
        if self.story.agent.kind == Kind::Opencode && self.story.agent.form == Form::Once {
            return people;
        }
        for (number, &at) in self.asks.clone().iter().enumerate() {
            let ask = &self.story.asks[at];
            if let Some((end, does)) = ask.end.as_ref().and_then(|(end, how)| Some((*end, self.does(ask, how)?))) {
                let after = Span::ms(end.saturating_sub(ask.at).min(limits::GAP_MAX_MS));
                let ask = if self.asks.len() > 1 { u32::try_from(number + 1).unwrap_or(1) } else { 0 };
                people.extend(person(via, sees, ask, after, does));
            }
        }
        people.extend(self.breaks_off(via));
        let of_root = |session: &str| session.is_empty() || self.story.root_of(session) == self.root;
        if let Some((at, _)) = self.story.ending.stopped.as_ref().filter(|(_, session)| of_root(session)) {
            let open = self.asks.iter().position(|&ask| {
                self.story.asks[ask].end.as_ref().is_none_or(|(end, how)| *end >= *at && *how == Reply::Withdrawn)
            });
            let stops = match open {
                Some(place) => {
                    let asked = self.story.asks[self.asks[place]].at;
                    let ask = if self.asks.len() > 1 { u32::try_from(place + 1).unwrap_or(1) } else { 0 };
                    let after = Span::ms(at.saturating_sub(asked).min(limits::GAP_MAX_MS));
                    person(via, sees, ask, after, Does::Stop)
                }
                None => {
                    let after =
                        Span::ms(at.saturating_sub(self.story.clock.first.unwrap_or(*at)).clamp(1, limits::GAP_MAX_MS));
                    person(via, Some(Sees::Clock), 0, after, Does::Stop)
                }
            };
            people.extend(stops);
        }
        people
    }

    /// The person who closed the agent's stdin, or sent something that is not a message, while something was asked.
    fn breaks_off(&self, via: Via) -> Option<Person> {
        let story = self.story;
        let (at, does) = match (story.client.misfit, story.client.input_ended) {
            (Some(at), _) => (at, Does::Malformed(Malformed::Syntax)),
            (None, Some(at)) => (at, Does::HangUp),
            (None, None) => return None,
        };
        let place = self.asks.iter().position(|&ask| story.asks[ask].at <= at && story.asks[ask].open_until(at))?;
        let asked = story.asks[self.asks[place]].at;
        let ask = if self.asks.len() > 1 { u32::try_from(place + 1).unwrap_or(1) } else { 0 };
        let after = Span::ms(at.saturating_sub(asked).min(limits::GAP_MAX_MS));
        (via == Via::Stdin).then(|| person(via, None, ask, after, does)).flatten()
    }

    fn does(&mut self, ask: &Ask, how: &Reply) -> Option<Does> {
        Some(match how {
            Reply::Answers(answers) => {
                let answers: Vec<Vec<String>> =
                    answers.iter().map(|labels| labels.iter().map(|label| self.text(label)).collect()).collect();
                let single = answers.iter().all(|labels| labels.len() == 1);
                match single {
                    true => Does::Answer(answers.into_iter().flatten().collect()),
                    false => Does::Answers(answers),
                }
            }
            Reply::Allowed => Does::Allow,
            Reply::Always => Does::Always,
            Reply::Denied => Does::Deny,
            Reply::Skipped => Does::Skip,
            Reply::Dismissed => Does::Dismiss,
            Reply::Withdrawn => return None,
        })
        .filter(|_| !ask.id.is_empty())
    }

    pub(super) fn agent(&self) -> (Agent, Vec<Terminal>) {
        let story = self.story;
        if let Some(alone) = self.alone() {
            return alone;
        }
        let release = |kind: &AgentKind| nearest(story.agent.release.as_deref(), kind.releases, kind.default_release);
        if story.agent.kind == Kind::Claude {
            let (mode, terminal) = match story.agent.form {
                _ if self.interactive() => (ClaudeMode::Interactive, Terminal::Tty),
                Form::Host => (ClaudeMode::StreamJson, Terminal::Pipe),
                // a person who interrupts a session at a terminal leaves it open: a host's interrupt ends it
                Form::Transcript if self.guess.end == End::Stopped => (ClaudeMode::StreamJson, Terminal::Pipe),
                Form::Text => (ClaudeMode::Print, Terminal::Null),
                _ if self.waits_for_host() => (ClaudeMode::StreamJson, Terminal::Pipe),
                _ => (ClaudeMode::Json, Terminal::Null),
            };
            let tty = matches!(self.guess.hang, Hang::Bash { waits: Waits::Tty, .. });
            let release = release(&CLAUDE);
            return (Agent::Claude(Claude { release, mode }), vec![if tty { Terminal::Tty } else { terminal }]);
        }
        let mode = if story.agent.form == Form::Once { OpencodeMode::Run } else { OpencodeMode::Serve };
        let events = story.client.post == Post::Events || self.guess.hang == Hang::Idle;
        let client = match events && mode == OpencodeMode::Serve {
            true if story.client.resyncs => Client::Resync,
            true => Client::Events,
            false => Client::Post,
        };
        let tty = matches!(self.guess.hang, Hang::Bash { waits: Waits::Tty, .. });
        let terminal = if tty { Terminal::Tty } else { Terminal::Null };
        match story.fork() {
            Some(Fork::Altimate) => {
                return (Agent::Altimate(Altimate { mode, client, ..Altimate::default() }), vec![terminal]);
            }
            Some(Fork::Pawwork) => {
                return (Agent::Pawwork(Pawwork { client, ..Pawwork::default() }), vec![terminal]);
            }
            None => {}
        }
        let release = release(&OPENCODE);
        (Agent::Opencode(Opencode { release, mode, client }), vec![terminal])
    }

    /// Whether the agent waits for a program that answers its asks: without one it would have refused them itself.
    fn waits_for_host(&self) -> bool {
        let asks = match self.guess.hang {
            Hang::Ask(_) => self.story.agent.prompt_tool,
            Hang::Call { .. } => true,
            _ => false,
        };
        asks && self.story.agent.kind == Kind::Claude && self.story.agent.form == Form::Once
    }

    pub(super) fn args(&self) -> Vec<String> {
        let story = self.story;
        let mut args = Vec::new();
        if story.agent.kind != Kind::Claude {
            return self.allowed();
        }
        if story.agent.prompt_tool && story.agent.form == Form::Host || self.waits_for_host() {
            args.extend(["--permission-prompt-tool".to_owned(), "stdio".to_owned()]);
        }
        match story.agent.mode.as_deref() {
            Some("bypassPermissions") => args.push("--dangerously-skip-permissions".to_owned()),
            Some(mode @ ("acceptEdits" | "plan" | "dontAsk")) => {
                args.extend(["--permission-mode".to_owned(), mode.to_owned()]);
            }
            _ => {}
        }
        args
    }
}

/// The nearest release below that a fake plays; the first one if none is below.
pub(super) fn nearest(release: Option<&str>, known: &[&str], default: &str) -> String {
    let parse = |text: &str| {
        let mut parts = text.split(['.', '-', '+']).map(|n| n.parse::<u64>().unwrap_or(0));
        [parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0)]
    };
    let Some(release) = release.map(parse).filter(|r| *r > [0, 0, 0]) else { return default.to_owned() };
    let below = known.iter().filter(|k| parse(k) <= release).max_by_key(|k| parse(k));
    below.or(known.first()).map_or_else(|| default.to_owned(), |k| (*k).to_owned())
}
