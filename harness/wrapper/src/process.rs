//! The process of a cell: started on the wall clock, or as the root of a tree in virtual time.

use crate::cell::{self, Job, Ran, Still};
use crate::{CELL_ARG, WrapperError};
use rehang_processes::{machine, memory};
use rehang_runner::binaries::own_binary;
use rehang_warp::{Error as WarpError, Verdict, Warp};
use std::io::{self, Read, Seek, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How much processor time a cell may use at one instant before its virtual time flows: no healthy fake computes for so
/// long, and one that spins reaches a wrapper's limits well within the real time of a cell.
const BUSY: Duration = Duration::from_secs(4);

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
        let mut ran: Ran = serde_json::from_slice(&out.stdout).map_err(io::Error::other)?;
        ran.still = ran.exit.is_none().then_some(Still::Deadline);
        return Ok(ran);
    }
    let why = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    let of_the_command = out.status.code() == Some(i32::from(cell::NO_COMMAND));
    Err(if of_the_command { WrapperError::Start(why) } else { WrapperError::Machine(why) })
}

/// Does a job in virtual time, for at most `within` of real time.
pub fn in_virtual_time(job: &Job, within: Duration) -> Result<Ran, WrapperError> {
    // files, since nobody outside of the tree acts while it runs
    let input = memory::holding("job", &serde_json::to_vec(job).map_err(io::Error::other)?)?;
    let [mut output, mut errors] = [memory::file("answer")?, memory::file("errors")?];
    let mut command = command()?;
    command.stdin(input).stdout(output.try_clone()?).stderr(errors.try_clone()?);
    let until = Duration::from_millis(job.deadline_ms);
    // of the ports of a cell, a model server's above all, only the cell knows
    let warp = Warp::new(command).until(until).within(within).busy(BUSY).nobody_connects();
    let ending = warp.run().map_err(|error| match error {
        WarpError::Io(error) => WrapperError::Io(error),
        WarpError::Start { program, error } => {
            WrapperError::Machine(format!("{program} could not be started: {}", machine::start(&error)))
        }
        error => WrapperError::Machine(format!(
            "{error}. Or run it on the wall clock, which needs no right to trace: `--clock wall`"
        )),
    })?;
    let [mut answer, mut why] = [String::new(), String::new()];
    for (file, text) in [(&mut output, &mut answer), (&mut errors, &mut why)] {
        file.rewind()?;
        file.read_to_string(text)?;
    }
    let why = why.trim();
    let ran = answer.lines().last().map(serde_json::from_str::<Ran>).transpose().map_err(io::Error::other)?;
    let (still, mut ran) = match (&ending.verdict, ran) {
        (Verdict::Exited { code: 0 }, Some(ran)) => return Ok(ran),
        (Verdict::Exited { code }, _) if *code == i32::from(cell::NO_COMMAND) => {
            return Err(WrapperError::Start(why.to_owned()));
        }
        (Verdict::Deadlock { .. }, Some(ran)) => (Still::Deadlock, ran),
        (Verdict::Horizon { .. }, Some(ran)) => (Still::Deadline, ran),
        (Verdict::WaitsFor { .. } | Verdict::Undecided { .. }, Some(ran)) => (Still::Outside, ran),
        (Verdict::OutOfTime, Some(ran)) => (Still::OutOfTime, ran),
        (other, _) => {
            return Err(WrapperError::Machine(format!("a cell in virtual time gave no answer: {other:?} {why}")));
        }
    };
    // the process of the cell begins with the virtual clock, and starts the wrapper at once
    ran.ended_ms = ran.began_ms.saturating_add(u64::try_from(ending.elapsed.as_millis()).unwrap_or(u64::MAX));
    ran.still = Some(still);
    ran.waits = ending.verdict.waits().to_vec();
    Ok(ran)
}
