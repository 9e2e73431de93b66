//! `rehang supervise` around the processes of every case of `rehang why`'s own tests: a hang is ended with its cause, and
//! what is no hang is left alone.
//!
//! The strategy's clock runs faster than the wall clock; the cases are those of the crate rehang-evidence, and the
//! processes are this binary, started again.
//!
//! A peer's silence counts from a minute on, which no pace makes faster: those cases take a minute and a half, and are
//! played with `--include-ignored` only.
//!
//! Invariant: causes and what was done are asserted, never a time of the wall clock: a hang is waited for until its
//! supervisor has ended it, and what is no hang is watched for a span of the strategy's clock, or to its own end.

use crate::cases;
use crate::stage::{self, Case, Stage};
use libtest_mimic::{Arguments, Trial};
use rehang_evidence::{Limits, Verdict};
use rehang_hangs::Signature;
use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::ExitCode;

/// How many times as fast as the wall clock guard's clock runs around a hang.
const PACE_OF_HANGS: u32 = 300;
/// The strategy around a hang that a limit of its own ends, at 65 minutes at the latest. A look takes a second of the wall
/// clock, whatever the pace, and many on a loaded machine: hours of guard's clock, and it needs two. With its own limits
/// for a silent run the limit that is meant would not always come first.
const WITH_TIME_TO_LOOK: &str = "guard(quiet=48h, at-work=48h)";
/// Around a peer that is silent: that counts from a minute on of the kernel's own clock, which no pace makes faster.
const PACE_OF_SILENCE: u32 = 60;
/// And around what is no hang.
const PACE: u32 = 600;
/// How long that is left alone, in seconds of guard's clock: ten times the 10 minutes that are the longest of guard's
/// limits below those that wait for a person, a model or a tool's own limit. Ten times those would be more than the 5
/// hours after which guard ends any silence.
const LEFT_ALONE_S: u64 = 6_000;
/// The exit code of `rehang supervise` if it has ended a hang.
const ENDED: i64 = 123;

/// Hangs that are ended with another cause than their signature, and why.
const OTHERWISE: [(&str, &str, &str); 2] = [
    ("client-of-an-idle-server", "idle", "what is a guess ends no run"),
    ("no-connection-but-a-timer", "idle", "a guess ends nothing"),
];

/// Cases that cannot be played under a supervisor, and why.
const UNPLAYED: [(&str, &str); 7] = [
    ("orphaned-agent-spins", "who started it is gone, and no supervisor has started it"),
    ("permission-at-a-terminal", NO_SESSION),
    ("agent-at-a-terminal", NO_SESSION),
    ("stopped", LASTS),
    ("no-connection-for-a-moment", LASTS),
    ("stray-writes-pipe", LASTS),
    ("stray-writes-pipe-of-one-awake", LASTS),
];
const LASTS: &str = "it is no hang for a moment, and counts as one if it lasts, which it does";
const NO_SESSION: &str = "what a supervisor starts leads a group, and cannot move to a terminal of the test";

/// The least number of signatures of which a hang is ended with its own cause.
const SIGNATURES: usize = 25;

