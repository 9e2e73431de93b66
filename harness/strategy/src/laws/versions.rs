//! A name with its version means one behaviour for ever ([`crate::entry`]): what each strategy does on the same
//! random words is recorded here, with how many of its states it tells apart.
//!
//! Half of the words are those of [`super::alike`]'s alphabets; the other half are worlds that give the same answers again
//! and again, so that what must last for a while can. Of each strategy one line is recorded: the number of states
//! that its encodings tell apart, the number of acts of each kind, and a hash of all acts, with their times and texts,
//! of all deadlines and of what is announced. Where a line changes, the strategy does something else under the same
//! name. To see what: run the test before and after the change with `REHANG_WORDS` set to a folder each, into which it
//! writes all words and what was done, and compare the two.

use super::alike::{Dice, Play};
use super::letters::{self, Letter};
use crate::testing::{ask, question};
use crate::{InsideSeen, Seen};
use expect_test::expect;
use rehang_words::fnv;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How many words are played to each strategy, and how long each is.
const WORDS: usize = 400;
const WORD_LEN: usize = 24;
/// How many worlds that hardly change are played, and for how many letters each.
const WORLDS: usize = 150;
const WORLD_LEN: usize = 160;

/// Waits of other lengths: the strategies' own limits, and a millisecond less and more.
const WAITS: [u64; 16] = [
    1, 999, 1_001, 2_999, 3_001, 4_999, 5_001, 10_001, 29_999, 30_001, 59_999, 60_001, 119_999, 299_999, 599_999,
    900_001,
];

/// What a strategy did, and which of its states are told apart.
#[derive(Default)]
struct Record {
    told: String,
    /// The hashes of the states.
    states: BTreeSet<u64>,
    kinds: BTreeMap<String, usize>,
}

impl Record {
    fn take(&mut self, play: &mut Play, letter: &Letter) -> Vec<(u64, String)> {
        let acts = play.take(letter, play.age());
        writeln!(self.told, "{letter:?}").expect("a text");
        for (after, act) in &acts {
            let mut words = act.split(|c: char| !c.is_ascii_alphabetic());
            let kind = words.find(|word| !matches!(*word, "Process" | "Protocol" | "Inside")).unwrap_or_default();
            *self.kinds.entry(kind.to_owned()).or_default() += 1;
            writeln!(self.told, "    {after} ms: {act}").expect("a text");
        }
        let strategy = &play.bench.strategy;
        writeln!(self.told, "  due {:?}, announced {:?}", strategy.deadline(), strategy.intent()).expect("a text");
        let (canon, places) = play.state();
        self.states.insert(fnv::hash(fnv::START, canon.into_iter().chain(places.into_iter().map(|place| place as u8))));
        acts
    }

    fn begin(&mut self, spec: &str) -> Play {
        self.told.push_str("\n-- a new run --\n");
        let mut play = Play::of(spec, &[]);
        play.tells_times = true;
        play
    }
}

/// What a strategy does on its words and in its worlds.
fn line(spec: &str, mut letters: Vec<Letter>) -> String {
    letters.extend(WAITS.map(Letter::Wait));
    let mut dice = Dice::of(spec);
    let mut record = Record::default();
    for _ in 0..WORDS {
        let few = dice.few(&letters);
        let mut play = record.begin(spec);
        for at in 0..WORD_LEN {
            let begins = at == 0 && dice.below(8) > 0;
            let letter = if begins { letters[0].clone() } else { play.next(&mut dice, &few) };
            record.take(&mut play, &letter);
        }
    }
    for _ in 0..WORLDS {
        let mut world = World::of(if letters.len() < 60 { letters.clone() } else { dice.few(&letters) });
        let mut play = record.begin(spec);
        for at in 0..WORLD_LEN {
            let is_due = play.bench.strategy.deadline().is_some();
            let letter = if at == 0 { letters[0].clone() } else { world.next(&mut dice, is_due) };
            let acts = record.take(&mut play, &letter);
            world.did(&letter, &acts);
        }
    }
    let Record { told, states, kinds } = record;
    if let Some(folder) = std::env::var_os("REHANG_WORDS") {
        std::fs::write(std::path::Path::new(&folder).join(spec), &told).expect("written");
    }
    let hash = fnv::hash(fnv::START, told.bytes());
    let kinds: String = kinds.iter().map(|(kind, count)| format!(", {count} {kind}")).collect();
    format!("{spec}: {} states{kinds}; {hash:016x}\n", states.len())
}

