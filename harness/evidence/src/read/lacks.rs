//! What could not be read, and what would make it readable.
//!
//! Invariant: each lack is listed once for many processes; a right that nothing needed is not asked for.

use crate::data::{Lack, Process, Snapshot};

/// Adds what the snapshot lacks.
pub fn add(snapshot: &mut Snapshot) {
    let uid = snapshot.reader.uid;
    let living = || snapshot.tree.values().filter(|process| process.state != crate::data::State::Zombie);
    let blind: Vec<&Process> = living().filter(|process| !process.fds_read).collect();
    let deaf = |process: &&Process| process.threads.iter().any(|thread| !thread.call_read);
    let deaf: Vec<&Process> = living().filter(deaf).collect();
    let mut lacks = Vec::new();
    if !blind.is_empty() {
        let what = format!("what the descriptors of {} are", names(&blind));
        let remedy = if uid != 0 && blind.iter().any(|process| process.uid != uid) {
            format!("run as that user or as root: sudo rehang why {}", snapshot.roots[0])
        } else {
            "run as root, or with CAP_SYS_PTRACE".to_owned()
        };
        lacks.push(Lack { what, remedy });
    }
    if !deaf.is_empty() && deaf.len() != blind.len() {
        let what = format!("which system call {} is in", names(&deaf));
        let own = deaf.iter().all(|process| process.uid == uid);
        let remedy = match snapshot.reader.ptrace_scope {
            Some(scope @ 1..) if own => format!(
                "kernel.yama.ptrace_scope is {scope}: sudo sysctl kernel.yama.ptrace_scope=0, or sudo rehang why {}",
                snapshot.roots[0]
            ),
            _ => format!("run as root or with CAP_SYS_PTRACE: sudo rehang why {}", snapshot.roots[0]),
        };
        lacks.push(Lack { what, remedy });
    }
    let holds = |process: &&Process| snapshot.locks.iter().any(|lock| !lock.waits && lock.pid == Some(process.pid));
    let hidden: Vec<&Process> = snapshot.around.values().filter(|process| !process.fds_read).filter(holds).collect();
    if !hidden.is_empty() {
        lacks.push(Lack {
            what: format!("what {} does, which holds a lock", names(&hidden)),
            remedy: format!("run as that user or as root: sudo rehang why {}", snapshot.roots[0]),
        });
    }
    if uid != 0 && !unseen_ends(snapshot).is_empty() {
        lacks.push(Lack {
            what: format!("who holds the other end of {}", unseen_ends(snapshot).join(", ")),
            remedy: format!("a process of another user may hold it: sudo rehang why {}", snapshot.roots[0]),
        });
    }
    snapshot.lacks.extend(lacks);
}

/// Standard streams that are pipes whose other end no process in sight holds.
fn unseen_ends(snapshot: &Snapshot) -> Vec<String> {
    use crate::data::{End, Object};
    let mut unseen = Vec::new();
    for process in snapshot.tree.values() {
        for fd in process.fds.iter().filter(|fd| (0..=2).contains(&fd.fd)) {
            let Object::Pipe { inode } = fd.what else { continue };
            let other = if fd.fd == 0 { End::Write } else { End::Read };
            if snapshot.holders(inode, other).next().is_none() {
                unseen.push(format!("descriptor {} of {} ({})", fd.fd, process.pid, process.comm));
            }
        }
    }
    unseen.truncate(3);
    unseen
}

fn names(processes: &[&Process]) -> String {
    let mut names: Vec<String> =
        processes.iter().take(3).map(|process| format!("{} ({})", process.pid, process.comm)).collect();
    if processes.len() > 3 {
        names.push(format!("{} more", processes.len() - 3));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::add;
    use crate::data::{Process, Reader, Snapshot, Thread};

    /// Yama hides only the system call, of processes of the same user.
    #[test]
    fn what_yama_hides() {
        let thread = Thread { tid: 7, ..Thread::default() };
        let process = Process { pid: 7, uid: 1000, fds_read: true, threads: vec![thread], ..Process::default() };
        let reader = Reader { uid: 1000, ptrace_scope: Some(1), ..Reader::default() };
        let mut snapshot = Snapshot { roots: vec![7], reader, ..Snapshot::default() };
        snapshot.tree.insert(7, process);
        add(&mut snapshot);
        let [lack] = snapshot.lacks.as_slice() else { panic!("one lack: {:?}", snapshot.lacks) };
        assert!(lack.what.contains("which system call 7"), "{lack:?}");
        let both = ["sysctl kernel.yama.ptrace_scope=0", "sudo rehang why 7"];
        assert!(both.iter().all(|words| lack.remedy.contains(words)), "{lack:?}");
    }
}
