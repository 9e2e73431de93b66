//! Two states with equal encodings behave alike for ever: what every `canon` promises, held against every strategy.
//!
//! Words of a small alphabet are played, many of them one letter apart. Wherever two words end in states with equal
//! encodings, the same further letters must give the same acts and the same deadlines, as far as they are played.
//! The host's part is played as it is written: requests are known by their places in the order of their ids, what an
//! answer says of times is as long ago in both, and no message is older than the run that it belongs to.
//!
//! Invariant: the words are a function of the strategy's name, so a failure comes back, cut down to what it needs.

use super::letters::{self, Letter};
use crate::testing::Bench;
use crate::{Act, Seen};
use rehang_scenario::VTime;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many words are begun, and how many are played a few letters from each.
const ROUNDS: usize = 60;
const VARIANTS: usize = 14;
/// The longest word, and the longest common continuation.
const WORD_MAX: usize = 14;
const FUTURE_MAX: usize = 10;
/// With how many words of the same encoding each is compared, over how many continuations.
const PARTNERS: usize = 3;
const FUTURES: usize = 3;
/// Fewer comparisons than this say nothing.
const COMPARED_MIN: usize = 200;

type Word = Vec<Letter>;

/// A strategy, and what its host keeps of it.
struct Play {
    bench: Bench,
    begun: Option<VTime>,
    /// The requests under way, in the order of sending.
    sent: Vec<u32>,
}

impl Play {
    /// A strategy that has seen this much.
    fn of(spec: &str, word: &[Letter]) -> Play {
        let mut play = Play { bench: Bench::of(spec), begun: None, sent: Vec::new() };
        // Not at zero, where an instant that was never set would look like the begin.
        play.bench.now = VTime(50_000_000);
        for letter in word {
            play.take(letter, play.age());
        }
        play
    }

    /// How old its run is.
    fn age(&self) -> u64 {
        self.begun.map_or(0, |at| self.bench.now.since(at).as_ms())
    }

    /// The whole state: the strategy's encoding, and which request each of its ids stands for.
    fn state(&self) -> (Vec<u8>, Vec<usize>) {
        let mut places: Vec<(u32, usize)> = self.sent.iter().copied().zip(0..).collect();
        places.sort_unstable();
        (self.bench.canon(), places.into_iter().map(|(_, place)| place).collect())
    }

    /// Takes a letter, and gives what is done, each with its time from now. No time that is told is above `age`.
    fn take(&mut self, letter: &Letter, age: u64) -> Vec<(u64, String)> {
        let now = self.bench.now;
        let acts = match letter {
            Letter::Wait(ms) => self.bench.until(now.0 + ms),
            Letter::See(seen) => {
                if matches!(seen, Seen::Started { .. }) {
                    self.begun = Some(now);
                }
                self.see(seen.clone())
            }
            Letter::Respond(which, status, body) => match self.landed(*which) {
                Some(id) => self.see(Seen::Response { id, status: *status, body: dated(body, now, age, false) }),
                None => Vec::new(),
            },
            Letter::Fail(which, why) => match self.landed(*which) {
                Some(id) => self.see(Seen::Failed { id, why: (*why).to_owned() }),
                None => Vec::new(),
            },
        };
        acts.into_iter().map(|(at, act)| (at - now.0, self.told(act))).collect()
    }

    fn see(&mut self, seen: Seen) -> Vec<(u64, Act)> {
        let now = self.bench.now.0;
        self.bench.see(seen).into_iter().map(|act| (now, act)).collect()
    }

    /// The request at this place in the order of ids is over.
    fn landed(&mut self, which: usize) -> Option<u32> {
        let mut ids = self.sent.clone();
        ids.sort_unstable();
        let id = *ids.get(which.checked_rem(ids.len())?)?;
        self.sent.retain(|sent| *sent != id);
        Some(id)
    }

    fn place(&self, id: u32) -> usize {
        self.sent.iter().filter(|sent| **sent < id).count()
    }

    /// An act without what names nothing: ids of requests, and times that are only printed.
    fn told(&mut self, act: Act) -> String {
        match act {
            Act::Request { id, method, path, body, timeout } => {
                self.sent.push(id);
                format!("request {} {method} {path} {body} {timeout:?}", self.place(id))
            }
            Act::Cancel { id } => {
                let place = self.place(id);
                self.sent.retain(|sent| *sent != id);
                format!("cancel {place}")
            }
            act => without_times(&format!("{act:?}")),
        }
    }
}

