//! The source of random scenarios: numbers, texts, times.
//!
//! Invariant: what is drawn is a function of the seed and of what was drawn before.

use super::vocabulary::{LIMITS, SHORT, TEXTS};
use crate::fuzz::Seeded;
use crate::time::Span;

/// A random source.
#[derive(Debug, Clone)]
pub struct Rng {
    seeded: Seeded,
    /// The limits near which its long times are.
    limits: &'static [Span],
    /// Whether texts are any characters, and times any times.
    any: bool,
}

/// Characters that a file must escape, and characters of more than a byte.
const ESCAPED: [char; 10] = ['\n', '\t', '"', '\'', '\\', '#', 'é', '…', '🦀', '{'];
/// Letters.
const LETTERS: [char; 26] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w',
    'x', 'y', 'z',
];
/// The units of any time, in milliseconds, and how many of each there are at most.
const UNITS: [(u64, usize); 4] = [(1, 5_000), (1_000, 900), (60_000, 90), (3_600_000, 5)];

impl Rng {
    /// The source of a seed. Its texts come from the vocabulary, its times are near the agents' own limits.
    pub fn new(seed: u64) -> Rng {
        Rng { seeded: Seeded(seed), limits: &LIMITS, any: false }
    }

    /// Sets the limits near which its long times are.
    ///
    /// # Panics
    /// Later, when it draws a time, if there are no limits.
    pub fn near(self, limits: &'static [Span]) -> Rng {
        Rng { limits, ..self }
    }

    /// Draws texts of any characters that a file can hold, and any times up to a few hours: to test what must hold for
    /// every file.
    pub fn of_anything(self) -> Rng {
        Rng { any: true, ..self }
    }

    /// Whether its texts are any characters.
    pub(super) fn is_of_anything(&self) -> bool {
        self.any
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.seeded.below(end)
    }

    /// True once in `times` on average.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// One of these, or, half the time, none.
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

    /// A text that some program looks for; or any text, sometimes with characters that must be escaped.
    pub fn text(&mut self) -> String {
        if !self.any {
            return self.pick(&TEXTS).to_owned();
        }
        let (least, most, one): (usize, usize, fn(&mut Rng) -> char) = match self.below(6) {
            0 => (0, 12, |rng| char::from(b' ' + rng.below(95) as u8)),
            1 => (0, 4, |rng| rng.pick(&ESCAPED)),
            _ => (1, 8, |rng| rng.pick(&LETTERS)),
        };
        self.some(least, most, one).into_iter().collect()
    }

    /// A time: two in five are short, the others near a limit.
    pub fn span(&mut self) -> Span {
        match self.below(5) {
            _ if self.any => {
                let (unit, most) = self.pick(&UNITS);
                Span::ms(unit * self.below(most) as u64)
            }
            0 | 1 => self.pick(&SHORT),
            _ => self.near_a_limit(),
        }
    }

    /// A time near a limit of some strategy.
    pub fn near_a_limit(&mut self) -> Span {
        self.limits[self.below(self.limits.len())]
    }

    /// A list of drawn values: at least the one number, at most the other.
    pub fn some<T>(&mut self, least: usize, most: usize, mut draw: impl FnMut(&mut Rng) -> T) -> Vec<T> {
        let len = least + self.below(most + 1 - least);
        (0..len).map(|_| draw(self)).collect()
    }
}