/// Surroundings that give the same answer to the same question nearly always.
struct World {
    few: Vec<Letter>,
    /// The requests in flight, in the order of sending.
    sent: Vec<String>,
    /// What is looked at, in the order of asking.
    looks: Vec<String>,
    answers: BTreeMap<String, Letter>,
}

impl World {
    fn of(few: Vec<Letter>) -> World {
        World { few, sent: Vec::new(), looks: Vec::new(), answers: BTreeMap::new() }
    }

    /// Keeps account of what is asked and answered.
    fn did(&mut self, letter: &Letter, acts: &[(u64, String)]) {
        if let (Letter::Respond(which, ..) | Letter::Fail(which, _), false) = (letter, self.sent.is_empty()) {
            self.sent.remove(which % self.sent.len());
        }
        for (_, act) in acts {
            let words: Vec<&str> = act.split(' ').collect();
            match words[..] {
                ["request", method, path, ..] => self.sent.push(format!("{method} {path}")),
                ["cancel", place] => {
                    let place = place.trim_matches(|c: char| !c.is_ascii_digit()).parse::<usize>();
                    drop(place.map(|place| self.sent.remove(place)));
                }
                ["looks", "at", what] => self.looks.push(what.to_owned()),
                _ => {}
            }
        }
    }

    fn next(&mut self, dice: &mut Dice, is_due: bool) -> Letter {
        let waits = is_due || !self.sent.is_empty() || !self.looks.is_empty();
        if dice.below(30) == 0 || !waits {
            return self.few[dice.below(self.few.len())].clone();
        }
        if dice.below(100) == 0 {
            self.answers.clear();
        }
        if !self.looks.is_empty() {
            let what = self.looks.remove(0);
            let fit: Vec<&Letter> = self
                .few
                .iter()
                .filter(|letter| letter.kind().is_some_and(|kind| format!("{kind:?}") == what))
                .collect();
            if !fit.is_empty() {
                let any = fit[dice.below(fit.len())].clone();
                return self.answers.entry(what).or_insert(any).clone();
            }
        }
        // a prompt takes its time
        let next = self.sent.iter().position(|sent| !sent.starts_with("POST") || dice.below(12) == 0);
        let Some(which) = next else {
            return if dice.below(8) == 0 { Letter::Wait(WAITS[dice.below(16)]) } else { Letter::Due };
        };
        let answer = self.answers.entry(self.sent[which].clone());
        match answer.or_insert_with_key(|sent| answer_to(sent, dice)) {
            Letter::Respond(_, status, body) => Letter::Respond(which, *status, body.clone()),
            Letter::Fail(_, why) => Letter::Fail(which, why),
            other => other.clone(),
        }
    }
}

