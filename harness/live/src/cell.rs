//! One cell: a scenario, a release, a terminal.
//!
//! Invariant: a cell that cannot be run is an error, never an outcome.

use crate::plan;
use crate::report::Report;
use crate::spec::{Answer, Cell, CellSpec, LiveError, LookAt};
use crate::supervisor::END_SIGNAL;
use crate::terminal::ScreenKind;
use rehang_agents::{Form, Recipe};
use rehang_oracle::Oracle;
use rehang_processes::memory;
use rehang_scenario::{
    Fault, ModelDoes, Scenario, Terminal,
    turns::{Bash, Step, Turn},
};
use rehang_warp::{Ending, Error as WarpError, Warp};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The argument that makes `rehang` a cell's child process.
pub const LIVE_ARG: &str = "__live";
/// The deadline of a cell whose scenario gives the agent nothing to which it has a limit of its own.
const DEADLINE: Duration = Duration::from_secs(60);
/// The deadline of a cell with a bash command that never ends, longer than an agent's own limit on that: two minutes (Claude
/// Code, opencode).
const BEHIND_A_BASH_LIMIT: Duration = Duration::from_secs(150);
/// The deadline of a cell with a call of a tool server, longer than an agent's own limit on that: 300 s without a word (Claude
/// Code 2.1.329, recorded).
const BEHIND_A_SERVER_LIMIT: Duration = Duration::from_secs(330);
/// The deadline of a cell whose model may be silent, longer than an agent's own limit on that: 300 s (Codex,
/// `stream_idle_timeout_ms`), or the 600 s that the vendors' client libraries have by default, and the time to say so.
const BEHIND_A_STREAM_LIMIT: Duration = Duration::from_secs(700);

/// Why this release cannot play this scenario on this terminal; `None` if it can.
pub fn cannot(scenario: &Scenario, recipe: &Recipe, terminal: Terminal) -> Option<String> {
    plan::cannot(scenario, recipe, terminal)
}

/// A deadline that tells a hang from a limit of the agent's own, if its scenario gives it something to limit: a silent
/// or failing model, a command without an end. Without any of these: a minute.
pub fn deadline(scenario: &Scenario) -> Duration {
    let model = scenario.faults.iter().any(|fault| match fault {
        Fault::Model(fault) => !matches!(fault.does, ModelDoes::Pause(_) | ModelDoes::Slow(_)),
        _ => false,
    });
    let own: u64 = thinking_ms(&scenario.turns);
    let limit = match () {
        () if model => BEHIND_A_STREAM_LIMIT,
        () if bashes(&scenario.turns).any(never_ends) => BEHIND_A_BASH_LIMIT,
        () if scenario.tool_server.is_some() => BEHIND_A_SERVER_LIMIT,
        () if scenario.turns.iter().any(|turn| matches!(turn, Turn::Permit(_))) => BEHIND_A_SERVER_LIMIT,
        () => DEADLINE,
    };
    limit + Duration::from_millis(own)
}

fn thinking_ms(turns: &[Turn]) -> u64 {
    let of = |turn: &Turn| match turn {
        Turn::Think(span) => span.as_ms(),
        Turn::Task(task) => thinking_ms(&task.turns),
        Turn::Bash(bash) => sleeping_ms(&bash.does),
        _ => 0,
    };
    turns.iter().map(of).sum()
}

fn sleeping_ms(steps: &[Step]) -> u64 {
    let of = |step: &Step| match step {
        Step::Sleep(span) => span.as_ms(),
        Step::Every(every) => every.every.as_ms().saturating_mul(every.times.into()),
        Step::Run(steps) => sleeping_ms(steps),
        _ => 0,
    };
    steps.iter().map(of).sum()
}

fn bashes(turns: &[Turn]) -> Box<dyn Iterator<Item = &Bash> + '_> {
    Box::new(turns.iter().flat_map(|turn| match turn {
        Turn::Bash(bash) => Box::new(std::iter::once(bash)) as Box<dyn Iterator<Item = &Bash>>,
        Turn::Task(task) => bashes(&task.turns),
        Turn::Together(calls) => bashes(calls),
        _ => Box::new(std::iter::empty()),
    }))
}

fn never_ends(bash: &Bash) -> bool {
    bash.does.iter().any(|step| match step {
        Step::ReadStdin | Step::ReadStdinToEnd | Step::AskTty(_) | Step::Hold | Step::Spin => true,
        Step::Receive(_) | Step::Await(_) | Step::Listen(_) | Step::Fetch(_) => true,
        Step::OpenFifo(open) => !open.skips,
        Step::Lock(_) | Step::Again => true,
        Step::Background(left) => left.stdout != Some(false) || left.stderr != Some(false),
        Step::Every(every) => every.times == 0,
        _ => false,
    })
}

