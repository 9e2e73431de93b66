//! The absolute cap: whatever the agent does, it is over then.
//!
//! Invariant: it looks only at the clock, so it ends every hang, and every healthy run that is longer. The end of the
//! agent's process does not end the run: while a process holds its pipe, its wrapper reads on.

use crate::entry::Value;
use crate::{
    Act, Entry, Facts, Intended, Intent, Param, Params, ProcessAct, ProcessSeen, Seat, Seen, Settled, Strategy, Whom,
    Wire,
};
use rehang_words::{Canon, Policy, Span, VTime};

/// The only version.
pub const ENTRIES: &[Entry] = &[Entry {
    name: "wall",
    seat: Seat::Outside,
    origin: "what `timeout 4h CMD` does in CI; 4 h is the opencode companion's OPENCODE_PROMPT_TIMEOUT_MS (PR 3)",
    summary: "ends the run after an absolute time, with its whole process group",
    speaks: &[Wire::Process],
    params: &[Param {
        name: "cap",
        default: Value::Span(Span::hours(4)),
        doc: "the run's longest time; 0ms: none. A 4 h cap is reached in virtual time",
    }],
    build,
}];

fn build(params: &Params) -> Box<dyn Strategy> {
    Box::new(Wall { cap: params.span("cap"), until: None, due: None, exited: false, open: 2 })
}

struct Wall {
    cap: Span,
    /// The end of all runs, counted from the first one's start.
    until: Option<VTime>,
    due: Option<VTime>,
    exited: bool,
    /// How many of the agent's streams have not ended.
    open: u8,
}

impl Wall {
    fn text(&self) -> String {
        format!("the run was not over after {}", self.cap)
    }
}

impl Strategy for Wall {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Process(ProcessSeen::OutputEnd(_)) => self.open = self.open.saturating_sub(1),
            Seen::Process(ProcessSeen::Exited(_)) => self.exited = true,
            Seen::Process(ProcessSeen::Started { .. }) if self.cap > Span::ZERO => {
                (self.exited, self.open) = (false, 2);
                self.due = Some(*self.until.get_or_insert(now + self.cap));
            }
            Seen::Tick if self.due.is_some_and(|due| now >= due) => {
                self.due = None;
                acts.push(Act::Process(ProcessAct::Kill { sig: "KILL", whom: Whom::Group }));
                let text = self.text();
                let constants = [("cap_ms".to_owned(), self.cap.as_ms())].into();
                acts.push(Act::Report(Policy {
                    detected: Some("wall".to_owned()),
                    cause: Some("wall".to_owned()),
                    text: Some(text.clone()),
                    constants,
                    ..Policy::default()
                }));
                acts.push(Act::Process(ProcessAct::Settle(Settled::Stopped("wall".to_owned(), text))));
            }
            _ => {}
        }
        if self.exited && self.open == 0 {
            self.due = None;
        }
    }

    fn deadline(&self) -> Option<VTime> {
        self.due
    }

    fn bound(&self, _: &Facts) -> Option<Span> {
        (self.cap > Span::ZERO).then_some(self.cap)
    }

    fn intent(&self) -> Option<Intent> {
        let at = self.due?;
        Some(Intent {
            does: Intended::End,
            cause: "wall".to_owned(),
            text: self.text(),
            pid: None,
            since: VTime(at.0.saturating_sub(self.cap.as_ms())),
            at,
            parameter: Some("cap"),
        })
    }

    /// It acts like `timeout` around whatever the caller runs.
    fn outlives_run(&self) -> bool {
        true
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            cap: _, // not compared: it never changes after construction
            until,
            due,
            exited,
            open,
        } = self;
        canon.deadline(*until).deadline(*due).flag(*exited).num((*open).into());
    }
}

#[cfg(test)]
mod tests;
