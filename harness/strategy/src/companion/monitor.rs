//! The monitor hook: a loop that asks for the job's status and tells its user what it hears (seed 2.4).
//!
//! Its lines are without the time of day.
//!
//! Invariant: it says something only on a change (of status, phase or the log's last line), at a heartbeat and at an end, and does not settle the run before it
//! has said so: for its user the run is over when `TERMINAL=` comes, up to one poll late.

use super::heal::Companion;
use super::job::{Status, TASK};
use crate::canon::{option, settled};
use crate::{Act, Facts, ProcessAct, ProcessSeen, Seen, Settled, Strategy};
use rehang_words::{Canon, Span, VTime};

/// The time between two polls (PR 3).
pub const POLL: Span = Span::secs(30);
/// How many unchanged polls come before a heartbeat (OPENCODE_MONITOR_HEARTBEAT_POLLS).
pub const HEARTBEAT_POLLS: u32 = 10;
/// After how many polls it gives up (OPENCODE_MONITOR_MAX_POLLS, PR 5).
pub const MAX_POLLS: u32 = 120;
/// How many characters of a result it shows (OPENCODE_MONITOR_RESULT_CHARS).
pub const RESULT_CHARS: usize = 1_500;

/// The monitor of a companion's job.
#[derive(Debug)]
pub struct Monitor {
    companion: Companion,
    heartbeat: u32,
    max_polls: Option<u32>,
    at: Option<VTime>,
    polls: u32,
    unchanged: u32,
    said: Option<(Status, &'static str, Option<&'static str>)>,
    held: Option<Settled>,
}

impl Monitor {
    /// A monitor that says a heartbeat after `heartbeat` unchanged polls, and gives up after `max_polls` polls, if any.
    pub fn new(companion: Companion, heartbeat: u32, max_polls: Option<u32>) -> Monitor {
        Monitor { companion, heartbeat, max_polls, at: None, polls: 0, unchanged: 0, said: None, held: None }
    }

    fn heard(&mut self, now: VTime, acts: &mut Vec<Act>) {
        let Some(job) = self.companion.job() else { return };
        self.polls = self.polls.saturating_add(1);
        let state = (job.status, job.phase, job.log_line());
        let (status, phase, elapsed) = (job.status.word(), job.phase, job.elapsed(now));
        if self.said != Some(state) {
            self.said = Some(state);
            self.unchanged = 0;
            let line = job.log_line().map(|line| format!(" — {line}")).unwrap_or_default();
            acts.push(Act::Say(format!("opencode {TASK}: {status}/{phase} (elapsed {elapsed}){line}")));
        } else {
            self.unchanged += 1;
            if self.unchanged >= self.heartbeat {
                self.unchanged = 0;
                let text = format!("opencode {TASK}: heartbeat — still {status}/{phase} (elapsed {elapsed})");
                acts.push(Act::Say(text));
            }
        }
        if job.status.is_over() {
            let result: String = job.text.chars().take(RESULT_CHARS).collect();
            acts.push(Act::Say(format!("opencode {TASK} TERMINAL={status} — result summary:\n{result}")));
            self.at = None;
            acts.extend(self.held.take().map(|it| Act::Process(ProcessAct::Settle(it))));
            return;
        }
        self.at = Some(now + POLL);
        if self.max_polls.is_some_and(|most| self.polls >= most) {
            let polls = self.polls;
            let last = format!("last status: {status}/{phase}");
            acts.push(Act::Say(format!(
                "opencode {TASK} TERMINAL=timeout — monitor gave up after {polls} polls ({last})"
            )));
            self.at = None;
        }
    }
}

impl Strategy for Monitor {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        let mut own = Vec::new();
        self.companion.on(now, seen, &mut own);
        match seen {
            Seen::Process(ProcessSeen::Started { .. })
                if self.polls == 0 && self.at.is_none() && self.companion.job().is_some() =>
            {
                self.companion.poll(now, &mut own);
            }
            Seen::Tick if self.at.is_some_and(|at| now >= at) => {
                self.at = None;
                self.companion.poll(now, &mut own);
            }
            _ => {}
        }
        let gave_up = self.max_polls.is_some_and(|most| self.polls >= most);
        for act in own {
            match act {
                Act::Process(ProcessAct::Settle(settled)) if !gave_up => self.held = Some(settled),
                act => acts.push(act),
            }
        }
        if self.companion.take_polled() {
            self.heard(now, acts);
        }
    }

    fn deadline(&self) -> Option<VTime> {
        [self.at, self.companion.deadline()].into_iter().flatten().min()
    }

    /// None, as for its companion: it reports, and ends nothing that a heal would not end.
    fn bound(&self, facts: &Facts) -> Option<Span> {
        self.companion.bound(facts)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            companion,
            heartbeat: _, // not compared: it never changes after construction
            max_polls,
            at,
            polls,
            unchanged,
            said,
            held,
        } = self;
        companion.canon(canon);
        canon.deadline(*at).num(u64::from(*unchanged)).flag(*polls > 0);
        option(canon, *max_polls, |canon, most| {
            canon.capped(u64::from(*polls), u64::from(most));
        });
        option(canon, *said, |canon, (status, phase, line)| {
            canon.num(status as u64).text(phase).text(line.unwrap_or_default());
        });
        option(canon, held.as_ref(), settled);
    }

    fn sends_prompt(&self) -> bool {
        true
    }
}
