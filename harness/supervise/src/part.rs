//! Ends a part of the run that hangs, and says so, while the command goes on.
//!
//! Invariant: a second signal goes to no process but those that got the first, and those that they have started since.

use super::{Supervisor, called};
use rehang_processes::tree::{self, Below};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};
use std::os::fd::OwnedFd;

/// A process of a part that got a signal.
pub struct Held {
    pid: i32,
    fd: OwnedFd,
}

impl Held {
    /// Whether it has not ended.
    fn is_alive(&self) -> bool {
        let mut ended = [PollFd::new(&self.fd, PollFlags::IN)];
        matches!(poll(&mut ended, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }
}

impl Supervisor {
    /// Sends a signal to a process below the command, and to all below that one.
    pub(super) fn signal_part(&mut self, name: &'static str, signal: Signal, pid: i32) {
        let all = tree::below();
        let known: Vec<i32> = self.parts.iter().filter(|held| held.is_alive()).map(|held| held.pid).collect();
        let is_first = !self.parts.iter().any(|held| held.pid == pid);
        let roots = if is_first { vec![pid] } else { known.clone() };
        let part = self.part_of(&all, &roots);
        if part.is_empty() {
            return;
        }
        self.tell_signal_to(name, &part);
        if is_first {
            self.say_part(&part);
        }
        let new = part.iter().filter(|member| !known.contains(&member.pid));
        self.parts.extend(new.filter_map(|member| Some(Held { pid: member.pid, fd: tree::hold(member)? })));
        for held in self.parts.iter().filter(|held| part.iter().any(|member| member.pid == held.pid)) {
            // one that has ended meanwhile needs no signal
            let _ = pidfd_send_signal(&held.fd, signal);
        }
    }

    /// Processes below the command, and all below those.
    pub(super) fn part_of(&self, all: &[Below], roots: &[i32]) -> Vec<Below> {
        descendants(all, roots).into_iter().filter(|member| member.pid != self.run.pid).collect()
    }

    /// Says on stderr what is ended and why, in the order of the command's own output.
    fn say_part(&mut self, part: &[Below]) {
        let why = self.host.report().and_then(|(_, policy)| policy.text.clone()).unwrap_or_default();
        let names: Vec<String> = part.iter().map(called).collect();
        let text = format!("rehang: ends {}, and the command goes on: {why}", names.join(", "));
        let safe: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let is_terminal = self.run.master.is_some();
        let line = if is_terminal { format!("\r\n{safe}\r\n") } else { format!("{safe}\n") };
        self.unsaid[1].extend_from_slice(line.as_bytes());
    }
}

/// These processes and all below them.
fn descendants(all: &[Below], roots: &[i32]) -> Vec<Below> {
    let mut found: Vec<Below> = Vec::new();
    // parents come before children
    for process in all {
        if roots.contains(&process.pid) || found.iter().any(|parent| parent.pid == process.parent) {
            found.push(process.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_process_and_all_below_it() {
        let of = |pid, parent| Below { pid, parent, name: String::new() };
        let all = [of(10, 1), of(11, 10), of(12, 11), of(13, 10), of(14, 12)];
        let part: Vec<i32> = descendants(&all, &[11]).iter().map(|process| process.pid).collect();
        assert_eq!(part, [11, 12, 14]);
        assert!(descendants(&all, &[99]).is_empty());
    }
}
