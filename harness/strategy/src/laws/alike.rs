//! Two states with equal encodings behave alike for ever: every `canon` promises it, and this tests it on every
//! strategy.
//!
//! Words of a small alphabet are played, chosen at random but with a preference for what is asked for, and from each
//! state on the way some letters more. Wherever two words end in states with equal encodings, the same further letters
//! must give the same acts and the same deadlines. The host's part is played as it is written: requests are known by
//! their places in the order of their ids and then of sending, the times in an answer are as long ago in both, and no
//! message is older than the run that it belongs to.
//!
//! It is a search and not a proof: a missing field is found only if two of the words differ in nothing else.
//!
//! Invariant: the words are a function of the strategy's name, so a failure can be repeated, and is reduced to what it
//! needs.

use super::letters::{self, Kind, Letter};
use crate::testing::Bench;
use crate::{Act, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen};
use rehang_words::VTime;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many words are played, and the longest.
const WORDS: usize = 120;
const WORD_MAX: usize = 20;
/// How many letters are tried from each state on the way.
const BRANCHES: usize = 3;
/// How many letters of the alphabet a word is made of, besides those that say what was looked at: with few letters the
/// same ones often come together.
const FEW: usize = 7;
/// How long the common continuation of two words is; how many words of one state are kept, and how many are compared
/// while one word is played.
const FUTURE_LEN: usize = 24;
const KEPT_MAX: usize = 40;
const COMPARED_MAX: usize = 4;
/// A test with fewer comparisons than this says nothing.
const COMPARED_MIN: usize = 100;

pub(super) type Word = Vec<Letter>;

/// A strategy, and what its host keeps about it.
pub(super) struct Play {
    pub bench: Bench,
    begun: Option<VTime>,
    /// The requests in flight, in the order of sending; those sent before a comparison, in the order of ids.
    sent: Vec<u32>,
    /// What it looks at: the letters that are an answer to that are of this kind.
    looks: Option<Kind>,
    /// Whether an act is told with the times in its text, which decide nothing.
    pub tells_times: bool,
}

impl Play {
    /// A strategy that has seen this much.
    pub fn of(spec: &str, word: &[Letter]) -> Play {
        let mut play = Play { bench: Bench::of(spec), begun: None, sent: Vec::new(), looks: None, tells_times: false };
        // Not at zero, where an instant that was never set would look like the start.
        play.bench.now = VTime(50_000_000);
        for letter in word {
            play.take(letter, play.age());
        }
        play
    }

    /// How long ago its run began, in milliseconds.
    pub fn age(&self) -> u64 {
        self.begun.map_or(0, |at| self.bench.now.since(at).as_ms())
    }

    /// The whole state: the strategy's encoding, and which request each of its ids refers to.
    pub fn state(&self) -> (Vec<u8>, Vec<usize>) {
        let mut places: Vec<(u32, usize)> = self.sent.iter().copied().zip(0..).collect();
        places.sort_unstable();
        (self.bench.canon(), places.into_iter().map(|(_, place)| place).collect())
    }

    /// Plays a letter, and returns what is done, each with its time from now. No age that is told is above `age`.
    pub fn take(&mut self, letter: &Letter, age: u64) -> Vec<(u64, String)> {
        let now = self.bench.now;
        let acts = match letter {
            Letter::Wait(ms) => self.bench.until(now.0 + ms),
            Letter::Due => self.bench.until(self.bench.strategy.deadline().map_or(now.0, |at| at.0.max(now.0))),
            Letter::See(seen) => {
                if self.looks == letter.kind() {
                    self.looks = None;
                }
                if matches!(seen, Seen::Process(ProcessSeen::Started { .. })) {
                    self.begun = Some(now);
                }
                self.see(seen.clone())
            }
            Letter::Respond(which, status, body) => match self.landed(*which) {
                Some(id) => self.see(Seen::Protocol(ProtocolSeen::Response {
                    id,
                    status: *status,
                    body: dated(body, now, age).into(),
                })),
                None => Vec::new(),
            },
            Letter::Fail(which, why) => match self.landed(*which) {
                Some(id) => self.see(Seen::Protocol(ProtocolSeen::Failed { id, why: (*why).to_owned() })),
                None => Vec::new(),
            },
        };
        acts.into_iter().map(|(at, act)| (at - now.0, self.told(act))).collect()
    }

    fn see(&mut self, seen: Seen) -> Vec<(u64, Act)> {
        let now = self.bench.now.0;
        self.bench.see(seen).into_iter().map(|act| (now, act)).collect()
    }

    /// The request at this place has ended.
    fn landed(&mut self, which: usize) -> Option<u32> {
        let at = which.checked_rem(self.sent.len())?;
        Some(self.sent.remove(at))
    }

