//! The baseline: it detects nothing. A hang must hang under it.

use crate::{Act, Entry, Facts, Params, Seat, Seen, Strategy};
use rehang_words::{Canon, Span, VTime};

/// The entry of the baseline.
pub const ENTRIES: &[Entry] = &[Entry {
    name: "none",
    seat: Seat::Nowhere,
    origin: "the agent alone, as its wrapper or client runs it",
    summary: "detects nothing and does nothing: where the scenario says `hung`, it must hang",
    speaks: &[],
    params: &[],
    build,
}];

fn build(_: &Params) -> Box<dyn Strategy> {
    Box::new(Nothing)
}

struct Nothing;

impl Strategy for Nothing {
    fn on(&mut self, _: VTime, _: &Seen, _: &mut Vec<Act>) {}
    fn deadline(&self) -> Option<VTime> {
        None
    }
    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }
    fn canon(&self, _: &mut Canon) {
        let Self = self;
    }
}
