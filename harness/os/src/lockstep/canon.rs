//! The state of all participants and of everything in flight between them, for the proof of a lasso.
//!
//! Invariant: two equal encodings within one cell behave alike. Pids, ports and inodes never enter it: objects are
//! numbered by their first appearance. If content cannot be seen, the writes that it came from represent it (for a
//! terminal, the prediction that it is held to); if a process cannot be asked, the number of its stop represents it,
//! with what it holds. Both can only miss a cycle, never invent one.

use super::LockstepKernel;
use super::streams::Own;
use super::table::{Process, Session, State};
use crate::kernel::{InternalError, Proc};
use crate::lockstep::protocol::{Key, Waiting};
use crate::os::{Exit, Sig};
use rehang_scenario::Canon;

impl LockstepKernel {
    pub(super) fn write_state(&mut self, canon: &mut Canon) -> Result<(), InternalError> {
        let LockstepKernel {
            starter: _,    // not compared: it is told nothing of a cell
            one_by_one: _, // not compared: it never changes
            fakes: _,      // not compared: it never changes
            lifeline: _,   // not compared: it never changes
            watchdog: _,   // not compared: it never changes
            claim: _,      // not compared: it never changes
            processes,
            sessions,
            objects: _,   // not compared: written below, as far as somebody holds them
            terminals: _, // not compared: written below, as far as somebody holds them
            handles,
            ours: _,     // not compared: the ends that the handles are
            happened: _, // not compared: empty after each step
            turns: _,    // not compared: nothing reads it
            stops: _,    // not compared: it numbers stops
            shells: _,   // not compared: a snapshot alone shows it
            _turn,       // not compared: it never changes
        } = self;
        // first what differs most often, and costs nothing: if a long sleep decides that a state is another one, no process is
        // asked for its own
        for at in processes.iter().filter_map(Process::deadline) {
            canon.deadline(Some(at));
        }
        if canon.differs() {
            return Ok(());
        }
        let mut seen: Vec<Key> = Vec::new();
        // a handle's number only names it: the scheduler writes its rank among those that are open
        for (kind, key) in handles.iter().flatten().map(kind) {
            canon.num(kind as u64).num(number(&mut seen, key));
        }
        canon.num(u64::MAX);
        let groups: Vec<i32> = processes.iter().map(|p| p.pid).collect();
        let of_group = |pid: i32| groups.iter().position(|&p| p == pid).unwrap_or(groups.len()) as u64;
        for (sid, session) in sessions {
            let Session {
                foreground,
                hung_up,
                device: _, // not compared: a name, and a session has one terminal for good
            } = session;
            canon.num(of_group(*sid)).num(of_group(*foreground)).flag(*hung_up);
        }
        canon.num(u64::MAX);
        for proc in self.all() {
            if self.get(proc).state == State::Gone {
                continue;
            }
            let Process {
                role,
                argv: _,    // not compared: they never change
                pid: _,     // not compared: a name
                pidfd: _,   // not compared: it is readable when the process has ended, which is state
                channel: _, // not compared: empty between two turns
                parent,
                ours,
                children: _, // not compared: each names its parent, and the program counts its own
                pgid,
                sid,
                shell,
                state,
                stopped,
                stop,
                retries,
                dispositions,
                pending,
                wait,
                checked: _, // not compared: what it remembers of `wait` is derived
                told: _,    // not compared: it is what the process says when it is asked
                tells: _,   // not compared: it changes only when that is said
                holds,
                fds: _,  // not compared: written after the state of the program
                kids: _, // not compared: where they are counted
                used: _, // not compared: a snapshot alone shows it
                at_end,
            } = self.get(proc);
            canon.text(role).num(of_group(*pgid)).num(of_group(*sid));
            canon.num(parent.map_or(0, |parent| u64::from(parent.0) + 1)).flag(*ours).flag(shell.is_some());
            canon.flag(*retries).flag(at_end.is_some());
            canon.text(stopped.map_or("", Sig::name));
            canon.list(pending, |c, sig| {
                c.text(sig.name());
            });
            canon.num(dispositions.len() as u64);
            for (sig, disposition) in dispositions {
                canon.text(sig.name()).num(*disposition as u64);
            }
            match state {
                State::New => drop(canon.text("new")),
                State::Zombie(Exit::Code(code)) => drop(canon.text("zombie").num(u64::from(*code))),
                State::Zombie(Exit::Signal(sig)) => drop(canon.text("killed").text(sig.name())),
                State::Gone => {}
                State::Waiting => {
                    let Waiting {
                        read,
                        write,
                        until,
                        child,
                        on,
                        stops: _, // not compared: over when the turn is
                        fds: _,   // not compared: taken out when the turn is over
                    } = wait;
                    // a stopped process does nothing at its deadline, and its state does not change
                    let until = until.filter(|_| stopped.is_none());
                    canon.text("waits").text(on).deadline(until).flag(*child);
                    for fds in [read, write] {
                        canon.list(fds, |canon, (fd, _)| {
                            canon.num(u64::from(*fd));
                        });
                    }
                    if stopped.is_some() {
                        canon.num(*stop);
                        // what it holds goes on: connections come in at a listener, and pipes fill
                        for &key in holds {
                            canon.num(number(&mut seen, key));
                        }
                    } else {
                        self.write_program(proc, canon, &mut seen)?;
                    }
                }
            }
        }
        canon.num(u64::MAX);
        let mut at = 0;
        while let Some(&key) = seen.get(at) {
            self.objects.canon(key, canon);
            for waiting in self.objects.queue(key) {
                canon.num(number(&mut seen, waiting));
            }
            if let Key::Tty(device) = key
                && let Some(terminal) = self.terminals.get(&device)
            {
                terminal.canon(canon);
            }
            at += 1;
        }
        for own in self.handles.iter().flatten() {
            if let Own::Master { session, .. } = own {
                let session = self.sessions.get(session);
                canon.num(session.map_or(u64::MAX, |s| of_group(s.foreground)));
                canon.flag(session.is_some_and(|s| s.hung_up));
            }
        }
        Ok(())
    }

    fn write_program(&mut self, proc: Proc, canon: &mut Canon, seen: &mut Vec<Key>) -> Result<(), InternalError> {
        self.state_of(proc, canon)?;
        let table = &self.get(proc).fds;
        canon.num(table.len() as u64);
        for &(fd, key) in table {
            canon.num(u64::from(fd)).num(number(seen, key));
        }
        Ok(())
    }
}

/// What kind of end this is, and of what.
fn kind(own: &Own) -> (usize, Key) {
    match own {
        Own::Plain { key, .. } => match key {
            Key::PipeRead(_) => (1, *key),
            Key::PipeWrite(_) => (2, *key),
            Key::Listener(_) => (3, *key),
            _ => (4, *key),
        },
        Own::Master { master, .. } => (5, Key::Tty(master.device)),
    }
}

/// The number of an object, with its two ends as one.
fn number(seen: &mut Vec<Key>, key: Key) -> u64 {
    let object = match key {
        Key::PipeWrite(inode) => Key::PipeRead(inode),
        Key::Server(client, server) => Key::Client(client, server),
        other => other,
    };
    let end = u64::from(object != key);
    let at = seen.iter().position(|&k| k == object).unwrap_or_else(|| {
        seen.push(object);
        seen.len() - 1
    });
    2 * at as u64 + end
}