    /// An act without what decides nothing: ids of requests, and times that are only printed.
    fn told(&mut self, act: Act) -> String {
        match act {
            Act::Protocol(ProtocolAct::Request { id, method, path, body, timeout }) => {
                self.sent.push(id);
                format!("request {method} {path} {body} {timeout:?}")
            }
            Act::Protocol(ProtocolAct::Cancel { id }) => {
                let place = self.sent.iter().position(|sent| *sent == id);
                self.sent.retain(|sent| *sent != id);
                format!("cancel {place:?}")
            }
            Act::Protocol(ProtocolAct::CountChildren) => self.looks_at(Kind::Children),
            Act::Protocol(ProtocolAct::FindPid) => self.looks_at(Kind::Pid),
            Act::Protocol(ProtocolAct::LookAtWorker) => self.looks_at(Kind::Worker),
            Act::Process(ProcessAct::Look) => self.looks_at(Kind::Processes),
            act if self.tells_times => format!("{act:?}"),
            act => without_times(&format!("{act:?}")),
        }
    }

    fn looks_at(&mut self, kind: Kind) -> String {
        self.looks = Some(kind);
        format!("looks at {kind:?}")
    }

    /// What may well come next: what the strategy waits for, or anything.
    pub fn next(&self, dice: &mut Dice, letters: &[Letter]) -> Letter {
        let of_kind = |kind: Option<Kind>, dice: &mut Dice| {
            let fit: Vec<&Letter> = letters.iter().filter(|letter| letter.kind() == kind).collect();
            (!fit.is_empty()).then(|| fit[dice.below(fit.len())].clone())
        };
        let chance = dice.below(8);
        let wanted = if chance < 4 && self.looks.is_some() {
            of_kind(self.looks, dice)
        } else if chance < 3 && !self.sent.is_empty() {
            of_kind(Some(Kind::Answer), dice)
        } else if chance < 5 && self.bench.strategy.deadline().is_some() {
            Some(Letter::Due)
        } else {
            None
        };
        wanted.unwrap_or_else(|| letters[dice.below(letters.len())].clone())
    }
}

/// The body of an answer: what happened a number of milliseconds ago has its time, and nothing is older than `age`.
fn dated(body: &Value, now: VTime, age: u64) -> Value {
    match body {
        Value::Object(all) => all.iter().map(|(key, value)| (key.clone(), dated(value, now, age))).collect(),
        Value::Array(all) => all.iter().map(|value| dated(value, now, age)).collect(),
        Value::String(text) => match text.strip_suffix(letters::AGO).and_then(|ago| ago.parse::<u64>().ok()) {
            Some(ago) => Value::from(now.0 - ago.min(age)),
            None => body.clone(),
        },
        other => other.clone(),
    }
}

/// Blanks the numbers after words that say when something was: they are printed, and decide nothing.
fn without_times(text: &str) -> String {
    let mut blank = text.to_owned();
    for mark in ["armedAt", "updatedAt", "createdAt", "elapsed", "last updated"] {
        let mut from = 0;
        while let Some(at) = blank[from..].find(mark) {
            from += at + mark.len();
            let Some(begin) = blank[from..].find(|c: char| c.is_ascii_digit()) else { break };
            let begin = from + begin;
            let mut len = blank[begin..].find(|c: char| !c.is_ascii_digit()).unwrap_or(blank.len() - begin);
            // a time in words: `(elapsed 5m 0s)`
            if blank[..begin].ends_with("(elapsed ") {
                len = blank[begin..].find(')').unwrap_or(len);
            }
            blank.replace_range(begin..begin + len, "#");
        }
    }
    blank
}

/// Where two states with equal encodings behave differently: what each does there. `next` gives the further letters.
fn parts(spec: &str, a: &[Letter], b: &[Letter], mut next: impl FnMut(&Play) -> Option<Letter>) -> Option<String> {
    let (mut a, mut b) = (Play::of(spec, a), Play::of(spec, b));
    if a.state() != b.state() {
        return None;
    }
    // What has the same place in the order of ids is the same request.
    a.sent.sort_unstable();
    b.sent.sort_unstable();
    let left = |play: &Play| play.bench.strategy.deadline().map(|at| at.since(play.bench.now).as_ms());
    loop {
        if left(&a) != left(&b) {
            return Some(format!("deadlines: in {:?} ms, in {:?} ms", left(&a), left(&b)));
        }
        let letter = next(&a)?;
        let age = a.age().min(b.age());
        let (first, second) = (a.take(&letter, age), b.take(&letter, age));
        if first != second {
            return Some(format!("acts:\n  {first:?}\n  {second:?}"));
        }
    }
}

/// A splitmix64 generator.
pub(super) struct Dice(u64);