/// An answer to a request, as a server gives it.
fn answer_to(sent: &str, dice: &mut Dice) -> Letter {
    if dice.below(12) == 0 {
        return Letter::Fail(0, ["refused", "reset", "closed", "timeout"][dice.below(4)]);
    }
    if dice.below(12) == 0 {
        let body = [Value::Null, json!("busy"), json!({"error": "no"})][dice.below(3)].clone();
        return Letter::Respond(0, [199, 300, 400, 401, 404, 500, 503][dice.below(7)], body);
    }
    let path = sent.split_once(' ').map_or(sent, |(_, path)| path);
    let body = if sent.starts_with("POST") {
        let errors = [json!({"name": "Aborted"}), json!({"name": "A", "data": {"message": "no"}}), Value::Null];
        json!({"info": {"role": "assistant", "error": errors[dice.below(3)]}, "parts": parts(dice)})
    } else if path.contains("/message") {
        let all = [json!([]), json!([message(dice)]), json!([message(dice), message(dice)])];
        all[(1 + dice.below(4)) % 3].clone()
    } else if path.ends_with("/status") {
        let of = |kind: &str| json!({"type": kind});
        let one = ["busy", "busy", "idle", "retry"][dice.below(4)];
        let all = [json!({}), json!({"ses_1": of(one)}), json!({"ses_1": of(one), "ses_2": of("busy")})];
        all[dice.below(3)].clone()
    } else if path.ends_with("/question") {
        let tools = [json!({"messageID": "msg_1", "callID": "call_1"}), json!({"callID": "call_1"}), Value::Null];
        let options = json!([{"label": "A"}, {"label": "B"}]);
        let asked = |id: &str, session: &str, tool: &Value| json!({"id": id, "sessionID": session, "tool": tool, "questions": [{"question": "q", "options": options}]});
        let one = asked("que_1", "ses_1", &tools[dice.below(3)]);
        [
            json!([]),
            json!([one]),
            json!([asked("que_2", "ses_2", &tools[0])]),
            json!([one, asked("que_2", "ses_3", &tools[0])]),
        ][dice.below(4)]
        .clone()
    } else if path.ends_with("/permission") {
        let asked = |id: &str, session: &str| json!({"id": id, "sessionID": session, "permission": "bash"});
        [
            json!([]),
            json!([]),
            json!([asked("per_1", "ses_1")]),
            json!([asked("per_1", "ses_2"), asked("per_2", "ses_1")]),
        ][dice.below(4)]
        .clone()
    } else {
        [
            json!({"id": "ses_2", "parentID": "ses_1"}),
            json!({"id": "ses_2", "parentID": "ses_3"}),
            json!({"id": "ses_3"}),
        ][dice.below(3)]
        .clone()
    };
    Letter::Respond(0, [200, 200, 200, 200, 299][dice.below(5)], body)
}

/// A message that was made and completed about when the run began.
fn message(dice: &mut Dice) -> Value {
    let times = [0, 49_999_999, 50_000_000, 50_000_001, 50_005_000, 50_060_000];
    let mut info =
        json!({"id": format!("msg_{}", dice.below(3)), "role": (["assistant", "assistant", "user"][dice.below(3)])});
    if dice.below(4) > 0 {
        info["time"]["created"] = json!(times[dice.below(6)]);
    }
    if dice.below(3) == 0 {
        info["time"]["completed"] = json!(times[dice.below(6)]);
    }
    if dice.below(3) == 0 {
        info["finish"] = json!(["stop", "tool-calls", "unknown", "length"][dice.below(4)]);
    }
    if dice.below(8) == 0 {
        info["error"] = [json!({"name": "Aborted"}), json!({"data": {"message": "no"}})][dice.below(2)].clone();
    }
    if dice.below(4) == 0 {
        info["tokens"] = json!({"input": dice.below(2)});
    }
    json!({"info": info, "parts": parts(dice)})
}

fn parts(dice: &mut Dice) -> Value {
    let tool = |tool: &str, status: &str, session: &str| {
        let state = json!({"status": status, "output": "out", "metadata": {"sessionId": session}});
        json!({"type": "tool", "tool": tool, "state": state})
    };
    let all = [
        json!({"type": "text", "text": "done"}),
        json!({"type": "text", "text": "Quota, 429: rate limit"}),
        json!({"type": "step-start"}),
        tool("bash", "running", ""),
        tool("bash", "running", ""),
        tool("bash", "completed", ""),
        tool("task", "running", "ses_2"),
        tool("task", "running", ""),
        tool("read", "running", "ses_2"),
    ];
    (0..dice.below(4)).map(|_| all[dice.below(9)].clone()).collect()
}

fn lines(specs: &[&str], letters: fn() -> Vec<Letter>) -> String {
    specs.iter().map(|spec| line(spec, letters())).collect()
}

