//! Every signature on a small real process tree: the kernel's own pipes, terminals, locks and sockets, and no fake of
//! /proc. The misbehaving processes are this same binary, started again.
//!
//! `REHANG_RUNS=200 cargo test -p rehang-evidence --test signatures` runs each case 200 times.
//!
//! Invariant: a look is judged once the kernel shows that the tree stands still (or, for a tree that never does, at the
//! second look after it said that it is ready in which the kernel let it run), and the first judgement counts.

mod agents;
mod cases;
mod play;
mod rights;
mod set_up;
mod stage;
mod table;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == play::MARK) {
        play::play(&args[at + 1..]);
        return ExitCode::SUCCESS;
    }
    // what a shell or a build tool leaves open would be shared by all that is looked at
    // SAFETY: nothing has been opened yet by this program
    unsafe { libc::close_range(3, u32::MAX, 0) };
    if let [_, word, name] = args.as_slice()
        && word == TRIAL
    {
        return trial(name);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    let trials = checks().into_iter().map(|(name, _)| Trial::test(name, move || in_a_process(name)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// What makes this program one check; its name follows.
const TRIAL: &str = "__trial";
/// How many are tried at once: they wait for their windows more than they compute.
const AT_ONCE: usize = 4;

type Check = Box<dyn Fn() -> Result<(), String>>;

fn checks() -> Vec<(&'static str, Check)> {
    let cases = cases::all().into_iter().map(|case| (case.name, Box::new(move || stage::run(&case)) as Check));
    let rights = rights::all().map(|(name, check)| (name, Box::new(check) as Check));
    let table = ("each_mechanism_has_its_case", Box::new(table::is_true) as Check);
    cases.chain(rights).chain([table]).collect()
}

/// Runs one check in this process; its failure is what it says on stderr.
fn trial(name: &str) -> ExitCode {
    let runs = std::env::var("REHANG_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let Some((_, check)) = checks().into_iter().find(|(of, _)| *of == name) else {
        eprintln!("no check is called {name:?}");
        return ExitCode::FAILURE;
    };
    for run in 1..=runs {
        if let Err(error) = check() {
            eprintln!("run {run} of {runs}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// A descriptor of one case that leaked into another would be one more holder of an end: each case has a process of its
/// own.
fn in_a_process(name: &str) -> Result<(), Failed> {
    let exe = std::env::current_exe()?;
    let out = Command::new(exe).args([TRIAL, name]).stdin(Stdio::null()).output()?;
    match out.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", out.status, String::from_utf8_lossy(&out.stderr)).into()),
    }
}
