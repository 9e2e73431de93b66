//! The process of a cell: started on the wall clock, or as the root of a tree in virtual time.

use crate::cell::{self, Job, Ran};
use crate::{CELL_ARG, WrapperError};
use rehang_processes::machine;
use rehang_runner::binaries::own_binary;
use rehang_warp::{Error as WarpError, Verdict, Warp};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How much longer than its deadline a cell lives in virtual time, to name and to end what is left.
const CLEARS_UP_WITHIN: Duration = Duration::from_secs(60);

fn command() -> Result<Command, WrapperError> {
    let own = own_binary().map_err(|error| WrapperError::Machine(error.to_string()))?;
    let mut command = Command::new(own);
    command.arg(CELL_ARG);
    Ok(command)
}

/// Does a job on the machine's clock.
pub fn on_the_wall_clock(job: &Job) -> Result<Ran, WrapperError> {
    let mut command = command()?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        WrapperError::Machine(format!("a process for a cell could not be started: {}", machine::start(&error)))
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&serde_json::to_vec(job).map_err(io::Error::other)?)?;
    }
    let out = child.wait_with_output()?;
    if out.status.success() {
        return Ok(serde_json::from_slice(&out.stdout).map_err(io::Error::other)?);
    }
    let why = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    let of_the_command = out.status.code() == Some(i32::from(cell::NO_COMMAND));
    Err(if of_the_command { WrapperError::Start(why) } else { WrapperError::Machine(why) })
}

/// Does a job in virtual time, for at most `within` of real time.
pub fn in_virtual_time(job: &Job, within: Duration) -> Result<Ran, WrapperError> {
    // files, since nobody outside of the tree acts while it runs
    let [mut input, mut output, mut errors] = [file("job")?, file("answer")?, file("errors")?];
    input.write_all(&serde_json::to_vec(job).map_err(io::Error::other)?)?;
    input.rewind()?;
    let mut command = command()?;
    command.stdin(input).stdout(output.try_clone()?).stderr(errors.try_clone()?);
    let until = Duration::from_millis(job.deadline_ms).saturating_add(CLEARS_UP_WITHIN);
    let ending = Warp::new(command).until(until).within(within).run().map_err(|error| match error {
        WarpError::Io(error) => WrapperError::Io(error),
        error => WrapperError::Machine(format!("{error}; `--clock wall` needs no right to trace")),
    })?;
    let [mut answer, mut why] = [String::new(), String::new()];
    for (file, text) in [(&mut output, &mut answer), (&mut errors, &mut why)] {
        file.rewind()?;
        file.read_to_string(text)?;
    }
    let why = why.trim();
    Err(match ending.verdict {
        Verdict::Exited { code: 0 } => return Ok(serde_json::from_str(&answer).map_err(io::Error::other)?),
        Verdict::Exited { code } if code == i32::from(cell::NO_COMMAND) => WrapperError::Start(why.to_owned()),
        Verdict::OutOfTime => WrapperError::Machine(format!(
            "it needs more than {} s of real time; give it more with --within",
            within.as_secs()
        )),
        other => WrapperError::Machine(format!("a cell in virtual time gave no answer: {other:?} {why}")),
    })
}

/// A file in memory.
fn file(name: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?.into())
}