/// What the agent of a cell is given: all that a fake needs to play the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// The arguments, without the program.
    pub args: Vec<String>,
    /// What the model does; bash commands are those of the sandbox.
    pub turns: Vec<Turn>,
    /// Whether its stdin is a host's.
    pub is_driven: bool,
    /// Whether it is a server.
    pub is_server: bool,
}

/// What the agent of a cell is given.
///
/// # Errors
/// The release cannot play it.
pub fn played(cell: &Cell<'_>) -> Result<Played, LiveError> {
    let order = plan::order(cell)?;
    let args = order.sandbox.argv.into_iter().skip(cell.installed.program.len()).collect();
    Ok(Played {
        args,
        turns: order.scenario.turns,
        is_driven: order.form == Form::Stdin,
        is_server: order.form == Form::Serve,
    })
}

/// Runs a cell and waits for its end. After that nothing of it is left.
///
/// # Errors
/// Why it could not be run.
pub fn run(cell: &Cell<'_>) -> Result<Report, LiveError> {
    play(plan::order(cell)?, cell, &mut |_| {})
}

/// As [`run`]; `started` is called when the agent runs.
///
/// # Errors
/// Why it could not be run.
pub fn run_telling(cell: &Cell<'_>, started: &mut dyn FnMut()) -> Result<Report, LiveError> {
    let mut on = |moment| {
        if matches!(moment, Moment::Started) {
            started();
        }
    };
    play(plan::order(cell)?, cell, &mut on)
}

/// As [`run`]; if the agent hangs, `look` is called with its process, as this machine numbers it, while it still hangs.
///
/// # Errors
/// Why it could not be run.
pub fn run_looking(cell: &Cell<'_>, look: &mut dyn FnMut(i32)) -> Result<Report, LiveError> {
    let order = CellSpec { looked_at: true, ..plan::order(cell)? };
    let mut on = |moment| {
        if let Moment::Hangs(pid) = moment {
            look(pid);
        }
    };
    play(order, cell, &mut on)
}

/// As [`run`]; when its client is done, every `GET` route of the server's own list is asked, for [`Report::routes`].
///
/// # Errors
/// Why it could not be run.
pub fn run_asking(cell: &Cell<'_>) -> Result<Report, LiveError> {
    play(CellSpec { asks_routes: true, ..plan::order(cell)? }, cell, &mut |_| {})
}

/// How a cell is run in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Virtual {
    /// The virtual time that it has from its start.
    pub until: Duration,
    /// The real time that it may take.
    pub within: Duration,
    /// How long the waits of tickers last, if they are to be skipped; see [`Warp::skip_tickers`].
    pub skip_tickers: Option<Duration>,
    /// Where its random numbers come from, if they are to be the same in each run.
    pub seed: Option<u64>,
    /// How often each process is looked at; see [`Oracle`].
    pub looks: Option<u32>,
}

/// As [`run`], in virtual time: the sandbox, the model server and all that is beside the agent are in one tree whose
/// clock jumps to the next deadline when all of it is asleep. The cell's own deadline does not count.
///
/// # Errors
/// Why it could not be run. A machine on which no process may be traced is [`LiveError::Sandbox`].
pub fn run_virtually(cell: &Cell<'_>, settings: &Virtual) -> Result<Report, LiveError> {
    let mut oracle = settings.looks.map(|count| Oracle::new(count, settings.until));
    let order = CellSpec { is_virtual: true, ..plan::order(cell)? };
    let (report, ending) = play_virtually(&order, cell, settings, oracle.as_mut())?;
    let tally = oracle.map(|oracle| oracle.judge(&ending).tally());
    Ok(report.in_virtual_time(&ending, settings.until, tally))
}

/// As [`run`], on this terminal, up to a look: at its instant `look` is called with the agent's process, as this machine
/// numbers it, and the cell ends when it returns. [`Report::lines`] has what was written there, byte for byte
/// ([`Via::Screen`](crate::Via)).
///
/// # Errors
/// Why it could not be run.
pub fn run_on_screen(
    cell: &Cell<'_>,
    screen: ScreenKind,
    at: LookAt,
    look: &mut dyn FnMut(i32),
) -> Result<Report, LiveError> {
    let mut order = CellSpec { look: Some(at), screen: Some(screen), ..plan::order(cell)? };
    order.sandbox.size = screen.size;
    let mut on = |moment| {
        if let Moment::Hangs(pid) = moment {
            look(pid);
        }
    };
    play(order, cell, &mut on)
}

