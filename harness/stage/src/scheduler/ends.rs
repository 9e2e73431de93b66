//! The end of a run: what is in flight lands, what is left is recorded, and the caller's next run begins.
//!
//! Invariant: what is in flight lands by processes alone; no actor acts meanwhile.

use super::hub;
use super::inbox::Input;
use super::ties::rank;
use super::{Candidate, Job, SHUTDOWN_GRACE, SPIN_MAX, Scheduler, WRAPPER, parts, played, wrapper, wrapper_host};
use rehang_os::{
    kernel::{InternalError, Streams},
    os::Sig,
};
use rehang_scenario::VTime;
use rehang_trace::role::{SCHEDULER, TOOLS};
use rehang_trace::{Ended, What};
use std::collections::BTreeSet;

impl Scheduler<'_, '_> {
    /// The caller's loop: this run is over, and the next begins. Actors that watched the run are gone; people are still
    /// there.
    pub fn begin_again(&mut self) -> Result<(), InternalError> {
        self.hub.run_over = false;
        self.land(self.hub.now)?;
        self.hub.material += 1;
        if !self.hub.serves {
            self.hub.close_streams()?;
        }
        let run = Job { begin: self.hub.now, ..self.job };
        let Ok((_, mut outside)) = parts(&run) else { return Ok(()) };
        let sends_prompt = outside.iter().any(|member| member.strategy.sends_prompt());
        let strategies = self.hub.strategies.clone();
        for at in [WRAPPER, hub::CLIENT_SEAT].into_iter().chain(strategies.iter().copied()) {
            self.hub.close_connections(at)?;
            self.hub.inboxes[at].take();
        }
        self.seats[WRAPPER].actor = Box::new(wrapper::Wrapper::new(&run));
        self.seats[hub::CLIENT_SEAT].actor = played::next_client(&run, sends_prompt, &self.hub.session);
        for at in strategies.iter().rev() {
            let Some(member) = outside.pop() else { continue };
            if !member.strategy.outlives_run() {
                self.seats[*at].actor = Box::new(wrapper_host::WrapperHost::new(member, *at, &run));
            }
        }
        if !self.hub.serves {
            self.hub.relaunch()?;
            self.hub.asks.clear();
        }
        for at in 0..self.seats.len() {
            self.hub.deliver(at, Input::Begin);
        }
        if self.hub.serves {
            for at in [hub::CLIENT_SEAT].into_iter().chain(strategies) {
                self.hub.deliver(at, Input::Listening);
                if at != hub::CLIENT_SEAT {
                    self.hub.deliver(at, Input::SessionMade(self.hub.session.clone()));
                }
            }
        }
        Ok(())
    }

    /// The run is settled: what is in flight is delivered, a server is shut down, and what is left is recorded.
    pub fn finish(&mut self) -> Result<(), InternalError> {
        self.land(self.hub.now)?;
        if self.hub.serves && self.hub.agent_alive() && !self.ties.is_cut {
            self.hub.signal("client", false, Sig::Term)?;
            self.land(self.hub.now + SHUTDOWN_GRACE)?;
        }
        if self.ties.is_cut {
            return Ok(());
        }
        self.hub.record(SCHEDULER, What::Ended(Ended::Settled));
        let held = self.held();
        for left in self.hub.kernel.clear()?.into_iter().filter(|left| left.role != TOOLS) {
            let process = format!("process {}", left.argv.first().map_or("", String::as_str));
            let of_it = held.iter().filter(|(role, _)| *role == left.role).map(|(_, what)| what.clone());
            for what in std::iter::once(process).chain(of_it) {
                self.hub.record(&left.role, What::Left { what });
            }
        }
        Ok(())
    }

    /// What the remaining processes hold: by role, in the words of the judge (`left-behind`).
    fn held(&self) -> Vec<(String, String)> {
        let Streams { stdin: _, stdout, stderr, tty } = self.hub.streams;
        let streams = [("pipe stdout", stdout), ("pipe stderr", stderr), ("terminal", tty)];
        let outputs = streams.into_iter().filter_map(|(what, handle)| Some((what.to_owned(), handle?)));
        let connections = self.hub.net.handles().chain(self.hub.model.handles());
        let ends = outputs.chain(connections.map(|handle| ("connection".to_owned(), handle)));
        let listeners = self.hub.kernel.listeners().into_iter().map(|proc| (proc, "listener".to_owned()));
        let holders = ends.flat_map(|(what, handle)| {
            self.hub.kernel.holders(handle).into_iter().map(move |proc| (proc, what.clone()))
        });
        let mut seen = BTreeSet::new();
        let held = listeners.chain(holders).filter(|held| seen.insert(held.clone()));
        held.map(|(proc, what)| (self.hub.kernel.role(proc).to_owned(), what)).collect()
    }

    /// Lets only the processes go on, until a time or until the agent is gone.
    fn land(&mut self, until: VTime) -> Result<(), InternalError> {
        for _ in 0..SPIN_MAX {
            let ready = self.hub.kernel.ready(self.hub.now)?;
            let ranked = |proc| (Candidate::Process(proc), rank(self.job.seed, self.hub.kernel.role(proc)));
            let next = self.pick(ready.into_iter().map(ranked).collect(), Some(until))?;
            if self.ties.is_cut {
                break;
            }
            match (next, self.hub.kernel.deadline(self.hub.now)) {
                (Some(Candidate::Process(proc)), _) => {
                    self.steps += 1;
                    self.hub.kernel.run(proc, self.hub.now)?;
                    self.hub.drain()?;
                }
                (None, Some(next)) if next <= until && self.hub.agent_alive() => {
                    self.hub.now = next;
                    self.hub.kernel.set_now(next);
                }
                _ => break,
            }
        }
        Ok(())
    }
}
