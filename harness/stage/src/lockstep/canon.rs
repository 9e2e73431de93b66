//! The state of all participants and of everything in flight between them, for the proof of a lasso.
//!
//! Invariant: two equal encodings within one cell behave alike. Pids, ports and inodes never enter it: objects are
//! numbered by their first appearance. Where content cannot be seen, the writes that it came from stand for it (of a
//! terminal, the prediction that it is held to); where a
//! process cannot be asked, the number of its stop does, with what it holds. Both may only miss a cycle, never invent one.

use super::Kernel;
use super::streams::Own;
use super::table::State;
use crate::world::{Proc, WorldFault};
use rehang_fakes::os::Sig;
use rehang_fakes::real::control::Key;
use rehang_scenario::Canon;

impl Kernel {
    pub(super) fn write_state(&mut self, canon: &mut Canon) -> Result<(), WorldFault> {
        let mut seen: Vec<Key> = Vec::new();
        let own: Vec<(usize, Key)> = self.handles.iter().flatten().map(kind).collect();
        for (kind, key) in own {
            canon.num(kind as u64).num(number(&mut seen, key));
        }
        let groups: Vec<i32> = self.processes.iter().map(|p| p.pid).collect();
        let of_group = |pid: i32| groups.iter().position(|&p| p == pid).unwrap_or(groups.len()) as u64;
        for proc in self.all() {
            if self.get(proc).state == State::Gone {
                continue;
            }
            let process = self.get(proc);
            canon.text(&process.role).num(of_group(process.pgid)).num(of_group(process.sid));
            canon.flag(process.parent.is_some()).flag(process.retries);
            canon.text(process.stopped.map_or("", Sig::name));
            canon.list(&process.pending, |c, sig| {
                c.text(sig.name());
            });
            for (sig, disposition) in &process.dispositions {
                canon.text(sig.name()).num(*disposition as u64);
            }
            let (state, stop) = (process.state, process.stopped.map(|_| process.stop));
            match state {
                State::New => drop(canon.text("new")),
                State::Zombie(_) | State::Gone => drop(canon.text("zombie")),
                State::Waiting => {
                    canon.text("waits").text(&process.wait.on).deadline(process.wait.until);
                    match stop {
                        Some(stop) => {
                            canon.num(stop);
                            // what it holds goes on: connections come in at a listener, and pipes fill
                            for &key in &self.get(proc).holds {
                                canon.num(number(&mut seen, key));
                            }
                        }
                        None => self.write_program(proc, canon, &mut seen)?,
                    }
                }
            }
        }
        for key in seen {
            self.objects.canon(key, canon);
            if let Key::Tty(device) = key
                && let Some(terminal) = self.terminals.get(&device)
            {
                terminal.canon(canon);
            }
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

    fn write_program(&mut self, proc: Proc, canon: &mut Canon, seen: &mut Vec<Key>) -> Result<(), WorldFault> {
        let table = self.state_of(proc, canon)?;
        for (fd, key) in table {
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
