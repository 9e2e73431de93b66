//! Real programs in virtual time: how long they take, how they end, and that the clock never jumps too early.
//!
//! Virtual times are compared to the nanosecond. Real time is never compared with anything. This binary is also the
//! programs that it runs: `real program NAME ARGUMENTS`.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod book;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod commands;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod edge;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod last;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod limits;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod looks;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod namespaces;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stress;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod support;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod verdicts;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, program, name, arguments @ ..] = &arguments[..]
        && program == "program"
    {
        return run_program(name, arguments);
    }
    let mut trials = commands::trials();
    trials.extend(book::trials());
    trials.extend(edge::trials());
    trials.extend(last::trials());
    trials.extend(limits::trials());
    trials.extend(looks::trials());
    trials.extend(namespaces::trials());
    trials.extend(stress::trials());
    trials.extend(verdicts::trials());
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit();
}

/// Plays one of the programs that the tests run.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn run_program(name: &str, arguments: &[String]) {
    let number = |at: usize| arguments.get(at).and_then(|word| word.parse().ok()).expect("a number");
    match name {
        "edge" => edge::program(),
        "stress" => stress::program(&arguments[0], number(1)),
        "limits" if arguments.is_empty() => limits::program(),
        "limits" => limits::ticker(),
        "verdict" => verdicts::program_of(&arguments[0]),
        other => panic!("no program {other}"),
    }
}
