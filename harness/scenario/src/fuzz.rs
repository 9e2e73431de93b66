//! Hostile input: one call for a fuzzer, and a seeded mutator to feed it.
//!
//! Invariant: no bytes whatever make [`one`] panic or hang; the same seed gives the same bytes on every machine.

use crate::file::load;
use crate::problem::Style;
use crate::sample::Sample;
use crate::write::to_toml;

/// Loads, checks, renders and writes back. Returns whether the bytes were a scenario.
///
/// # Panics
/// If what was written back does not load as the same scenario, or an error has no text: that is a finding.
pub fn one(data: &[u8]) -> bool {
    let loaded = load("fuzz.toml", data);
    let problems = crate::check(&loaded, &Sample);
    let rendered = problems.render(Style::Plain);
    assert_eq!(rendered.is_empty(), problems.is_empty(), "each problem is shown");
    assert!(!rendered.chars().any(|c| c.is_control() && c != '\n'), "what is shown leaves the terminal alone");
    let Some(family) = loaded.family else {
        assert!(!problems.is_empty(), "a file that does not load has a problem");
        return false;
    };
    for variant in family.variants.iter().take(4) {
        let text = to_toml(&variant.scenario, variant.control.as_ref());
        let again = load("again.toml", text.as_bytes());
        match again.family {
            Some(again) => {
                assert_eq!(again.variants[0].scenario, variant.scenario, "{text}");
                assert_eq!(again.variants[0].control, variant.control, "{text}");
            }
            None => panic!("what was written does not load:\n{}\n{text}", again.problems),
        }
    }
    true
}

/// A seeded source of numbers: splitmix64, from Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014.
#[derive(Debug, Clone)]
pub struct Seeded(pub u64);

impl Seeded {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % (end.max(1) as u64)) as usize
    }
}

/// Pieces that files are made of, and pieces that break them.
const PIECES: [&str; 42] = [
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "\n",
    ",",
    "=",
    ".",
    "#",
    "\\u0000",
    "\\",
    "\u{1b}",
    "\u{0}",
    "\u{202e}",
    "9e99y",
    "-1",
    "18446744073709551616",
    "nan",
    "1979-05-27",
    "true",
    "\"2s\"",
    "\"9e99y\"",
    "[control]\n",
    "[[vary]]\n",
    "[[expect]]\n",
    "title",
    "strategies = [\"none\"]\n",
    "outcome = \"as none\"\n",
    "changes = [\"people\"]\n",
    "set = { \"turns.0\" = { say = \"x\" } }\n",
    "name = \"x\"\n",
    "turns = []\n",
    "faults = [{ model = { does = \"stall\" } }]\n",
    "{ bash = { command = \"x\", does = [\"hold\"] } }",
    "\u{1F980}",
    "a.b.c.d.e",
];

/// A file made from others by a few cuts, copies and insertions.
pub fn mutate(seed: u64, corpus: &[&[u8]]) -> Vec<u8> {
    let mut random = Seeded(seed);
    let pick = |random: &mut Seeded| corpus.get(random.below(corpus.len())).copied().unwrap_or_default().to_vec();
    let mut data = pick(&mut random);
    // Most files get one or two changes: a file with many fails at the first, and does not test the others.
    for _ in 0..=random.below(5) * random.below(2) {
        let at = random.below(data.len() + 1);
        let to = at + random.below((data.len() - at).min(200) + 1);
        match random.below(12) {
            0 => data.truncate(at),
            1 => drop(data.drain(at..to)),
            2 => {
                let copy = data[at..to].to_vec();
                let into = random.below(data.len() + 1);
                data.splice(into..into, copy);
            }
            3 => {
                let byte = random.number() as u8;
                data.splice(at..at, [byte]);
            }
            4 => {
                let other = pick(&mut random);
                let from = random.below(other.len() + 1);
                let piece = &other[from..(from + random.below(400)).min(other.len())];
                data.splice(at..to, piece.iter().copied());
            }
            5 => {
                let times = 1 << random.below(8);
                let piece = PIECES[random.below(PIECES.len())].repeat(times);
                data.splice(at..at, piece.into_bytes());
            }
            6 => {
                let piece = PIECES[random.below(PIECES.len())];
                data.splice(at..to, piece.bytes());
            }
            7 | 8 => {
                // Replaces a letter by a letter or a digit by a digit: the file may still be valid.
                let word = |b: &u8| b.is_ascii_alphanumeric();
                if let Some(byte) = data[at..].iter_mut().find(|b| word(b)) {
                    let first = if byte.is_ascii_digit() { b'0' } else { b'a' };
                    *byte = first + random.below(10) as u8;
                }
            }
            9 => drop(data.drain(line(&data, at))),
            _ => {
                let copy = data[line(&data, at)].to_vec();
                let into = line(&data, random.below(data.len() + 1)).start;
                data.splice(into..into, copy);
            }
        }
    }
    data
}

/// The line around a byte, its end included.
fn line(data: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = data[..at].iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
    start..data[at..].iter().position(|&b| b == b'\n').map_or(data.len(), |n| at + n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut source = Seeded(1_234_567);
        let numbers = [(); 3].map(|()| source.number());
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert_eq!([0, 1].map(|end| Seeded(7).below(end)), [0, 0]);
        let mut source = Seeded(7);
        let below: std::collections::BTreeSet<usize> = (0..100).map(|_| source.below(3)).collect();
        assert_eq!(below.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    /// A seed in a report must lead to the same bytes: whoever changes a cut or a piece changes these sums.
    #[test]
    fn a_seed_makes_the_file_that_it_has_always_made() {
        let sum =
            |data: Vec<u8>| data.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        let of = |seeds: std::ops::Range<u64>, corpus: &[&[u8]]| {
            let all = seeds.map(|seed| sum(mutate(seed, corpus)));
            format!("{:016x}\n", all.fold(0_u64, |all, one| all.rotate_left(5) ^ one))
        };
        let files: [&[u8]; 3] = [b"title = \"T\"\nturns = [{ say = \"a b\" }]\n\n[control]\nruns = 12", b"x", b""];
        let sums = (0..8).map(|n| of(n * 250..(n + 1) * 250, &files)).collect::<String>() + &of(0..250, &[]);
        expect![[r#"
            b19f4ed0e5879ed7
            6fd360ca81154bd1
            ef80514cac9b233a
            c792ec4b0e17cf8e
            9715ff4068c46839
            60a6a4a1f0d20a79
            8ee0112d6f059b74
            0caa3c50a76458da
            2c2912f8fbeae68a
        "#]]
        .assert_eq(&sums);
    }

    #[test]
    fn a_line_has_its_end_and_nothing_of_the_next() {
        let lines = |data: &[u8]| (0..=data.len()).map(|at| line(data, at)).collect::<Vec<_>>();
        assert_eq!(lines(b"a\n\nbc"), [0..2, 0..2, 2..3, 3..5, 3..5, 3..5]);
        assert_eq!(lines(b"a\n"), [0..2, 0..2, 2..2]);
        assert_eq!(line(b"", 0), 0..0);
    }

    #[test]
    fn a_file_is_a_scenario_or_it_is_none() {
        assert!(one(b"title = \"T\"\nmechanism = \"F1\"\nagent = { program = [] }\n"));
        assert!(!one(b"title = 1\n") && !one(b"\xff"));
    }
}
