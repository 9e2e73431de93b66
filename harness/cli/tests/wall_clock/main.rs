//! What takes place on the wall clock, and so mostly waits: hangs of fakes that are looked at in the real `/proc`, real
//! processes under `rehang supervise`, and runs of `rehang upstream` that are killed.
//!
//! Each part is played by a process of its own, this binary started again, and all of them at once: one becomes the parent
//! of whatever is left over, and one looks at the processes around it, which should be few. A test is named and listed as
//! if there were one process.

mod hangs;
mod killed;
mod signatures;

#[path = "../../../evidence/tests/signatures/agents.rs"]
mod agents;
#[path = "../../../evidence/tests/signatures/cases.rs"]
mod cases;
#[path = "../../../evidence/tests/signatures/play.rs"]
mod play;
#[path = "../../../evidence/tests/signatures/set_up.rs"]
mod set_up;
#[path = "../../../evidence/tests/signatures/stage.rs"]
#[expect(dead_code, reason = "the looks of that test are not taken here")]
mod stage;

use libtest_mimic::Arguments;
use std::io::Write;
use std::process::{Child, Command, ExitCode, Stdio};

/// The variable that names the part that a process plays.
const PART: &str = "REHANG_TEST_PART";

/// Plays the tests of a part.
type Play = fn(Arguments) -> ExitCode;

/// The parts; the longest is first.
const PARTS: [(&str, Play); 3] = [("signatures", signatures::play), ("hangs", hangs::play), ("killed", killed::play)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == play::MARK) {
        play::play(&words[at + 1..]);
        return ExitCode::SUCCESS;
    }
    if let Some(code) = hangs::role(&words) {
        return code;
    }
    match std::env::var(PART) {
        Ok(part) => match PARTS.iter().find(|(name, _)| *name == part) {
            Some((_, play)) => {
                // what a shell or a build tool leaves open would be shared by all that is looked at
                // SAFETY: nothing has been opened yet by this program
                unsafe { libc::close_range(3, u32::MAX, 0) };
                play(Arguments::from_args())
            }
            None => fails(&format!("no part is called {part:?}")),
        },
        Err(_) => at_once().unwrap_or_else(|error| fails(&error.to_string())),
    }
}

fn fails(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

/// Plays all parts at once. The first says what it does as it does it; what the others say comes after it.
fn at_once() -> std::io::Result<ExitCode> {
    // what is wrong with the arguments, or help, is said once
    let _ = Arguments::from_args();
    let own = std::env::current_exe()?;
    let start = |(at, (part, _)): (usize, &(&str, Play))| {
        let mut command = Command::new(&own);
        command.args(std::env::args_os().skip(1)).env(PART, part);
        if at > 0 {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        command.spawn()
    };
    let parts: Vec<Child> = PARTS.iter().enumerate().map(start).collect::<Result<_, _>>()?;
    // each is read as it goes on: one that cannot write would wait
    let ends: Vec<_> = parts.into_iter().map(|part| std::thread::spawn(|| part.wait_with_output())).collect();
    let mut all = ExitCode::SUCCESS;
    for end in ends {
        let output = end.join().map_err(|_| std::io::Error::other("a part was not read"))??;
        std::io::stdout().write_all(&output.stdout)?;
        std::io::stderr().write_all(&output.stderr)?;
        if !output.status.success() {
            all = ExitCode::FAILURE;
        }
    }
    Ok(all)
}