/// The body of an answer: numbers under `time` are ages, of which none is above `age`.
fn dated(body: &Value, now: VTime, age: u64, is_time: bool) -> Value {
    match body {
        Value::Object(all) => {
            let dated =
                |(key, value): (&String, &Value)| (key.clone(), dated(value, now, age, key == "time" || is_time));
            Value::Object(all.iter().map(dated).collect())
        }
        Value::Array(all) => Value::Array(all.iter().map(|value| dated(value, now, age, is_time)).collect()),
        Value::Number(ago) if is_time => Value::from(now.0 - ago.as_u64().unwrap_or(0).min(age)),
        other => other.clone(),
    }
}

/// Blanks the numbers behind words that say when something was: they are printed, and decide nothing.
fn without_times(text: &str) -> String {
    let mut blank = text.to_owned();
    for mark in ["armedAt", "updatedAt", "createdAt", "elapsed", "last updated"] {
        let mut from = 0;
        while let Some(at) = blank[from..].find(mark) {
            from += at + mark.len();
            let Some(begin) = blank[from..].find(|c: char| c.is_ascii_digit()) else { break };
            let begin = from + begin;
            let len = blank[begin..].find(|c: char| !c.is_ascii_digit()).unwrap_or(blank.len() - begin);
            blank.replace_range(begin..begin + len, "#");
        }
    }
    blank
}

/// Where two states with equal encodings part: the letter of the continuation, and what each does there.
fn parts(spec: &str, a: &[Letter], b: &[Letter], future: &[Letter]) -> Option<String> {
    let (mut a, mut b) = (Play::of(spec, a), Play::of(spec, b));
    if a.state() != b.state() {
        return None;
    }
    let left = |play: &Play| play.bench.strategy.deadline().map(|at| at.since(play.bench.now).as_ms());
    let mut at = 0;
    loop {
        if left(&a) != left(&b) {
            return Some(format!("deadlines before letter {at}: in {:?} ms, in {:?} ms", left(&a), left(&b)));
        }
        let letter = future.get(at)?;
        let age = a.age().min(b.age());
        let (first, second) = (a.take(letter, age), b.take(letter, age));
        if first != second {
            return Some(format!("acts at letter {at}:\n  {first:?}\n  {second:?}"));
        }
        at += 1;
    }
}

/// splitmix64.
struct Dice(u64);