impl Dice {
    pub fn of(name: &str) -> Dice {
        Dice(name.bytes().fold(7, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % n.max(1) as u64) as usize
    }
}

impl Dice {
    /// Some letters of an alphabet: up to three of each kind, and a few others.
    pub fn few(&mut self, all: &[Letter]) -> Vec<Letter> {
        let mut letters = Vec::new();
        let kinds = [Kind::Answer, Kind::Children, Kind::Pid, Kind::Worker, Kind::Processes].map(Some);
        for (kind, most) in kinds.into_iter().map(|kind| (kind, 3)).chain([(None, FEW)]) {
            let fit: Vec<&Letter> = all.iter().filter(|letter| letter.kind() == kind).collect();
            let count = if fit.is_empty() { 0 } else { 1 + self.below(most) };
            letters.extend((0..count).map(|_| fit[self.below(fit.len())].clone()));
        }
        letters
    }

    /// A letter that says something similar.
    fn sibling(&mut self, letter: &Letter, all: &[Letter]) -> Letter {
        let fit: Vec<&Letter> = all.iter().filter(|other| other.is_like(letter)).collect();
        fit.get(self.below(fit.len())).map_or(letter, |sibling| *sibling).clone()
    }
}

/// Words by the states that they lead to.
#[derive(Default)]
struct Ends {
    words: BTreeMap<(Vec<u8>, Vec<usize>), Same>,
    compared: usize,
}

/// Words that lead to one state.
#[derive(Default)]
struct Same {
    words: Vec<Word>,
    /// How many were compared, and in which round.
    compared: (usize, usize),
}

impl Ends {
    /// Records a word, and compares it with one that leads to an equal state.
    fn take(&mut self, spec: &str, round: usize, word: &[Letter], dice: &mut Dice, letters: &[Letter]) {
        let same = self.words.entry(Play::of(spec, word).state()).or_default();
        if same.compared.1 != round {
            same.compared = (0, round);
        }
        if same.compared.0 >= COMPARED_MAX || same.words.iter().any(|other| other == word) {
            return;
        }
        if !same.words.is_empty() {
            let other = &same.words[dice.below(same.words.len())];
            let mut future = Word::new();
            let parted = parts(spec, other, word, |play| {
                let letter = (future.len() < FUTURE_LEN).then(|| play.next(dice, letters))?;
                future.push(letter.clone());
                Some(letter)
            });
            if parted.is_some() {
                fail(spec, [other.clone(), word.to_vec(), future]);
            }
            same.compared.0 += 1;
            self.compared += 1;
        }
        if same.words.len() < KEPT_MAX {
            same.words.push(word.to_vec());
        }
    }
}

/// Plays words, and compares those with equal encodings.
fn check(spec: &str, all: &[Letter]) {
    let mut dice = Dice::of(spec);
    let mut ends = Ends::default();
    for round in 0..WORDS {
        let letters = dice.few(all);
        let mut play = Play::of(spec, &[]);
        let mut word = Word::new();
        for at in 0..WORD_MAX {
            // Most runs begin before anything else.
            let begins = at == 0 && dice.below(4) > 0;
            let letter = if begins { all[0].clone() } else { play.next(&mut dice, &letters) };
            play.take(&letter, play.age());
            word.push(letter);
            ends.take(spec, round, &word, &mut dice, &letters);
            for _ in 0..BRANCHES {
                let mut branch = word.clone();
                if dice.below(2) == 0 {
                    branch.insert(at + 1 - dice.below(2), letters[dice.below(letters.len())].clone());
                } else {
                    let replaced = dice.below(branch.len());
                    branch[replaced] = dice.sibling(&branch[replaced], all);
                }
                ends.take(spec, round, &branch, &mut dice, &letters);
            }
        }
    }
    assert!(ends.compared >= COMPARED_MIN, "{spec}: only {} comparisons", ends.compared);
}

/// Reduces a case of different behaviour, and fails with it.
fn fail(spec: &str, mut case: [Word; 3]) -> ! {
    let parts = |[a, b, future]: &[Word; 3]| {
        let mut letters = future.iter();
        parts(spec, a, b, |_| letters.next().cloned())
    };
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
    let parted = parts(&case).unwrap_or_default();
    panic!("{spec}: equal encodings behind\n  {a:?}\nand behind\n  {b:?}\nthen\n  {future:?}\npart in {parted}");
}

#[test]
fn equal_states_inside_behave_alike() {
    let specs = [
        "auto-answer@r1",
        "auto-answer@r1(at=ask)",
        "auto-answer@r2",
        "auto-answer@r3",
        "not-offered",
        "guard-asks",
        "blind-timeout(timeout=3s)",
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
        "watcher@pr2",
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

/// A strategy that is new in the catalogue must be compared here too.
#[test]
fn nobody_is_left_out() {
    let here = include_str!("alike.rs");
    for entry in crate::all() {
        assert!(here.contains(&format!("\"{}", entry.name)), "{} is compared nowhere", entry.name);
    }
}
