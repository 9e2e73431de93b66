//! The tables' snapshot: the tree below the agents, and the processes around it.
//!
//! Invariant: as with the reader of `/proc`, a process is around the tree if it shares a pipe, a socket or a terminal
//! with the tree, or is above it, and not otherwise.

use super::call::{call, opens};
use super::names::{
    FILES, FIRST_PARTY, INIT, LISTENERS, LISTENS_AT, LOCK, LOCKER, PTY_MAJOR, address, at_ns, descriptor, inode, name,
    party, pid_of, proc_of, set, shares, socket_inode,
};
use super::{At, Leader, Outsider, Row, Tables, Thing};
use crate::kernel::Also;
use crate::os::Disposition;
use rehang_evidence::Snapshot;
use rehang_evidence::data::{
    Call, Descriptor, Does, Family, Lock, Pid, Process, Reader, Signals, Socket, SocketState, State, Thread, TimeLimit,
    Watch,
};
use rehang_scenario::VTime;
use std::collections::BTreeSet;

/// The most arguments of a process, and the most characters of each, as the reader of `/proc` keeps them.
const MAX_ARGS: usize = 64;
const MAX_ARG: usize = 1_024;

impl Tables<'_> {
    /// The snapshot. The roots are the agents that live; if none does, whoever started them.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            at_ns: at_ns(self.now),
            reader: Reader { pid: INIT, arch: "x86_64".to_owned(), ticks_per_s: 100, ..Reader::default() },
            ..Snapshot::default()
        };
        let mut all: Vec<Process> = Vec::with_capacity(self.rows.len() + self.outside.len());
        // one that holds nothing shares nothing with the tree, and only the first can be above it
        let in_sight = |(at, outsider): &(usize, &Outsider)| *at == 0 || !outsider.holds.is_empty();
        let outside = self.outside.iter().enumerate().filter(in_sight);
        all.extend(outside.map(|(at, outsider)| outsider.process(party(at), self.now)));
        let shells = self.rows.iter().filter(|row| row.shell).filter_map(|row| row.controlling);
        all.extend(self.rows.iter().map(|row| self.process(row)));
        all.extend(shells.map(|tty| self.shell(tty)));
        // each process in the session of a shell has named it
        all.sort_by_key(|process| process.pid);
        all.dedup_by_key(|process| process.pid);
        snapshot.roots = self.roots();
        Tables::split(all, &mut snapshot);
        self.sockets(&mut snapshot);
        self.locks(&mut snapshot);
        snapshot
    }

    /// The locks on files: those that a run outside holds, and the cell's own.
    fn locks(&self, snapshot: &mut Snapshot) {
        self.own_lock(snapshot);
        let mut held = Vec::new();
        for row in self.rows.iter().filter(|row| row.at != At::Zombie) {
            let waits = match &row.at {
                At::Waits(waits) => waits.read.as_slice(),
                _ => &[],
            };
            for &(fd, thing) in &row.fds {
                let Thing::Locked(number, database) = thing else { continue };
                let kind = if database { "POSIX" } else { "FLOCK" };
                let lock = Lock {
                    id: number + 1,
                    kind: kind.to_owned(),
                    write: true,
                    pid: Some(LOCKER),
                    waits: false,
                    device: (0, 1),
                    inode: FILES + number,
                    from: 0,
                    to: None,
                };
                if waits.contains(&fd) {
                    snapshot.locks.push(Lock { pid: Some(pid_of(row.proc)), waits: true, ..lock.clone() });
                }
                snapshot.locks.push(lock);
                held.push(descriptor(3 + u32::try_from(held.len()).unwrap_or_default(), thing));
            }
        }
        if !held.is_empty() {
            // what it does itself is its own affair: it may go on at any time
            let waits = call("poll", Does::Poll { on: Vec::new() }, TimeLimit::Unknown);
            let holder = Process { fds: held, ..outsider(LOCKER, "another-run", Some(waits)) };
            snapshot.around.insert(LOCKER, holder);
        }
    }

    /// The lock that the processes of the cell take in turn, if a process in sight waits for it.
    fn own_lock(&self, snapshot: &mut Snapshot) {
        let Some(holder) = self.locker else { return };
        let lock = Lock {
            id: LOCK,
            kind: "FLOCK".to_owned(),
            write: true,
            pid: Some(pid_of(holder)),
            waits: false,
            device: (0, 1),
            inode: LOCK,
            from: 0,
            to: None,
        };
        let waits = |row: &&Row<'_>| match &row.at {
            At::Waits(waits) => row.fds.iter().any(|(fd, thing)| *thing == Thing::Lock && waits.read.contains(fd)),
            _ => false,
        };
        let waiting = self.rows.iter().filter(waits);
        let waiters: Vec<Lock> =
            waiting.map(|row| Lock { pid: Some(pid_of(row.proc)), waits: true, ..lock.clone() }).collect();
        if !waiters.is_empty() {
            snapshot.locks.push(lock);
            snapshot.locks.extend(waiters);
        }
    }

    fn roots(&self) -> Vec<Pid> {
        let lives = |row: &&Row<'_>| row.root && row.at != At::Zombie;
        let agents: Vec<Pid> = self.rows.iter().filter(lives).map(|row| pid_of(row.proc)).collect();
        if agents.is_empty() { vec![party(0)] } else { agents }
    }

    /// The roots and all below them are the tree; the rest is around it if it shares something with the tree, or is
    /// above it.
    fn split(all: Vec<Process>, snapshot: &mut Snapshot) {
        let process = |pid: Pid| all.binary_search_by_key(&pid, |process| process.pid).ok().map(|at| &all[at]);
        let is_in = |pids: &[Pid], pid: Pid| pids.binary_search(&pid).is_ok();
        let mut tree = snapshot.roots.clone();
        tree.sort_unstable();
        loop {
            let below = |process: &&Process| is_in(&tree, process.ppid) && !is_in(&tree, process.pid);
            let more: Vec<Pid> = all.iter().filter(below).map(|process| process.pid).collect();
            if more.is_empty() {
                break;
            }
            tree.extend(more);
            tree.sort_unstable();
        }
        let of_tree = all.iter().filter(|process| is_in(&tree, process.pid));
        let mut shared: Vec<u64> = of_tree.flat_map(|process| &process.fds).filter_map(shares).collect();
        shared.sort_unstable();
        let mut above: Vec<Pid> = Vec::new();
        for root in &snapshot.roots {
            let mut at = process(*root).map_or(0, |process| process.ppid);
            while at > 0 && !above.contains(&at) {
                above.push(at);
                at = process(at).map_or(0, |process| process.ppid);
            }
        }
        let is_shared = |fd: &Descriptor| shares(fd).is_some_and(|thing| shared.binary_search(&thing).is_ok());
        for process in all {
            if is_in(&tree, process.pid) {
                snapshot.tree.insert(process.pid, process);
            } else if above.contains(&process.pid) || process.fds.iter().any(is_shared) {
                snapshot.around.insert(process.pid, process);
            }
        }
    }

    fn process(&self, row: &Row<'_>) -> Process {
        let pid = pid_of(row.proc);
        let parent = match row.parent {
            Some(parent) => pid_of(parent),
            None if row.shell => row.controlling.map_or(INIT, |tty| Leader::Shell(tty).pid()),
            None if row.root => party(0),
            None => INIT,
        };
        let lives = |leader: Leader| match leader {
            Leader::Proc(proc) => self.rows.iter().any(|other| other.proc == proc && other.at != At::Zombie),
            Leader::Shell(_) => row.shell,
            Leader::Nobody => false,
        };
        let with = |what| row.dispositions.iter().filter(move |(_, is)| **is == what).map(|(sig, _)| sig);
        let zombie = row.at == At::Zombie;
        let cut = |arg: &String| match arg.len() > MAX_ARG {
            true => arg.chars().take(MAX_ARG).collect(),
            false => arg.clone(),
        };
        let args: Vec<String> = row.argv.iter().take(MAX_ARGS).map(cut).collect();
        let mut process = Process {
            pid,
            ns_pid: pid,
            ppid: parent,
            pgrp: row.group.pid(),
            session: row.session.pid(),
            comm: name(&args),
            args: if zombie { Vec::new() } else { args },
            cwd: (!zombie).then(|| "/work".to_owned()),
            tty: row.controlling.map_or(0, |tty| PTY_MAJOR << 8 | u32::try_from(tty).unwrap_or_default()),
            tty_group: row.controlling.and_then(|tty| self.foregrounds.get(&tty)).map_or(-1, |leader| leader.pid()),
            began_ns: at_ns(row.used.began),
            io: Some(row.used.io),
            signals: Signals {
                pending: set(&row.pending),
                blocked: 0,
                ignored: set(with(Disposition::Ignore)),
                caught: set(with(Disposition::Catch)),
            },
            fds: row.fds.iter().filter(|fd| !opens(fd)).map(|&(fd, thing)| descriptor(fd, thing)).collect(),
            fds_read: true,
            parent_name: self.name_of(parent),
            group_led: lives(row.group),
            session_led: lives(row.session),
            ..Process::default()
        };
        process.state = match row.at {
            At::Zombie => State::Zombie,
            _ if row.stopped.is_some() => State::Stopped,
            At::New => State::Running,
            At::Waits(_) => State::Sleeping,
        };
        self.enter_call(row, &mut process);
        process
    }

    fn name_of(&self, pid: Pid) -> String {
        let row = proc_of(pid).and_then(|proc| self.rows.iter().find(|row| row.proc == proc));
        match (row, usize::try_from(pid - FIRST_PARTY).ok().and_then(|at| self.outside.get(at))) {
            (Some(row), _) => name(row.argv),
            (None, Some(outsider)) => outsider.name.to_string(),
            (None, None) if pid == INIT => "init".to_owned(),
            (None, None) => "bash".to_owned(),
        }
    }

    /// The shell in the foreground of a terminal, at its prompt.
    fn shell(&self, tty: u64) -> Process {
        let pid = Leader::Shell(tty).pid();
        let reads = call("read", Does::Read { fd: 0 }, TimeLimit::Never);
        Process {
            ppid: party(0),
            tty: PTY_MAJOR << 8 | u32::try_from(tty).unwrap_or_default(),
            tty_group: self.foregrounds.get(&tty).map_or(-1, |leader| leader.pid()),
            fds: vec![descriptor(0, Thing::Tty(tty))],
            ..outsider(pid, "bash", Some(reads))
        }
    }

    fn sockets(&self, snapshot: &mut Snapshot) {
        let held: BTreeSet<u64> = snapshot.processes().flat_map(|process| &process.fds).filter_map(inode).collect();
        for (&number, link) in &self.links {
            for side in 0..2 {
                if held.contains(&socket_inode(number, side)) {
                    let socket = link.socket(number, side, self.now);
                    snapshot.sockets.insert(socket.inode, socket);
                }
            }
        }
        for (&number, &waiting) in &self.queues {
            let inode = LISTENERS + number;
            if held.contains(&inode) {
                let socket = Socket {
                    inode,
                    family: Family::Tcp,
                    state: SocketState::Listening,
                    local: address(LISTENS_AT + number),
                    unread: waiting,
                    ..Socket::default()
                };
                snapshot.sockets.insert(inode, socket);
            }
        }
    }
}

