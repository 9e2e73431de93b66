//! A wrapper that ends hangs by evidence, to be copied: spawn, feed, act.
//!
//! `cargo run -p rehang-strategy --example wrapper -- claude -p 'fix the tests'`
//!
//! It needs `rehang-strategy`, which decides, `rehang-evidence`, which looks at the processes, and a way to send signals.
//! `rehang supervise` runs the same two pieces, and also handles what this one leaves out: terminals, the caller's
//! stdin and signals, processes that have left the group.

use rehang_evidence::Glance;
use rehang_strategy::{ProcessHost, ProcessSeen, Settled, Step, Stream, Terminal, VTime, Whom, stack};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Debug)]
pub enum Ended {
    /// It ended by itself.
    Itself(ExitStatus),
    /// It hung, and was ended or taken as over: the strategy that decided that, and how the run has ended.
    By(String, Settled),
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let program = args.next().ok_or("usage: wrapper COMMAND [ARGUMENT…]")?;
    match run(Command::new(program).args(args), 1)? {
        Ended::Itself(status) => Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1))?)),
        Ended::By(who, Settled::Completed(_)) => {
            eprintln!("taken as over by {who}");
            Ok(ExitCode::SUCCESS)
        }
        Ended::By(who, settled) => {
            eprintln!("ended by {who}: {settled:?}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Runs a command under `guard`, whose clock runs `pace` times as fast as the wall clock: 1, but in tests.
pub fn run(command: &mut Command, pace: u64) -> Result<Ended, Box<dyn Error>> {
    let mut guard = ProcessHost::new([stack("guard")?])?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let (tell, told) = channel();
    forward(child.stdout.take().ok_or("no stdout")?, std::io::stdout(), Stream::Stdout, tell.clone());
    forward(child.stderr.take().ok_or("no stderr")?, std::io::stderr(), Stream::Stderr, tell.clone());
    std::thread::spawn(move || {
        // it stays there until it is reaped: until then no other process gets its number
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let _ = tell.send(None);
    });

    let began = Instant::now();
    let now = || VTime(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_mul(pace));
    let (mut glance, mut open, mut status): (Option<Glance>, _, Option<ExitStatus>) = (None, 2, None);
    let mut steps = guard.start(now(), Terminal::Null, false);
    loop {
        for step in steps.drain(..) {
            match step {
                Step::Look => drop(glance.get_or_insert_with(|| Glance::begin(&[pid.as_raw_nonzero().get()]))),
                Step::Signal { signal, whom } if status.is_none() => send(pid, signal, whom),
                // it has exited, so it has no stdin to close
                Step::Signal { .. } | Step::CloseStdin => {}
                Step::Say(text) => eprintln!("{text}"),
            }
        }
        if let Some((who, settled)) = guard.settled() {
            let _ = kill_process_group(pid, Signal::KILL);
            child.wait()?;
            return Ok(Ended::By(who.clone(), settled.clone()));
        }
        if let Some(status) = status.filter(|_| open == 0) {
            return Ok(Ended::Itself(status));
        }
        // until something is seen, a look is due or a strategy's deadline has come
        let due = guard.deadline().map(|at| Duration::from_millis(at.since(now()).as_ms().div_ceil(pace)));
        let rest = due.into_iter().chain(glance.as_ref().map(Glance::rest)).min().unwrap_or(Duration::MAX);
        let seen = match told.recv_timeout(rest) {
            Ok(Some(seen)) => Some(seen),
            Ok(None) => {
                let ended = child.wait()?;
                status = Some(ended);
                Some(ProcessSeen::Exited(ended.code().or(ended.signal().map(|signal| -signal)).unwrap_or(-1)))
            }
            Err(_) => None,
        };
        open -= u8::from(matches!(seen, Some(ProcessSeen::OutputEnd(_))));
        steps.extend(seen.into_iter().flat_map(|seen| guard.see(now(), seen)));
        if let Some(glance) = glance.take_if(|glance| glance.rest().is_zero()) {
            steps.extend(guard.see(now(), ProcessSeen::Looked(Box::new(glance.end().diagnosis))));
        }
        steps.extend(guard.tick(now()));
    }
}

/// Passes a stream on, and reports what came.
fn forward(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static, as_: Stream, tell: Tell) {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut bytes) {
            let _ = to.write_all(&bytes[..n]).and_then(|()| to.flush());
            let _ = tell.send(Some(ProcessSeen::Output(as_, bytes[..n].to_vec())));
        }
        let _ = tell.send(Some(ProcessSeen::OutputEnd(as_)));
    });
}

/// What is seen; `None` for the exit.
type Tell = Sender<Option<ProcessSeen>>;

/// Sends a signal. Of the agent's tree this finds its group; for processes in sessions of their own be a subreaper
/// (prctl(2), `PR_SET_CHILD_SUBREAPER`) and go through `/proc`.
fn send(pid: Pid, signal: &str, whom: Whom) {
    let signal = match signal {
        "KILL" => Signal::KILL,
        "INT" => Signal::INT,
        _ => Signal::TERM,
    };
    // the process may have ended meanwhile
    let _ = match whom {
        Whom::Process => kill_process(pid, signal),
        // that process alone: who has its tree, as from `/proc`, ends all below it too
        Whom::Part(part) => Pid::from_raw(part).map_or(Ok(()), |part| kill_process(part, signal)),
        Whom::Group | Whom::Tree | Whom::Holders => kill_process_group(pid, signal),
    };
}