#[test]
fn a_version_inside_does_what_it_always_did() {
    let specs = [
        "auto-answer@r1",
        "auto-answer@r1(at=ask)",
        "auto-answer@r2",
        "auto-answer@r2(at=ask)",
        "auto-answer@r3",
        "auto-answer@r3(at=ask)",
        "not-offered(as=refused)",
        "not-offered(as=withheld)",
        "guard-asks",
        "blind-timeout(timeout=3s)",
        "ledger@v0(silent=3s)",
        "ledger@v0(silent=9s, connect=120s)",
        "external-result(silent=9s, connect=3s)",
    ];
    expect![[r#"
        auto-answer@r1: 7 states, 2172 AnswerTool, 2172 Report; 3e1740995eb429d8
        auto-answer@r1(at=ask): 7 states, 4041 Reply, 4041 Report; 2f20ae8bfb9f60d1
        auto-answer@r2: 7 states, 1902 AnswerTool, 1902 Report; a6d0ab93696b8f1e
        auto-answer@r2(at=ask): 7 states, 3980 Reply, 3980 Report; 03799d3db48a76bb
        auto-answer@r3: 8 states, 2626 AnswerTool, 2626 Report, 6545 StripEnv; 8f6140ee442667e1
        auto-answer@r3(at=ask): 8 states, 4029 Reply, 4029 Report, 6194 StripEnv; 6083e8d839b7da9f
        not-offered(as=refused): 2 states, 2366 Report, 2366 Withhold; c7e56672e5e72548
        not-offered(as=withheld): 2 states, 2011 Report, 2011 Withhold; 3340d55fa9476c41
        guard-asks: 2 states, 2597 Report, 2597 Withhold; 04f084bdfbefe99f
        blind-timeout(timeout=3s): 77 states, 3433 AbortStream, 3433 Report; b1ade01ef59a1f3d
        ledger@v0(silent=3s): 77 states, 458 AbortStream, 4097 Note, 4664 Publish, 458 Report, 3874 Verdict, 710 Withhold; c45420d615d7e72b
        ledger@v0(silent=9s, connect=120s): 123 states, 468 AbortStream, 638 Note, 4721 Publish, 468 Report, 5269 Verdict, 581 Withhold; ce4e6ec2879efa9d
        external-result(silent=9s, connect=3s): 197 states, 612 AbortStream, 3369 Note, 612 Report, 5176 Verdict; 6be6af59f8321dd4
    "#]].assert_eq(&lines(&specs, inside));
}

#[test]
fn a_version_beside_a_process_does_what_it_always_did() {
    let specs = [
        "none",
        "wall(cap=9s)",
        "idle@f54b32f(timeout=4s, wall=20s)",
        "idle@off(wall=9s)",
        "idle@grace(timeout=5s, wall=20s, linger=2s, kill_grace=3s)",
        "idle@f54b32f",
        "idle@grace",
        "auto-approve@v1",
        "auto-approve@v2",
        "cli-manager",
        "guard-process",
    ];
    expect![[r#"
        none: 1 states; 2c3fc325fcf72f96
        wall(cap=9s): 26 states, 1048 Kill, 1048 Report, 1048 Settle; 733da3494b50e10c
        idle@f54b32f(timeout=4s, wall=20s): 6953 states, 501 Kill, 501 Report, 200 Settle; fdbb0dc00948d31c
        idle@off(wall=9s): 7113 states, 501 Kill, 501 Report, 198 Settle; f7dd9e1813f197b8
        idle@grace(timeout=5s, wall=20s, linger=2s, kill_grace=3s): 7058 states, 1249 Kill, 631 Report, 609 Say, 621 Settle; 2a3c531ab01da1e7
        idle@f54b32f: 7227 states, 503 Kill, 503 Report, 200 Settle; 7bb51432adf647db
        idle@grace: 7130 states, 1244 Kill, 629 Report, 612 Say, 625 Settle; b4df68520056b4cf
        auto-approve@v1: 14 states, 1088 Report, 2121 Say, 2044 Write; 9368e0a20be3966d
        auto-approve@v2: 804 states, 306 Report, 745 Say, 1726 Write; 361b0885a76182a0
        cli-manager: 423 states, 1216 Say, 1349 Write; d457b5d2cc9e60f4
        guard-process: 20572 states, 13 CloseStdin, 816 Kill, 455 Report, 595 Settle, 9059 looks; 716567c14d56f8d8
    "#]].assert_eq(&lines(&specs, letters::process));
}

#[test]
fn a_version_in_claudes_protocol_does_what_it_always_did() {
    let specs = [
        "pending-ask(policy=first, after=4s)",
        "pending-ask(policy=deny, after=0ms)",
        "pending-ask(policy=deny)",
        "pending-ask(policy=refuse, after=1s)",
        "pending-ask(policy=stop)",
        "auto-approve@v1",
        "auto-approve@v2",
    ];
    expect![[r#"
        pending-ask(policy=first, after=4s): 473 states, 1871 Report, 1871 Write; 691ee007a7dee8e4
        pending-ask(policy=deny, after=0ms): 348 states, 966 Report, 966 Write; 8b77b825c9e2cbb6
        pending-ask(policy=deny): 551 states, 860 Report, 860 Write; 80a4ea837944d45e
        pending-ask(policy=refuse, after=1s): 422 states, 1910 Report, 1910 Write; 6995ac1476351995
        pending-ask(policy=stop): 536 states, 1857 Kill, 1857 Report, 1857 Settle; 60c7434022a0efa0
        auto-approve@v1: 32 states; fab1398e12603022
        auto-approve@v2: 29 states; 4e651bbedddd86ef
    "#]]
    .assert_eq(&lines(&specs, letters::claude));
}

#[test]
fn a_version_beside_a_server_does_what_it_always_did() {
    let specs = [
        "guard-server",
        "pending-ask(policy=first, after=4s, every=1s)",
        "pending-ask(policy=refuse, after=0ms, every=1s)",
        "pending-ask(policy=deny)",
        "pending-ask(policy=stop, after=2s)",
    ];
    expect![[r#"
        guard-server: 24739 states, 2 Kill, 48 Report, 48 Settle, 7354 looks, 14708 request; fade7e22ddacf671
        pending-ask(policy=first, after=4s, every=1s): 9299 states, 259 Report, 21778 request; 2ee4faf73e1dcf1f
        pending-ask(policy=refuse, after=0ms, every=1s): 8134 states, 432 Report, 22354 request; 3becc2bbc02da157
        pending-ask(policy=deny): 7248 states, 109 Report, 21739 request; 8ce1afc5d3df07df
        pending-ask(policy=stop, after=2s): 3413 states, 168 Report, 168 Settle, 12655 request; 2a7c39da024bd7ac
    "#]]
    .assert_eq(&lines(&specs, letters::server));
    expect![[r#"
        recovery@430: 89 states, 182 Report, 21 Say, 10 cancel, 578 request; 555d71ebcacc0237
    "#]]
    .assert_eq(&lines(&["recovery@430"], of_questions));
}

#[test]
fn a_version_of_the_companion_does_what_it_always_did() {
    let specs = [
        "watcher@pr2",
        "watcher@pr3(idle=12s, misses=2)",
        "watcher@pr3",
        "watcher@pr5(idle=12s)",
        "watcher@pr5",
        "watcher@desc(idle=12s, prompt_timeout=5m)",
        "watcher@desc",
        "heal@pr3",
        "heal@pr5",
        "heal@pr5(worker=watcher)",
        "monitor@pr3(heartbeat=2, worker=watcher)",
        "monitor@pr5(max_polls=3)",
    ];
    expect![[r#"
        watcher@pr2: 1039 states, 100 Report, 520 Settle, 271 cancel, 1463 request; dab1ced83ad2fefb
        watcher@pr3(idle=12s, misses=2): 948 states, 214 Report, 514 Settle, 357 cancel, 369 looks, 1272 request; 89efc213efcc73c7
        watcher@pr3: 3518 states, 191 Report, 513 Settle, 312 cancel, 374 looks, 2513 request; 21052a97a75e6b7d
        watcher@pr5(idle=12s): 1359 states, 215 Report, 38 Say, 507 Settle, 329 cancel, 459 looks, 1418 request; c3fdada394b6253d
        watcher@pr5: 3534 states, 166 Report, 493 Settle, 299 cancel, 396 looks, 2522 request; ec492cd5681893cb
        watcher@desc(idle=12s, prompt_timeout=5m): 663 states, 251 Report, 17 Say, 509 Settle, 374 cancel, 409 looks, 1139 request; 232a505d145eca2d
        watcher@desc: 2435 states, 213 Report, 3 Say, 509 Settle, 325 cancel, 487 looks, 1929 request; 53656233c11fed7e
        heal@pr3: 757 states, 203 Report, 1415 Say, 364 Settle, 179 cancel, 532 looks, 368 request; 19ded020b1129610
        heal@pr5: 718 states, 191 Report, 1627 Say, 346 Settle, 175 cancel, 517 looks, 349 request; 5f72fe35ef096ace
        heal@pr5(worker=watcher): 3271 states, 96 Report, 1315 Say, 336 Settle, 189 cancel, 755 looks, 1718 request; 37610209f090013c
        monitor@pr3(heartbeat=2, worker=watcher): 3511 states, 138 Report, 7966 Say, 326 Settle, 204 cancel, 1283 looks, 2018 request; de9ce28cd18426f4
        monitor@pr5(max_polls=3): 1153 states, 261 Report, 2355 Say, 381 Settle, 195 cancel, 987 looks, 896 request; fdcb95ab52951098
    "#]].assert_eq(&lines(&specs, letters::companion));
}

/// The letters inside an agent, with more environments to begin in and more questions to choose from.
fn inside() -> Vec<Letter> {
    use crate::auto_answer::{AUTO_ANSWER, FORCE_INTERACTIVE, NON_INTERACTIVE};
    let boots: [&[(&str, &str)]; 10] = [
        &[(NON_INTERACTIVE, "1")],
        &[(NON_INTERACTIVE, " ")],
        &[(NON_INTERACTIVE, "0")],
        &[(FORCE_INTERACTIVE, "1")],
        &[(FORCE_INTERACTIVE, "0"), (AUTO_ANSWER, "First")],
        &[(AUTO_ANSWER, "last")],
        &[(AUTO_ANSWER, "skip")],
        &[(AUTO_ANSWER, "b")],
        &[(AUTO_ANSWER, "nothing of the sort")],
        &[(NON_INTERACTIVE, "1"), (AUTO_ANSWER, "last"), (crate::pawwork::REASONING, "0")],
    ];
    let mut letters = letters::inside();
    for (env, at) in boots.into_iter().zip(0..) {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        letters.push(Letter::See(Seen::Inside(InsideSeen::Boot {
            env,
            stdin_tty: at % 3 == 0,
            run: at % 2 == 0,
            listens: at % 2 == 1,
        })));
    }
    let questions = [
        question("Go on?", &[("Yes", ""), ("Profile only", ""), ("Skip", "or cancel")]),
        question("Which?", &[("one", "goes on"), ("two", "declines, aborts")]),
        question("Name?", &[]),
    ];
    for asked in [&questions[..1], &questions[1..2], &questions[2..], &questions[..]] {
        let asked = ask(asked.to_vec());
        letters.extend([
            Letter::See(Seen::Inside(InsideSeen::ToolAsks(asked.clone()))),
            Letter::See(Seen::Inside(InsideSeen::Pending(asked))),
        ]);
    }
    letters
}

/// The letters of a server that have to do with questions.
fn of_questions() -> Vec<Letter> {
    let words = ["Started", "session.status", "session.idle", "part.updated", "question.", "Command"];
    let has = |letter: &Letter, words: &[&str]| words.iter().any(|word| format!("{letter:?}").contains(word));
    let mut all: Vec<Letter> = letters::server().into_iter().filter(|letter| has(letter, &words)).collect();
    // what arms the clock comes more often than what stops it
    let arms: Vec<Letter> = all.iter().filter(|letter| has(letter, &["busy", "running"])).cloned().collect();
    all.extend(arms.iter().cycle().take(6 * arms.len()).cloned());
    all
}

/// A strategy that is new in the catalogue must be recorded here too.
#[test]
fn nobody_is_left_out() {
    let here = include_str!("versions.rs");
    for entry in crate::all() {
        assert!(here.contains(&format!("\"{}", entry.name)), "{} is recorded nowhere", entry.name);
    }
}
