//! The strategies' limits, which a search draws its times near.
//!
//! Invariant: each is a strategy's or an agent's own constant, none is repeated here.

use rehang_scenario::Span;
use rehang_scenario::random::Rng;
use rehang_scenario::random::vocabulary::{self, LONGEST};
use rehang_strategy::{Params, all};
use rehang_strategy::{companion, guard, idle, pawwork};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The random source of a search; it draws times near a limit of some strategy.
pub fn rng(seed: u64) -> Rng {
    Rng::new(seed).near(&SPANS)
}

/// The limits of all strategies, the least first.
pub static LIMITS: LazyLock<Vec<Span>> = LazyLock::new(|| {
    let mut limits: BTreeSet<u64> = all()
        .iter()
        .flat_map(|entry| Params::defaults(entry.params).spans.into_values())
        .chain([companion::heal::STILL, companion::monitor::POLL, companion::watcher::STREAM_STALL])
        .chain([companion::watcher::START_DELAY, companion::watcher::POLL_TIMEOUT])
        .chain([pawwork::recovery::HEAL_DELAY, pawwork::clock::CONNECT_REASONING, pawwork::external::TOMBSTONE])
        .chain([idle::SELECT, idle::REAP, guard::QUIET, guard::AT_WORK])
        .chain(vocabulary::LIMITS)
        .map(Span::as_ms)
        .collect();
    limits.remove(&0);
    limits.into_iter().map(Span).filter(|span| *span <= LONGEST).collect()
});

/// The limits, a tick before each, and times a little after each.
static SPANS: LazyLock<Vec<Span>> = LazyLock::new(|| {
    let near = |limit: &Span| {
        let after = AFTER.map(|more| *limit + more);
        [Span(limit.as_ms() - 1), *limit].into_iter().chain(after)
    };
    LIMITS.iter().flat_map(near).filter(|span| *span <= LONGEST).collect()
});

/// What is between two limits: a tick, a wake-up, a poll, a minute, and the time of a heal or a look.
const AFTER: [Span; 5] = [Span::ms(1), Span::secs(1), Span::secs(5), Span::secs(30), Span::mins(1)];