impl Outsider {
    fn process(&self, pid: Pid, now: VTime) -> Process {
        let fds = || (3_u32..).zip(&self.holds);
        let on: Vec<Watch> = fds()
            .filter(|(_, (_, reads))| *reads)
            .map(|(fd, _)| Watch { fd: fd.cast_signed(), input: true, output: false })
            .collect();
        let limit = match self.also {
            Also::Nothing => TimeLimit::Never,
            Also::Until(at) => TimeLimit::LeftMs(at.since(now).as_ms()),
            Also::Others => TimeLimit::Unknown,
        };
        let waits = call("poll", Does::Poll { on }, limit);
        let fds = fds().map(|(fd, &(thing, _))| descriptor(fd, thing)).collect();
        Process { fds, ..outsider(pid, &self.name, Some(waits)) }
    }
}

fn outsider(pid: Pid, name: &str, call: Option<Call>) -> Process {
    let thread = Thread { tid: pid, comm: name.to_owned(), call, call_read: true, ..Thread::default() };
    Process {
        pid,
        ns_pid: pid,
        ppid: INIT,
        pgrp: pid,
        session: pid,
        comm: name.to_owned(),
        args: vec![name.to_owned()],
        threads: vec![thread],
        fds_read: true,
        parent_name: "init".to_owned(),
        group_led: true,
        session_led: true,
        ..Process::default()
    }
}
