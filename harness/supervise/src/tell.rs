//! The events that report a supervised run while it goes on.
//!
//! Invariants: the same event is not reported twice in a row; output alone gives no event, so that a command that
//! speaks without end does not fill the stream.

use super::events::{Event, Finding, Member};
use super::{Below, Meaning, Report, Supervisor, called};
use rehang_evidence::diagnosis::{Sure, Verdict};
use rehang_evidence::{Limits, Look, Pid, graph};
use rehang_hangs::Signature;
use rehang_processes::tree;
use rehang_strategy::Intended;
use rehang_words::Span;
use rehang_words::text::duration;
use std::time::{SystemTime, UNIX_EPOCH};

/// The most processes, and the most waits, of one finding that are reported.
const MAX_MEMBERS: usize = 64;

/// How long a finding lasts before it is said on stderr, and how long is then left at least: what lasts less is seen to
/// end.
const NOTICE: Span = Span::secs(60);

/// What was reported last.
#[derive(Default)]
pub struct Told {
    /// The last finding, and when it was first found.
    finding: Option<(Found, u64)>,
    plan: Option<Event>,
    /// What is found and will be done was said on stderr.
    said: bool,
}

/// What makes two findings the same.
#[derive(PartialEq)]
struct Found {
    verdict: Verdict,
    signature: Signature,
    /// `None` if nothing hangs: a build has another compiler at each look.
    pid: Option<Pid>,
    sure: Sure,
}

/// The name of a stack by one of its members: `guard` of `guard-process(quiet=5m)`.
fn family(by: &str) -> &str {
    by.split(['-', '@', '(']).next().unwrap_or(by)
}

impl Supervisor {
    fn tell(&mut self, event: &Event) {
        let ms = self.host.elapsed_ms();
        if let Some(events) = &mut self.events {
            events.add(ms, event);
        }
    }

