//! The inside of guard: asks that nobody ends are refused by policy.
//!
//! Invariant: an ask is never refused before its time, and never answered.

use crate::{Act, Facts, Seen, Strategy};
use rehang_scenario::{Canon, Policy, Span, VTime};

#[derive(Debug)]
pub(super) struct Asks {
    run: Span,
    patience: Span,
    is_run: bool,
    open: Vec<(String, VTime)>,
}

impl Asks {
    pub(super) fn new(run: Span, patience: Span) -> Asks {
        Asks { run, patience, is_run: false, open: Vec::new() }
    }

    fn waits(&self) -> Span {
        if self.is_run { self.run } else { self.patience }
    }

    fn refuse(&self, id: String, acts: &mut Vec<Act>) {
        let (text, waits) = (format!("no user answered within {}; refused by policy", self.waits()), self.waits());
        let report = super::report("pending-ask", "refuse", &text, ("after_ms", waits));
        acts.push(Act::Report(Policy { cause: Some("asked".to_owned()), ..report }));
        // PawWork's word whose text says that the user did not answer; the other dialects have none.
        acts.push(Act::Reject { id, reason: "cancelled", policy: true });
    }
}

impl Strategy for Asks {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Boot { run, .. } => self.is_run = *run,
            Seen::Pending(ask) => {
                self.open.retain(|(id, _)| *id != ask.id);
                self.open.push((ask.id.clone(), now + self.waits()));
            }
            Seen::Ended { id } => self.open.retain(|(open, _)| open != id),
            Seen::Tick => {
                let (due, open): (Vec<_>, Vec<_>) =
                    std::mem::take(&mut self.open).into_iter().partition(|(_, at)| now >= *at);
                self.open = open;
                due.into_iter().for_each(|(id, _)| self.refuse(id, acts));
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        self.open.iter().map(|(_, at)| *at).min()
    }

    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            run: _,      // not compared: it never changes after construction
            patience: _, // not compared: it never changes after construction
            is_run,
            open,
        } = self;
        canon.flag(*is_run).list(open, |canon, (id, at)| {
            canon.text(id).deadline(Some(*at));
        });
    }
}
