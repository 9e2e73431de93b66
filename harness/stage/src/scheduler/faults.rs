//! Faults that strike at a given time: a process crashes, freezes, thaws or restarts; the companion's worker dies.
//!
//! Invariant: faults inside the agent (its events, POSTs, tools, queue) are played by the persona, not here.

use super::hub::{Actor, Hub};
use super::inbox::Input;
use rehang_os::{kernel::InternalError, os::Sig};
use rehang_scenario::{Canon, Fault, ProcessDoes, Scenario, VTime, WorkerFault};
use rehang_trace::What;
use std::collections::VecDeque;

/// The faults that are still to strike.
pub struct Faults {
    due: Vec<(VTime, Strike)>,
}

enum Strike {
    Process(String, ProcessDoes),
    Worker { pid_taken: bool },
}

impl Faults {
    /// The faults of a scenario, in order.
    pub fn new(scenario: &Scenario, begin: VTime) -> Faults {
        let strikes = scenario.faults.iter().filter_map(|fault| match fault {
            Fault::Process(p) => Some((begin + p.at, Strike::Process(p.role.clone(), p.does))),
            Fault::Worker(WorkerFault::Dies(at)) => Some((begin + *at, Strike::Worker { pid_taken: false })),
            Fault::Worker(WorkerFault::PidTaken(at)) => Some((begin + *at, Strike::Worker { pid_taken: true })),
            _ => None,
        });
        let mut due: Vec<_> = strikes.collect();
        due.sort_by_key(|(at, _)| *at);
        Faults { due }
    }
}

impl Actor for Faults {
    fn deadline(&self) -> Option<VTime> {
        self.due.first().map(|(at, _)| *at)
    }

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, _: VecDeque<Input>) -> Result<(), InternalError> {
        while self.due.first().is_some_and(|(at, _)| *at <= hub.now) {
            match self.due.remove(0).1 {
                Strike::Worker { pid_taken } => {
                    let what = if pid_taken { "worker dies, its pid is taken" } else { "worker dies" };
                    hub.record(name, What::Fault(what.to_owned()));
                    hub.worker_dead = !pid_taken;
                    hub.material += 1;
                    hub.deliver_all(&Input::WorkerDied);
                }
                Strike::Process(role, does) => strike(hub, name, &role, does)?,
            }
        }
        Ok(())
    }

    fn canon(&self, _: &Hub<'_>, canon: &mut Canon) {
        let Faults { due } = self;
        // they strike in the order of the file, so the number that is left says which ones they are
        canon.list(due, |canon, (at, _)| {
            canon.deadline(Some(*at));
        });
    }
}

fn strike(hub: &mut Hub<'_>, name: &str, role: &str, does: ProcessDoes) -> Result<(), InternalError> {
    let Some(proc) = hub.kernel.find(role).filter(|&p| hub.kernel.alive(p)) else { return Ok(()) };
    let word = match does {
        ProcessDoes::Crash => "crashes",
        ProcessDoes::Freeze => "freezes",
        ProcessDoes::Thaw => "thaws",
        ProcessDoes::Restart => "restarts",
        ProcessDoes::Mute => "goes mute",
        ProcessDoes::MuteOutput => "prints nothing more",
    };
    hub.record(name, What::Fault(format!("{role} {word}")));
    match does {
        ProcessDoes::Crash => hub.kernel.kill(proc, false, Sig::Kill),
        ProcessDoes::Freeze => hub.kernel.kill(proc, false, Sig::Stop),
        ProcessDoes::Thaw => hub.kernel.kill(proc, false, Sig::Cont),
        ProcessDoes::Restart => {
            hub.kernel.kill(proc, false, Sig::Kill)?;
            hub.drain()?;
            hub.relaunch()
        }
        // the persona knows the time from its plan
        ProcessDoes::Mute | ProcessDoes::MuteOutput => Ok(()),
    }
}
