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

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == play::MARK) {
        play::play(&args[at + 1..]);
        return ExitCode::SUCCESS;
    }
    // what a shell or a build tool leaves open would be shared by all that is looked at
    // SAFETY: nothing has been opened yet by this program
    unsafe { libc::close_range(3, u32::MAX, 0) };
    let runs = std::env::var("REHANG_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut arguments = Arguments::from_args();
    // a descriptor of one case that leaked into another would be one more holder of an end
    arguments.test_threads = Some(1);
    let again = move |name: &str, one: Box<dyn Fn() -> Result<(), String> + Send>| {
        Trial::test(name, move || {
            for run in 1..=runs {
                one().map_err(|error| format!("run {run} of {runs}: {error}"))?;
            }
            Ok(())
        })
    };
    let cases = cases::all().into_iter().map(|case| again(case.name, Box::new(move || stage::run(&case))));
    let rights = rights::all().map(|(name, one)| again(name, Box::new(one)));
    let table = Trial::test("each_mechanism_has_its_case", || table::is_true().map_err(Into::into));
    libtest_mimic::run(&arguments, cases.chain(rights).chain([table]).collect()).exit_code()
}
