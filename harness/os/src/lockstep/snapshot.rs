//! The table of participants and what they announced, as a snapshot is made of them.
//!
//! Invariant: reads what was announced; asks no process, and does not read `/proc`.

use super::LockstepKernel;
use super::streams::Own;
use super::table::{Process, State};
use crate::kernel::{Party, Proc};
use crate::lockstep::protocol::{Key, Waiting};
use crate::tables::{At, Leader, Outsider, Row, Tables, Thing, Waits};
use rehang_trace::role::Role;

impl LockstepKernel {
    pub(super) fn tables(&self, parties: &[Party]) -> Tables<'_> {
        let foregrounds = self
            .sessions
            .values()
            .map(|session| (self.objects.number(Key::Tty(session.device)), self.leader(session.foreground)));
        let outside = parties.iter().map(|party| {
            let thing = |handle: crate::kernel::Handle| {
                Some(match self.own(handle)? {
                    Own::Plain { key, .. } => self.thing(*key),
                    Own::Master { master, .. } => Thing::Master(self.objects.number(Key::Tty(master.device))),
                })
            };
            let holds = party.holds.iter().filter_map(|&(handle, reads)| Some((thing(handle)?, reads)));
            Outsider { name: party.name.clone(), holds: holds.collect(), also: party.also }
        });
        // few of all connections so far are still held
        let of_processes = self.all().flat_map(|proc| self.get(proc).fds.iter().map(|&(_, key)| key));
        let of_parties =
            parties.iter().flat_map(|party| &party.holds).filter_map(|&(handle, _)| match self.own(handle) {
                Some(Own::Plain { key, .. }) => Some(*key),
                _ => None,
            });
        Tables {
            now: self.objects.now,
            rows: self.all().filter_map(|proc| self.row(proc, self.get(proc))).collect(),
            foregrounds: foregrounds.collect(),
            links: self.objects.links(of_processes.chain(of_parties)),
            queues: self.objects.queues(),
            locker: self.objects.locker,
            outside: outside.collect(),
        }
    }

    /// Which process or shell leads the group or session of this number.
    fn leader(&self, pid: i32) -> Leader {
        match (self.all().find(|&proc| self.get(proc).pid == pid), self.shells.get(&pid)) {
            (Some(proc), _) => Leader::Proc(proc),
            (None, Some(device)) => Leader::Shell(self.objects.number(Key::Tty(*device))),
            (None, None) => Leader::Nobody,
        }
    }

    fn row<'a>(&'a self, proc: Proc, process: &'a Process) -> Option<Row<'a>> {
        let at = match process.state {
            State::Gone => return None,
            State::Zombie(_) => At::Zombie,
            State::New => At::New,
            State::Waiting => At::Waits(waits(&process.wait)),
        };
        let session = self.sessions.get(&process.sid).filter(|session| !session.hung_up);
        Some(Row {
            proc,
            argv: &process.argv,
            parent: process.parent,
            root: Role::of(&process.role).is_some_and(Role::is_agent),
            group: self.leader(process.pgid),
            session: self.leader(process.sid),
            shell: process.shell.is_some(),
            controlling: session.map(|session| self.objects.number(Key::Tty(session.device))),
            fds: process.fds.iter().map(|&(fd, key)| (fd, self.thing(key))).collect(),
            at,
            stopped: process.stopped,
            retries: process.retries,
            dispositions: &process.dispositions,
            pending: process.pending.clone(),
            used: process.used,
        })
    }

    fn thing(&self, key: Key) -> Thing {
        let number = self.objects.number(key);
        match key {
            Key::Other => Thing::Null,
            Key::PipeRead(_) => Thing::PipeRead(number),
            Key::PipeWrite(_) => Thing::PipeWrite(number),
            Key::Tty(_) => Thing::Tty(number),
            Key::Listener(_) => Thing::Listener(number),
            Key::Client(..) => Thing::Socket(number, 0),
            Key::Server(..) => Thing::Socket(number, 1),
            Key::Fifo(_) => Thing::Fifo(number),
            Key::Locked(_, database) => Thing::Locked(number, database),
            Key::Lock => Thing::Lock,
        }
    }
}

fn waits(wait: &Waiting) -> Waits {
    let numbers = |fds: &[(u32, Key)]| fds.iter().map(|(fd, _)| *fd).collect();
    Waits { read: numbers(&wait.read), write: numbers(&wait.write), until: wait.until, child: wait.child }
}