    /// The command was started.
    pub(super) fn tell_start(&mut self, strategies: Vec<String>) {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.tell(&Event::Start {
            argv: self.argv.clone(),
            pid: self.run.pid,
            strategies,
            dry_run: self.dry.is_some(),
            unix_ms: u64::try_from(unix.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// A look was taken.
    pub(super) fn tell_look(&mut self, look: &Look) {
        if self.events.is_none() {
            return;
        }
        let found = &look.diagnosis;
        let key = Found {
            verdict: found.verdict,
            signature: found.signature,
            pid: Some(found.pid).filter(|_| found.verdict == Verdict::Hung),
            sure: found.sure,
        };
        if self.told.finding.as_ref().is_some_and(|(last, _)| *last == key) {
            return;
        }
        let since_ms = self.host.elapsed_ms();
        self.told.finding = Some((key, since_ms));
        let member = |process: &rehang_evidence::data::Process| Member {
            pid: process.pid,
            ppid: process.ppid,
            name: process.comm.clone(),
            state: process.state,
        };
        let graph = graph(&look.before, &look.after, &Limits::default());
        self.tell(&Event::Look(Finding {
            verdict: found.verdict,
            signature: found.signature,
            mechanism: found.mechanism,
            sure: found.sure,
            pid: found.pid,
            is_root: found.is_root,
            since_ms,
            sentence: found.sentence.clone(),
            ends: found.ends.clone(),
            because: found.because.clone(),
            last_line: self.last_line.text(),
            waits: graph.edges_from(self.run.pid).into_iter().take(MAX_MEMBERS).cloned().collect(),
            closed_in: graph.is_closed_in(found.pid),
            processes: look.after.tree.values().take(MAX_MEMBERS).map(member).collect(),
        }));
    }

    /// Says once on stderr what is found, and when something will be done about it: from then on that a finding has
    /// lasted for [`NOTICE`], and if nothing has been found, once half of the time is over.
    pub(super) fn tell_notice(&mut self) {
        // a wall comes whatever is found
        let intent = self.host.intent().filter(|(by, _)| !self.told.said && family(by) == "guard");
        let (Some((by, intent)), Some(look)) = (intent, &self.last_look) else { return };
        let does = match (intent.does, self.dry.is_some()) {
            (Intended::End, false) => "ends it",
            (Intended::End, true) => "would end it",
            (Intended::EndPart, false) => "ends that part",
            (Intended::EndPart, true) => "would end that part",
            (Intended::TakeAsOver | Intended::CloseStdin, _) => return,
        };
        let (now, rest) = (self.host.now(), intent.at.since(self.host.now()));
        let lasts = now.since(intent.since);
        let due = if intent.pid.is_some() { lasts >= NOTICE } else { lasts >= rest };
        if !due || rest < NOTICE {
            return;
        }
        self.told.said = true;
        let set =
            intent.parameter.map(|name| format!("; --strategy '{}({name}=TIME)' sets another limit", family(&by)));
        let said = format!(
            "{}; unless that changes, {} {does} in {}{}",
            look.diagnosis.sentence,
            family(&by),
            duration(rest.as_ms()),
            set.unwrap_or_default()
        );
        self.say(&said);
    }

    /// Reports what is found and planned, if it has changed.
    pub(super) fn tell_plan(&mut self) {
        if self.events.is_none() {
            return;
        }
        let plan = self.plan();
        if plan != self.told.plan {
            self.told.plan.clone_from(&plan);
            if let Some(plan) = plan {
                self.tell(&plan);
            }
        }
    }

    /// What will be done first. Only the caller can close the command's stdin, so that is not a plan.
    fn plan(&self) -> Option<Event> {
        let (by, intent) = self.host.intent()?;
        if intent.does == Intended::CloseStdin {
            return None;
        }
        let does = intent.does.word();
        let (since_ms, at_ms) = (self.host.wall_ms(intent.since), self.host.wall_ms(intent.at));
        let (cause, text, pid) = (intent.cause, intent.text, intent.pid);
        Some(Event::Plan { by, does, cause, text, pid, since_ms, at_ms })
    }

    /// Something came out or was typed: what was found no longer counts.
    pub(super) fn tell_moved(&mut self) {
        if self.told.finding.take().is_some() {
            self.told.plan = None;
            self.tell(&Event::Moved);
        }
    }

    /// A signal is about to be sent to the command's group.
    pub(super) fn tell_signal(&mut self, signal: &'static str) {
        self.tell_signal_to(signal, &tree::below());
    }

    /// A signal is about to be sent to these processes.
    pub(super) fn tell_signal_to(&mut self, signal: &'static str, all: &[Below]) {
        if self.events.is_none() {
            return;
        }
        let (by, policy) = self.host.report().cloned().unwrap_or_default();
        let act = Event::Act {
            by,
            does: "signal",
            signal: Some(signal),
            done: true,
            cause: policy.detected.unwrap_or_default(),
            text: policy.text.unwrap_or_default(),
            constants: policy.constants,
            processes: all.iter().map(called).collect(),
        };
        self.tell(&act);
    }

    /// These processes are about to be ended; in a dry run they would be.
    pub(super) fn tell_end_of(&mut self, meaning: &Meaning, chosen: &[Below]) {
        let act = Event::Act {
            by: meaning.by.clone(),
            does: if self.dry.as_ref().is_some_and(|dry| dry.part.is_some()) { "end-part" } else { "end" },
            signal: None,
            done: self.dry.is_none(),
            cause: meaning.cause.clone(),
            text: meaning.text.clone(),
            constants: meaning.constants.clone(),
            processes: chosen.iter().map(called).collect(),
        };
        if self.dry.is_some() || !chosen.is_empty() {
            self.tell(&act);
        }
    }

    /// The run is over.
    pub(super) fn tell_end(&mut self, by: Option<String>, report: &Report, ended: Vec<String>) {
        let Report { code, reason, evidence, left, lost: _ } = report;
        self.tell(&Event::End {
            code: *code,
            by,
            reason: reason.clone(),
            ended,
            left: left.clone(),
            evidence: evidence.clone(),
        });
        if let Some(events) = &mut self.events {
            events.flush();
        }
    }
}
