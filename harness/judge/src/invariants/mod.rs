//! The nine invariants: rules that apply to every cell, whatever the scenario says.
//!
//! Invariant: each is a function of a [`View`] alone and reports its breaches in one sentence that names actor, ask and
//! cause. Tests in each file show that it fires, and that it does not fire in a case that is nearly a breach.

pub mod ask_end;
pub mod attributed;
pub mod bounds;
pub mod harm;
pub mod left;
pub mod rejected;
pub mod reply;
pub mod report;
mod times;
pub mod unfinished;
mod unsaid;

use crate::verdict::Breach;
use crate::view::View;
use rehang_scenario::Invariant;

/// The check of an invariant.
pub fn check_of(invariant: Invariant) -> fn(&View<'_>) -> Vec<Breach> {
    match invariant {
        Invariant::RejectedWithoutCause => rejected::check,
        Invariant::AskWithoutEnd => ask_end::check,
        Invariant::UntrueReport => report::check,
        Invariant::OutOfBounds => bounds::check,
        Invariant::Harm => harm::check,
        Invariant::DoubleOrInventedReply => reply::check,
        Invariant::Unfinished => unfinished::check,
        Invariant::LeftBehind => left::check,
        Invariant::AttributedToUser => attributed::check,
    }
}

/// All breaches, in the order of the invariants.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    Invariant::ALL.into_iter().flat_map(|invariant| check_of(invariant)(view)).collect()
}