fn play_virtually(
    order: &CellSpec,
    cell: &Cell<'_>,
    settings: &Virtual,
    oracle: Option<&mut Oracle>,
) -> Result<(Report, Ending), LiveError> {
    let mut line = serde_json::to_vec(order).map_err(|error| LiveError::Fault(error.to_string()))?;
    line.push(b'\n');
    // files, since nobody outside of the tree acts while it runs
    let input = memory::holding("order", &line)?;
    let [mut output, mut errors] = [memory::file("answer")?, memory::file("errors")?];
    let mut command = Command::new(&cell.rehang);
    command.arg(LIVE_ARG).env_clear().process_group(0);
    command.stdin(input).stdout(output.try_clone()?).stderr(errors.try_clone()?);
    let mut warp = Warp::new(command).until(settings.until).within(settings.within).last_signal(END_SIGNAL);
    if let Some(span) = settings.skip_tickers {
        warp = warp.skip_tickers(span);
    }
    if let Some(seed) = settings.seed {
        warp = warp.seed(seed);
    }
    if let Some(oracle) = oracle {
        warp = oracle.watch(warp);
    }
    let ending = warp.run().map_err(|error| match error {
        WarpError::Trace { .. } | WarpError::NoWaitChannels | WarpError::Unsupported => {
            LiveError::Sandbox(format!("{error}. Or use the wall clock, which needs no right to trace: `--clock wall`"))
        }
        WarpError::Start { .. } | WarpError::Io(_) => LiveError::Fault(error.to_string()),
    })?;
    output.rewind()?;
    let answers = BufReader::new(output).lines().map_while(Result::ok);
    match answers.filter_map(|line| serde_json::from_str(&line).ok()).last() {
        Some(Answer::Report(report)) => Ok((*report, ending)),
        Some(Answer::Sandbox(why)) => Err(LiveError::Sandbox(why)),
        Some(Answer::Fault(why)) => Err(LiveError::Fault(why)),
        Some(Answer::Started | Answer::Hangs(_)) | None => {
            errors.rewind()?;
            let mut said = String::new();
            errors.take(SAID_BYTES).read_to_string(&mut said)?;
            let how = format!("{:?}", ending.verdict);
            let how: String = how.chars().take(SAID_BYTES as usize).collect();
            Err(LiveError::Fault(format!("a live cell in virtual time gave no report ({how}): {}", said.trim())))
        }
    }
}

/// The most bytes that are quoted of what a cell's process said when it failed.
const SAID_BYTES: u64 = 2_000;

/// A moment of a cell's life.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// The agent runs.
    Started,
    /// It hangs, or its instant has come; this process is kept until the call returns.
    Hangs(i32),
}

fn play(order: CellSpec, cell: &Cell<'_>, on: &mut dyn FnMut(Moment)) -> Result<Report, LiveError> {
    let mut command = Command::new(&cell.rehang);
    // a group of its own: a Ctrl-C at the user's terminal ends the runner, and that ends the cell
    command.arg(LIVE_ARG).env_clear().process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut line = serde_json::to_vec(&order).map_err(|error| LiveError::Fault(error.to_string()))?;
    line.push(b'\n');
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // if it ends before it has read its order, it says why below
        let _ = stdin.write_all(&line);
    }
    let mut answer = None;
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Answer::Started) => on(Moment::Started),
                Ok(Answer::Hangs(pid)) => {
                    on(Moment::Hangs(pid));
                    // the end of its stdin lets the cell end
                    drop(stdin.take());
                }
                Ok(other) => answer = Some(other),
                Err(error) => {
                    return Err(LiveError::Fault(format!("a live cell said what nobody understands: {error}")));
                }
            }
        }
    }
    let output = child.wait_with_output()?;
    match answer {
        Some(Answer::Report(report)) => Ok(*report),
        Some(Answer::Sandbox(why)) => Err(LiveError::Sandbox(why)),
        Some(Answer::Fault(why)) => Err(LiveError::Fault(why)),
        Some(Answer::Started | Answer::Hangs(_)) | None => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(LiveError::Fault(format!(
                "a live cell's process ended without a report ({}): {}",
                output.status,
                said.trim()
            )))
        }
    }
}

/// What the hidden command `rehang __live` does: runs one cell, given on stdin, and writes its report to stdout.
pub fn main() -> i32 {
    crate::supervisor::main()
}
