//! What `fake-tool` starts: commands, background processes, agents.
//!
//! Invariant: a child gets its parent's whole environment, and duplicates of its streams; only what a step says is
//! different.

use super::args::argv;
use rehang_os::os::{Child, Errno, Fd, FdKind, Group, Os, STDERR, STDIN, STDOUT, Spawn, Stdio};
use rehang_scenario::{
    plan::{PLAN_ENV, Plan},
    turns::{Background, Nested, Step},
};

/// The prompt of a nested agent. What it does is in its turns.
const NESTED_PROMPT: &str = "Go on.";

/// Starts a command that is waited for.
pub(super) fn run(os: &mut dyn Os, steps: &[Step]) -> Result<Child, Errno> {
    let spawn = foreground(os, argv(steps, ""));
    os.spawn(spawn)
}

/// Goes on in a new session with these steps, as setsid(1) does if its caller leads a group.
pub(super) fn go_on_in_session(os: &mut dyn Os, steps: &[Step]) -> Result<Child, Errno> {
    let spawn = Spawn { group: Group::Session, ..foreground(os, argv(steps, "")) };
    os.spawn(spawn)
}

/// What a background step leaves, and whether it stays or is an intermediate that must be waited for.
pub(super) fn background(os: &mut dyn Os, step: &Background) -> Result<(Child, bool), Errno> {
    // If nobody reads a pipe, the parent holds its read end until the parent is gone.
    let pipes = step.piped.then(|| [os.pipe().1, os.pipe().1]);
    let holds = |held: Option<bool>, fd| if held.unwrap_or(true) { inherited(os, fd) } else { Stdio::Null };
    let (stdout, stderr) = match pipes {
        Some([stdout, stderr]) => (Stdio::Fd(stdout), Stdio::Fd(stderr)),
        None => (holds(step.stdout, STDOUT), holds(step.stderr, STDERR)),
    };
    let (argv, group) = if step.double_fork {
        (argv(&[step.of_the_middle()], &step.name), Group::Inherit)
    } else {
        (argv(&step.does, &step.name), if step.setsid { Group::Session } else { Group::Inherit })
    };
    // A shell without job control gives a background command no stdin (POSIX, 2.9.3.1).
    let spawn = Spawn { argv, env: os.envs(), stdin: Stdio::Null, stdout, stderr, group };
    let child = os.spawn(spawn);
    pipes.into_iter().flatten().for_each(|fd| os.close(fd));
    Ok((child?, step.double_fork))
}

/// Starts an agent that is waited for. It finds its plan in its environment; it has the same strategies inside as other
/// agents, since it would be the same installed program.
pub(super) fn agent(os: &mut dyn Os, nested: &Nested, inside: &[String]) -> Result<Child, Errno> {
    let plan = Plan {
        agent: (*nested.agent).clone(),
        turns: nested.turns.clone(),
        faults: Vec::new(),
        inside: inside.to_vec(),
        model_port: None,
        tools: None,
        stored: None,
    };
    let plan = serde_json::to_string(&plan).map_err(|_| Errno::TooBig)?;
    let mut spawn = foreground(os, command(nested));
    spawn.env.retain(|(key, _)| key != PLAN_ENV);
    spawn.env.push((PLAN_ENV.to_owned(), plan));
    os.spawn(spawn)
}

fn foreground(os: &dyn Os, argv: Vec<String>) -> Spawn {
    Spawn {
        argv,
        env: os.envs(),
        stdin: inherited(os, STDIN),
        stdout: inherited(os, STDOUT),
        stderr: inherited(os, STDERR),
        group: Group::Inherit,
    }
}

pub(super) fn inherited(os: &dyn Os, fd: Fd) -> Stdio {
    if os.kind(fd) == FdKind::Closed { Stdio::Closed } else { Stdio::Fd(fd) }
}

fn command(nested: &Nested) -> Vec<String> {
    crate::registry::argv(&nested.agent, &nested.args, NESTED_PROMPT)
}