/// Plays the tests of this part.
pub fn play(mut arguments: Arguments) -> ExitCode {
    // they mostly wait
    arguments.test_threads.get_or_insert(40);
    let played = || cases::all().into_iter().filter(|case| unplayed(case).is_none());
    let trial = |case: Case| {
        let is_slow = case.verdict == Verdict::Hung && case.limits != Limits::default();
        Trial::test(case.name, move || run(&case).map_err(Into::into)).with_ignored_flag(is_slow)
    };
    let mut trials: Vec<Trial> = played().map(trial).collect();
    trials.push(Trial::test("most_signatures_are_ended_with_their_own_cause", move || {
        let own = played().filter(|case| case.verdict == Verdict::Hung && otherwise(case).is_none());
        let signatures: std::collections::BTreeSet<Signature> = own.map(|case| case.signature).collect();
        match signatures.len() {
            enough if enough >= SIGNATURES => Ok(()),
            few => Err(format!("{few}: {signatures:?}").into()),
        }
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn unplayed(case: &Case) -> Option<&'static str> {
    UNPLAYED.iter().find(|(name, _)| *name == case.name).map(|(_, why)| *why)
}

fn otherwise(case: &Case) -> Option<&'static str> {
    OTHERWISE.iter().find(|(name, ..)| *name == case.name).map(|(_, cause, _)| *cause)
}

/// Plays a case under a supervisor, and compares what that did.
fn run(case: &Case) -> Result<(), String> {
    let hangs = case.verdict == Verdict::Hung;
    let pace = match hangs {
        true if case.limits != Limits::default() => PACE_OF_SILENCE,
        true => PACE_OF_HANGS,
        false => PACE,
    };
    let mut stage = Stage::new()?;
    let events = stage::path(&stage, "events");
    rustix::fs::mknodat(rustix::fs::CWD, &events, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .map_err(|error| error.to_string())?;
    // without a writer yet, only this does not wait
    let told = rustix::fs::open(&events, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| error.to_string())?;
    let [pace_word, kept] = [pace.to_string(), stage::path(&stage, "kept")];
    let strategy = if hangs && otherwise(case).is_none() { WITH_TIME_TO_LOOK } else { "guard" };
    let how = ["--strategy", strategy, "--pace", &pace_word, "--grace", "1s"];
    let told_at = ["--events", &events, "--evidence", &kept, "--"];

    stage.before =
        [env!("CARGO_BIN_EXE_rehang"), "supervise"].into_iter().chain(how).chain(told_at).map(str::to_owned).collect();
    (case.set_up)(&mut stage);
    stage.await_ready(case.ready)?;
    rustix::fs::fcntl_setfl(&told, OFlags::empty()).map_err(|error| error.to_string())?;
    let events = BufReader::new(std::fs::File::from(told)).lines().map_while(Result::ok);
    let events = events.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    if hangs { is_ended(case, events) } else { is_left_alone(events) }
}

/// It is ended, and the cause is its signature; or the part of it is that hangs, and then it ends by itself.
fn is_ended(case: &Case, events: impl Iterator<Item = Value>) -> Result<(), String> {
    let (mut look, mut cause, mut acted) = (Value::Null, String::new(), false);
    let right = otherwise(case).unwrap_or(case.signature.word());
    for event in events {
        match event["event"].as_str() {
            Some("look") => look = event,
            Some("act") => {
                acted |= event["does"] == "signal" && event["done"] == true;
                event["cause"].as_str().unwrap_or_default().clone_into(&mut cause);
            }
            Some("end") if cause == right && (event["code"] == ENDED || event["by"] == "guard-process" || acted) => {
                return Ok(());
            }
            Some("end") => return Err(format!("expected the cause {right}, got {cause}: {event:#}; looked: {look:#}")),
            _ => {}
        }
    }
    Err(format!("its supervisor ended without a word; looked: {look:#}"))
}

/// Nothing is done to it for the whole span, or until it ends by itself.
fn is_left_alone(events: impl Iterator<Item = Value>) -> Result<(), String> {
    let mut look = Value::Null;
    for event in events {
        let now_s = event["ms"].as_u64().unwrap_or(0) * u64::from(PACE) / 1_000;
        match event["event"].as_str() {
            Some("act") => return Err(format!("{event:#}; looked: {look:#}")),
            Some("end") if event["by"].is_null() => return Ok(()),
            Some("end") => return Err(format!("{event:#}; looked: {look:#}")),
            _ if now_s >= LEFT_ALONE_S => return Ok(()),
            Some("look") => look = event,
            _ => {}
        }
    }
    Err(format!("its supervisor ended without a word; looked: {look:#}"))
}
