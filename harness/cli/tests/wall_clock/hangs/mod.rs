//! Hangs on the wall clock: `rehang path`'s fakes as real processes, looked at in the real `/proc`, show what the same
//! scenario shows on the simulated kernel: the verdict, the signature, the mechanism, whether it is about the process that
//! was asked about, and whether that is closed in.
//!
//! Around the fakes there are the parties of a cell, each a process of its own, as on the stages: a wrapper that holds the
//! streams, a client of a server, a model if a fault is the model's.
//!
//! Invariant: looks count once as many processes have begun and ended, and as many facts were stated, as on the simulated
//! kernel; they are repeated until two in a row say what is expected, and their number is only an abort; no time is
//! asserted. What differs is in a table, with the reason, and must differ just so.

mod cells;
mod client;
mod keeper;
mod records;
mod wall;
mod wrapper;

use cells::{Cell, chosen};
use libtest_mimic::{Arguments, Failed, Trial};
use rehang_evidence::Verdict;
use rehang_hangs::{Mechanism, Signature};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

/// What shows something else on the wall clock: the scenario, the verdict, the signature, the mechanism, whether it is
/// closed in, why.
const DIFFER: [Differs; 6] = [
    (
        "altimate/nested-agent[run]",
        (Verdict::Hung, Signature::StrayHoldsPipe, Some(Mechanism::B6), false),
        "the fake agent that a tool starts keeps no log open, in which the reader would find what it asks",
    ),
    (
        "startup/fetch-unanswered",
        (Verdict::Waiting, Signature::PeerSilent, Some(Mechanism::E8), false),
        "alone, who does not take the connection is the agent itself, which listens",
    ),
    (
        "gemini/model-silent[0.61.0]",
        (Verdict::Waiting, Signature::ModelSilent, Some(Mechanism::M1), false),
        "a sign of life comes once a minute: two looks here are too short to see one, the stage's see the last",
    ),
    (
        "model/dead-connection",
        (Verdict::Hung, Signature::MutualWait, Some(Mechanism::C6), true),
        "alone, who answers once and then never again is the agent itself: it holds both ends of the connection",
    ),
    (
        "locks/database-locked",
        (Verdict::Waiting, Signature::Polling, None, false),
        "alone, no other run holds the lock: the tool holds it itself, by a second descriptor",
    ),
    (
        "locks/file-lock",
        (Verdict::Hung, Signature::FileLock, Some(Mechanism::R2), true),
        "the same; nobody out of sight could release it",
    ),
];

type Differs = (&'static str, Said, &'static str);
/// The verdict, the signature, the mechanism, whether it is closed in.
type Said = (Verdict, Signature, Option<Mechanism>, bool);

/// What is said, as the table has it.
fn said(says: &cells::Says) -> Said {
    (says.verdict, says.signature, says.mechanism, says.closed_in)
}

/// The layers of which nothing shows the same: who holds their locks, another run, is in no process that plays alone.
const NOTHING_THE_SAME: [&str; 1] = ["locks"];

/// The least number of scenarios that show the same on both.
const SAME: usize = 40;

/// Plays a role around an agent, if these words name one.
pub fn role(words: &[String]) -> Option<ExitCode> {
    let [_, role, order, rest @ ..] = words else { return None };
    keeper::role(role, order, rest)
}

/// Plays the tests of this part.
pub fn play(mut args: Arguments) -> ExitCode {
    // they mostly wait
    args.test_threads.get_or_insert(4);
    let chosen = match chosen() {
        Ok(chosen) => Arc::new(chosen),
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials: Vec<Trial> = chosen.cells.iter().cloned().map(trial).collect();
    trials.push(Trial::test("most_hangs_show_the_same_on_the_wall_clock", {
        let chosen = Arc::clone(&chosen);
        move || enough(&chosen)
    }));
    libtest_mimic::run(&args, trials).exit_code()
}

fn trial(cell: Cell) -> Trial {
    let name = cell.name.clone();
    Trial::test(name, move || {
        let differs = DIFFER.iter().find(|(name, ..)| *name == cell.name);
        let shown = match differs {
            Some((_, differs, _)) => wall::shows(&cell, &|says| said(says) == *differs),
            None => wall::shows(&cell, &|says| *says == cell.says),
        };
        shown.map_err(Failed::from)
    })
}

/// The set is large, has a scenario of every layer that can be played, and its exceptions are true.
fn enough(chosen: &cells::Chosen) -> Result<(), Failed> {
    let mut layers: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for cell in &chosen.cells {
        let differs = DIFFER.iter().any(|(name, ..)| *name == cell.name);
        let counts = layers.entry(cell.layer()).or_default();
        counts.0 += usize::from(!differs);
        counts.1 += usize::from(differs);
    }
    for (layer, (same, differ)) in &layers {
        println!("{layer:14} {same:3} the same, {differ} others");
    }
    let signatures: BTreeSet<&str> = chosen.cells.iter().map(|cell| cell.says.signature.word()).collect();
    println!("{} signatures: {}", signatures.len(), signatures.into_iter().collect::<Vec<_>>().join(", "));
    let reasons: BTreeSet<&str> = chosen.left_out.values().copied().collect();
    for reason in reasons {
        let files = chosen.left_out.iter().filter(|(_, why)| **why == reason).map(|(file, _)| file.as_str());
        println!("left out since {reason}: {}", files.collect::<Vec<_>>().join(", "));
    }
    let same: usize = layers.values().map(|(same, _)| same).sum();
    if same < SAME {
        return Err(format!("{same} are fewer than {SAME}").into());
    }
    let nothing: Vec<&str> = layers.iter().filter(|(_, (same, _))| *same == 0).map(|(layer, _)| *layer).collect();
    if nothing != NOTHING_THE_SAME {
        return Err(format!("no scenario shows the same of {nothing:?}, and that is so of {NOTHING_THE_SAME:?}").into());
    }
    for (name, differs, _) in DIFFER {
        let Some(cell) = chosen.cells.iter().find(|cell| cell.name == name) else {
            return Err(format!("{name} is not played any more").into());
        };
        if said(&cell.says) == differs {
            return Err(format!("{name} is no exception any more").into());
        }
    }
    Ok(())
}
