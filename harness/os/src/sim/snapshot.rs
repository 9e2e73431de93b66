//! The simulated kernel's tables, as a snapshot is made of them.
//!
//! Invariant: reads the model, and changes nothing.

use super::process::{Desc, Process, State};
use super::{FIRST_PORT, SimKernel};
use crate::kernel::{Party, Proc};
use crate::os::{Fd, Wait};
use crate::tables::{At, Leader, Link, Outsider, Row, Tables, Thing, Waits};
use rehang_trace::role::Role;

impl SimKernel {
    pub(super) fn tables(&self, parties: &[Party]) -> Tables<'_> {
        let foregrounds = self.ttys.iter().enumerate().map(|(at, tty)| (at as u64, self.leader(tty.foreground)));
        // few of all connections so far are still held
        let of_processes = self.processes.iter().flat_map(|process| process.fds.values().copied());
        let of_parties = parties.iter().flat_map(|party| &party.holds).filter_map(|&(handle, _)| self.desc(handle));
        let mut held: Vec<usize> = of_processes.chain(of_parties).filter_map(connection).collect();
        held.sort_unstable();
        held.dedup();
        let links = held.into_iter().map(|at| {
            let connection = &self.connections[at];
            let [connected, accepted] = &connection.ends;
            let link = Link {
                listener: u64::from(connection.port - FIRST_PORT),
                made: connection.made,
                to: [connected.came, accepted.came],
                unread: [connected.inbox.len() as u64, accepted.inbox.len() as u64],
                open: [connected.open, accepted.open],
            };
            (at as u64, link)
        });
        let queues = self.listeners.iter().enumerate().map(|(at, listener)| (at as u64, listener.waiting.len() as u64));
        let outside = parties.iter().map(|party| {
            let holds = party.holds.iter().filter_map(|&(handle, reads)| Some((thing(self.desc(handle)?), reads)));
            Outsider { name: party.name.clone(), holds: holds.collect(), also: party.also }
        });
        Tables {
            now: self.now,
            rows: self.processes.iter().filter_map(|process| self.row(process)).collect(),
            foregrounds: foregrounds.collect(),
            links: links.collect(),
            queues: queues.collect(),
            locker: self.locker.map(|(proc, _)| proc),
            outside: outside.collect(),
        }
    }

    /// Which process or shell leads the group or session of this number.
    fn leader(&self, number: u32) -> Leader {
        match number {
            0 => Leader::Nobody,
            proc if (proc as usize) <= self.processes.len() => Leader::Proc(Proc(proc - 1)),
            shell => Leader::Shell(u64::from(u32::MAX - shell)),
        }
    }

    fn row<'a>(&'a self, process: &'a Process) -> Option<Row<'a>> {
        let at = match &process.state {
            State::Gone => return None,
            State::Zombie(_) => At::Zombie,
            State::New | State::Running => At::New,
            State::Waiting(wait) => At::Waits(waits(process, wait)),
        };
        Some(Row {
            proc: process.place(),
            argv: &process.argv,
            parent: process.parent,
            root: Role::of(&process.role).is_some_and(Role::is_agent),
            group: self.leader(process.pgid),
            session: self.leader(process.sid),
            shell: process.shell,
            controlling: process.controlling.map(|tty| tty as u64),
            fds: process.fds.iter().map(|(&fd, &desc)| (fd, thing(desc))).collect(),
            at,
            stopped: process.stopped,
            retries: process.retries,
            dispositions: &process.dispositions,
            pending: process.pending.clone(),
            used: process.used,
        })
    }
}

/// What it waits for; a descriptor that is closed cannot be waited for.
fn waits(process: &Process, wait: &Wait) -> Waits {
    let numbers = |fds: &[Fd]| fds.iter().map(|fd| fd.0).filter(|fd| process.fds.contains_key(fd)).collect();
    Waits { read: numbers(&wait.read), write: numbers(&wait.write), until: wait.until, child: wait.child }
}

/// The connection that this is an end of.
fn connection(desc: Desc) -> Option<usize> {
    match desc {
        Desc::Socket(at, _) => Some(at),
        _ => None,
    }
}

fn thing(desc: Desc) -> Thing {
    match desc {
        Desc::Null => Thing::Null,
        Desc::PipeRead(id) => Thing::PipeRead(id as u64),
        Desc::PipeWrite(id) => Thing::PipeWrite(id as u64),
        Desc::Tty(id) => Thing::Tty(id as u64),
        Desc::Master(id) => Thing::Master(id as u64),
        Desc::Listener(id) => Thing::Listener(id as u64),
        Desc::Socket(id, side) => Thing::Socket(id as u64, side),
        Desc::Fifo(id) => Thing::Fifo(id as u64),
        Desc::Locked(id, database) => Thing::Locked(id as u64, database),
        Desc::Lock => Thing::Lock,
    }
}
