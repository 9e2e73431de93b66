//! The random source of a search.
//!
//! Invariant: what is drawn is a function of the seed and of what was drawn before.

use crate::vocabulary::{SHORT, SPANS, TEXTS};
use rehang_scenario::Span;
use rehang_scenario::fuzz::Seeded;

/// A random source.
#[derive(Debug, Clone)]
pub struct Rng {
    seeded: Seeded,
}

impl Rng {
    /// The source of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng { seeded: Seeded(seed) }
    }

    /// A number below `end`; 0 where that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.seeded.below(end)
    }

    /// Whether this is one of so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    ///
    /// # Panics
    /// Where there are none.
    pub fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// One of these, or none as often as one in two.
    pub fn maybe<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        (!self.one_in(2)).then(|| self.pick(all))
    }

    /// A place among weights, drawn as often as its weight says.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (place, weight) in weights.iter().enumerate() {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return place,
            }
        }
        weights.len() - 1
    }

    /// A text that means something to somebody.
    pub fn text(&mut self) -> String {
        self.pick(&TEXTS).to_owned()
    }

    /// A time: as often as not a short one, else one near a limit.
    pub fn span(&mut self) -> Span {
        match self.below(5) {
            0 | 1 => self.pick(&SHORT),
            _ => self.near_a_limit(),
        }
    }

    /// A time near a limit of some strategy.
    pub fn near_a_limit(&mut self) -> Span {
        let place = self.below(SPANS.len());
        SPANS[place]
    }

    /// So many of what is drawn: at least the one number, at most the other.
    pub fn some<T>(&mut self, least: usize, most: usize, mut draw: impl FnMut(&mut Rng) -> T) -> Vec<T> {
        let len = least + self.below(most + 1 - least);
        (0..len).map(|_| draw(self)).collect()
    }
}
