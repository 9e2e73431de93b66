//! An agent at rest: it shows its screen, and nothing moves on it.

use super::On;
use crate::data::{Descriptor, Object, Process};
use crate::diagnosis::view::View;
use crate::kind;

/// Whether a known agent waits for a key and draws nothing meanwhile, or a helper of the same program below one. While its
/// turn is on, each of the four that were measured moves something on its screen or in its title (`docs/screens.md`), so what
/// its helpers look up then, and a connection on which an answer has begun, are no work that somebody waits for.
pub fn is_at_rest(view: &View<'_>, process: &Process) -> bool {
    let Some(agent) = view.agent(process.pid).filter(|_| view.is_known_agent(process.pid)) else { return false };
    if kind::headless(&agent, process) {
        return false;
    }
    let above =
        view.agent_above(process.pid).filter(|above| view.agent(*above).is_some_and(|it| it.name == agent.name));
    [Some(process.pid), above].into_iter().flatten().filter_map(|pid| view.process(pid)).any(|process| {
        let is_terminal = |fd: &Descriptor| matches!(fd.what, Object::Tty { .. });
        let waits = view.waits(process);
        let mut keys =
            waits.iter().filter(|wait| matches!(wait.on, On::Input(fd) if process.fd(fd).is_some_and(is_terminal)));
        process.io.is_some() && view.only_wakes(process.pid) && keys.next().is_some()
    })
}