impl Dice {
    fn of(name: &str) -> Dice {
        Dice(name.bytes().fold(7, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % n.max(1) as u64) as usize
    }

    fn letter(&mut self, letters: &[Letter]) -> Letter {
        letters[self.below(letters.len())].clone()
    }

    fn word(&mut self, letters: &[Letter], most: usize) -> Word {
        (0..1 + self.below(most)).map(|_| self.letter(letters)).collect()
    }

    /// The word with one or two letters put in, left out, replaced, or moved.
    fn variant(&mut self, word: &[Letter], letters: &[Letter]) -> Word {
        let mut word = word.to_vec();
        for _ in 0..1 + self.below(2) {
            let at = self.below(word.len());
            match self.below(4) {
                0 => word.insert(at, self.letter(letters)),
                1 if word.len() > 1 => drop(word.remove(at)),
                2 if word.len() > 1 => {
                    let letter = word.remove(at);
                    let to = self.below(word.len() + 1);
                    word.insert(to, letter);
                }
                _ => word[at] = self.letter(letters),
            }
        }
        word
    }
}

/// Plays words, and compares those with equal encodings.
fn check(spec: &str, letters: &[Letter]) {
    let mut dice = Dice::of(spec);
    let mut ends: BTreeMap<(Vec<u8>, Vec<usize>), Vec<Word>> = BTreeMap::new();
    let mut compared = 0;
    for _ in 0..ROUNDS {
        // Most runs begin before anything else.
        let begin = (dice.below(4) > 0).then(|| letters[0].clone());
        let base: Word = begin.into_iter().chain(dice.word(letters, WORD_MAX)).collect();
        for variant in 0..VARIANTS {
            let word = if variant == 0 { base.clone() } else { dice.variant(&base, letters) };
            let same = ends.entry(Play::of(spec, &word).state()).or_default();
            for _ in 0..PARTNERS.min(same.len()) {
                let partner = &same[dice.below(same.len())];
                for _ in 0..FUTURES {
                    let future = dice.word(letters, FUTURE_MAX);
                    compared += 1;
                    if parts(spec, partner, &word, &future).is_some() {
                        fail(spec, [partner.clone(), word, future]);
                    }
                }
            }
            if !same.contains(&word) {
                same.push(word);
            }
        }
    }
    assert!(compared >= COMPARED_MIN, "{spec}: only {compared} comparisons");
}

/// Cuts down what parts, and says it.
fn fail(spec: &str, mut case: [Word; 3]) -> ! {
    let parts = |[a, b, future]: &[Word; 3]| parts(spec, a, b, future);
    // A letter before the others is left out of both words: else their ages differ.
    let mut again = true;
    while std::mem::take(&mut again) {
        for words in [&[0_usize][..], &[1], &[2], &[0, 1]] {
            for at in (0..case[words[0]].len()).rev() {
                let mut less = case.clone();
                words.iter().filter(|word| at < case[**word].len()).for_each(|word| drop(less[*word].remove(at)));
                if parts(&less).is_some() {
                    (case, again) = (less, true);
                }
            }
        }
    }
    let [a, b, future] = &case;
    panic!("{spec}: equal encodings\n  {a:#?}\n  {b:#?}\n, then\n  {future:#?}\nparts: {:?}", parts(&case));
}

#[test]
fn equal_states_inside_behave_alike() {
    let specs = [
        "auto-answer@r1",
        "auto-answer@r1(at=ask)",
        "auto-answer@r2",
        "auto-answer@r3",
        "not-offered",
        "blind-timeout(timeout=3s)",
        "guard-asks(run=1s, patience=4s)",
        "ledger@v0(silent=3s)",
        "ledger@v0(silent=9s, connect=120s)",
        "external-result(silent=9s, connect=3s)",
    ];
    specs.iter().for_each(|spec| check(spec, &letters::inside()));
}

#[test]
fn equal_states_beside_a_process_behave_alike() {
    let specs = [
        "none",
        "wall(cap=9s)",
        "idle@f54b32f(timeout=4s, wall=20s)",
        "idle@off(wall=9s)",
        "idle@grace(timeout=5s, wall=20s, linger=2s, kill_grace=3s)",
        "auto-approve@v1",
        "auto-approve@v2",
        "cli-manager",
        "guard-process",
    ];
    specs.iter().for_each(|spec| check(spec, &letters::process()));
    let specs =
        ["pending-ask(policy=first, after=4s)", "pending-ask(policy=deny, after=0ms)", "pending-ask(policy=stop)"];
    specs.iter().for_each(|spec| check(spec, &letters::claude()));
}

#[test]
fn equal_states_beside_a_server_behave_alike() {
    let specs = [
        "guard-server",
        "pending-ask(policy=first, after=4s, every=1s)",
        "pending-ask(policy=refuse, after=0ms, every=1s)",
        "pending-ask(policy=deny)",
        "pending-ask(policy=stop, after=2s)",
        "recovery@430",
    ];
    specs.iter().for_each(|spec| check(spec, &letters::server()));
}

#[test]
fn equal_states_of_a_companion_behave_alike() {
    let specs = [
        "watcher@pr3(idle=12s, misses=2)",
        "watcher@pr5(idle=12s)",
        "watcher@desc(idle=12s, prompt_timeout=5m)",
        "heal@pr3",
        "heal@pr5",
        "heal@pr5(worker=watcher)",
        "monitor@pr3(heartbeat=2, worker=watcher)",
        "monitor@pr5(max_polls=3)",
    ];
    specs.iter().for_each(|spec| check(spec, &letters::companion()));
}

/// Whoever is new in the catalogue is compared here too.
#[test]
fn nobody_is_left_out() {
    let here = include_str!("alike.rs");
    for entry in crate::all() {
        assert!(here.contains(&format!("\"{}", entry.name)), "{} is compared nowhere", entry.name);
    }
}
