//! The dry run: what would have been done, and when, while the command is left to itself.
//!
//! Invariant: only the caller's signals are passed on, and no others are sent. The first thing that would have ended
//! the run is reported; after it there are no more looks, since the rest of the run would not have happened.

use super::{End, Supervisor, called};
use rehang_evidence::{Limits, Look, Options, SnapshotError, take};
use rehang_processes::tree;
use rehang_words::text::took;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What a dry run has come to.
#[derive(Default)]
pub struct Dry {
    /// A strategy has begun to end the run, or a part of it.
    pub due: bool,
    /// The process of that part.
    pub part: Option<i32>,
    would: Option<Would>,
}

struct Would {
    after_ms: u64,
    /// What would have been done, and why.
    what: String,
    evidence: PathBuf,
}

impl Supervisor {
    /// Whether what would have been done is known, so that there are no more looks.
    pub(super) fn is_spent(&self) -> bool {
        self.dry.as_ref().is_some_and(|dry| dry.would.is_some())
    }

    /// Keeps and reports what would be done now.
    pub(super) fn would_end(&mut self, end: &End) -> io::Result<()> {
        let meaning = self.meaning(end);
        let part = self.dry.as_ref().and_then(|dry| dry.part);
        let chosen = match part {
            Some(pid) => self.part_of(&tree::below(), &[pid]),
            None => self.chosen(&tree::below(), meaning.over),
        };
        self.tell_end_of(&meaning, &chosen);
        let look = match self.last_look.take() {
            Some(look) => Some(look),
            None => {
                let (pid, agents) = (self.run.pid, self.agents.clone());
                let look = move || {
                    let mut now = take(&[pid], &Options::default())?;
                    agents.mark(&mut now);
                    Ok::<Look, SnapshotError>(Look::of(None, now, &Limits::default()))
                };
                self.meanwhile(look)?.and_then(Result::ok)
            }
        };
        let why = self.why(&meaning, look.as_ref(), &[], &[])?;
        let evidence = self.evidence.keep(why)?;
        let names: Vec<String> = chosen.iter().map(called).collect();
        let verb = match part {
            Some(_) => "ended in part",
            None if meaning.over => "taken as over",
            None => "ended",
        };
        let whom = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let what = format!("{verb}{whom}: {}", meaning.what);
        let would = Would { after_ms: meaning.after_ms, what, evidence };
        self.dry = Some(Dry { due: false, part, would: Some(would) });
        self.host.retire();
        (self.glances, self.glance, self.asks) = (None, None, None);
        Ok(())
    }

    /// What is said at the end of a dry run, and where its evidence is; nothing if nothing would have been done.
    pub(super) fn dry_report(&self) -> (Option<String>, Option<PathBuf>) {
        let Some(would) = self.dry.as_ref().and_then(|dry| dry.would.as_ref()) else { return (None, None) };
        let at = took(Duration::from_millis(would.after_ms));
        let ended = took(Duration::from_millis(self.host.elapsed_ms()));
        let text = format!("dry run: after {at} it would have been {}; it ended by itself after {ended}", would.what);
        (Some(text), Some(would.evidence.clone()))
    }
}
