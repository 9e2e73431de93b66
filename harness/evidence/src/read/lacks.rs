//! What could not be read, and what would make it readable.
//!
//! Invariant: each lack is listed once for many processes; a right that nothing needed is not asked for.

use crate::data::{Lack, Process, Snapshot};
use rehang_words::text::counted_as;

/// Adds what the snapshot lacks.
pub fn add(snapshot: &mut Snapshot) {
    let uid = snapshot.reader.uid;
    let living = || snapshot.tree.values().filter(|process| process.state != crate::data::State::Zombie);
    let blind: Vec<&Process> = living().filter(|process| !process.fds_read).collect();
    let deaf = |process: &&Process| process.threads.iter().any(|thread| !thread.call_read);
    let deaf: Vec<&Process> = living().filter(deaf).collect();
    let (mut lacks, mut over_time) = (Vec::new(), None);
    // if the time was over for one, it was for those after it, which could be read
    let is_over = snapshot.unread > 0 || blind.iter().any(|process| !process.fds.is_empty());
    let is_cut = |process: &&Process| !process.fds.is_empty() || (is_over && (uid == 0 || process.uid == uid));
    let (cut, blind): (Vec<&Process>, Vec<&Process>) = blind.into_iter().partition(is_cut);
    if !cut.is_empty() || snapshot.unread > 0 {
        let mut what: Vec<String> = Vec::new();
        if !cut.is_empty() {
            what.push(format!("all descriptors of {}", names(&cut)));
        }
        if snapshot.unread > 0 {
            what.push(format!("those of {} outside the tree", counted_as(snapshot.unread, "process", "processes")));
        }
        over_time = Some(Lack { what: what.join(" and "), remedy: OVER_TIME.to_owned() });
    }
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
    if uid == 0 {
        for lack in &mut lacks {
            lack.remedy = AS_ROOT.to_owned();
        }
    }
    snapshot.lacks.extend(lacks);
    snapshot.lacks.extend(over_time);
}

/// Why something was not read that could be read.
const OVER_TIME: &str = "a look has a limit of time, and they are too many for it";

/// What may be missing if even root cannot read something.
const AS_ROOT: &str = "it has ended meanwhile, or root has no CAP_SYS_PTRACE here (docker run --cap-add SYS_PTRACE)";

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
    use crate::data::{Descriptor, Mode, Object, Pid, Process, Reader, Snapshot, State, Thread};
    use crate::diagnosis::tests::lock;
    use expect_test::expect;

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

    fn told(uid: u32, ptrace_scope: Option<u8>, processes: &[Process], change: impl Fn(&mut Snapshot)) -> String {
        let reader = Reader { uid, ptrace_scope, ..Reader::default() };
        let mut snapshot = Snapshot { roots: vec![7], reader, ..Snapshot::default() };
        snapshot.tree = processes.iter().map(|process| (process.pid, process.clone())).collect();
        change(&mut snapshot);
        add(&mut snapshot);
        let lacks = snapshot.lacks.iter().map(|lack| format!("{}: {}", lack.what, lack.remedy));
        lacks.collect::<Vec<_>>().join("; ")
    }

    fn process(pid: Pid, uid: u32, fds_read: bool, call_read: bool) -> Process {
        let threads = vec![Thread { tid: pid, call_read, ..Thread::default() }];
        Process { pid, uid, fds_read, threads, comm: format!("p{pid}"), ..Process::default() }
    }

    #[test]
    fn a_lack_names_the_processes_and_the_right_that_would_do() {
        let one = |uid, scope, process: Process| told(uid, scope, &[process], |_| {});
        let blind = |own, uid| one(own, None, process(7, uid, false, true));
        let deaf = |own, scope, uid| one(own, scope, process(7, uid, true, false));
        let ended = Process { state: State::Zombie, ..process(7, 1, false, false) };
        let many: Vec<Process> = (7..12).map(|pid| process(pid, 1, false, true)).collect();
        let some = |count: usize| told(1, None, &many[..count], |_| {});
        let both = [process(7, 1, false, false), process(8, 1, true, false)];
        let pipe = |fd, mode| {
            let fds = vec![Descriptor { fd, mode, what: Object::Pipe { inode: 70 } }];
            Process { fds, ..process(7, 1, true, true) }
        };
        let held = |uid| told(uid, None, &[pipe(0, Mode::Read), Process { pid: 8, ..pipe(9, Mode::Write) }], |_| {});
        let four = [0, 1, 2].map(|fd| Descriptor { fd, mode: Mode::Both, what: Object::Pipe { inode: fd as u64 } });
        let four: Vec<Process> = [7, 8]
            .map(|pid| Process {
                fds: four.clone().map(|fd| Descriptor { mode: Mode::Unknown, ..fd }).to_vec(),
                ..process(pid, 1, true, true)
            })
            .to_vec();
        let holder = |pid, waits, fds_read| {
            told(1, None, &[process(7, 1, true, true)], |s| {
                s.around.insert(20, process(20, 2, fds_read, true));
                s.locks = vec![lock(pid, waits)];
            })
        };
        let rows = [
            ("nothing", one(1, None, process(7, 1, true, true))),
            ("descriptors of another user", blind(1, 2)),
            ("descriptors of its own user", blind(1, 1)),
            ("descriptors, for root", blind(0, 2)),
            ("calls of its own user under Yama", deaf(1, Some(2), 1)),
            ("calls without Yama", deaf(1, Some(0), 1)),
            ("calls on a kernel without Yama", deaf(1, None, 1)),
            ("calls of another user under Yama", deaf(1, Some(1), 2)),
            ("both of one process", one(1, None, process(7, 1, false, false))),
            ("both, and calls of another", told(1, None, &both, |_| {})),
            ("it has ended", one(1, None, ended)),
            ("three", some(3)),
            ("four", some(4)),
            ("five", some(5)),
            ("an input that nobody in sight writes", told(1, None, &[pipe(0, Mode::Read)], |_| {})),
            ("an output that nobody in sight reads", told(1, None, &[pipe(1, Mode::Write)], |_| {})),
            ("an error that nobody in sight reads", told(1, None, &[pipe(2, Mode::Write)], |_| {})),
            ("another descriptor", told(1, None, &[pipe(3, Mode::Read)], |_| {})),
            ("for root", told(0, None, &[pipe(0, Mode::Read)], |_| {})),
            ("one that is held", held(1)),
            ("more than three", told(1, None, &four, |_| {})),
            ("a holder of a lock", holder(20, false, false)),
            ("one that waits for it", holder(20, true, false)),
            ("another holds it", holder(21, false, false)),
            ("a holder that may be read", holder(20, false, true)),
        ];
        let all: String = rows.iter().map(|(name, found)| format!("{name}: {found}\n")).collect();
        expect![[r#"
            nothing: 
            descriptors of another user: what the descriptors of 7 (p7) are: run as that user or as root: sudo rehang why 7
            descriptors of its own user: what the descriptors of 7 (p7) are: run as root, or with CAP_SYS_PTRACE
            descriptors, for root: what the descriptors of 7 (p7) are: it has ended meanwhile, or root has no CAP_SYS_PTRACE here (docker run --cap-add SYS_PTRACE)
            calls of its own user under Yama: which system call 7 (p7) is in: kernel.yama.ptrace_scope is 2: sudo sysctl kernel.yama.ptrace_scope=0, or sudo rehang why 7
            calls without Yama: which system call 7 (p7) is in: run as root or with CAP_SYS_PTRACE: sudo rehang why 7
            calls on a kernel without Yama: which system call 7 (p7) is in: run as root or with CAP_SYS_PTRACE: sudo rehang why 7
            calls of another user under Yama: which system call 7 (p7) is in: run as root or with CAP_SYS_PTRACE: sudo rehang why 7
            both of one process: what the descriptors of 7 (p7) are: run as root, or with CAP_SYS_PTRACE
            both, and calls of another: what the descriptors of 7 (p7) are: run as root, or with CAP_SYS_PTRACE; which system call 7 (p7), 8 (p8) is in: run as root or with CAP_SYS_PTRACE: sudo rehang why 7
            it has ended: 
            three: what the descriptors of 7 (p7), 8 (p8), 9 (p9) are: run as root, or with CAP_SYS_PTRACE
            four: what the descriptors of 7 (p7), 8 (p8), 9 (p9), 1 more are: run as root, or with CAP_SYS_PTRACE
            five: what the descriptors of 7 (p7), 8 (p8), 9 (p9), 2 more are: run as root, or with CAP_SYS_PTRACE
            an input that nobody in sight writes: who holds the other end of descriptor 0 of 7 (p7): a process of another user may hold it: sudo rehang why 7
            an output that nobody in sight reads: who holds the other end of descriptor 1 of 7 (p7): a process of another user may hold it: sudo rehang why 7
            an error that nobody in sight reads: who holds the other end of descriptor 2 of 7 (p7): a process of another user may hold it: sudo rehang why 7
            another descriptor: 
            for root: 
            one that is held: 
            more than three: who holds the other end of descriptor 0 of 7 (p7), descriptor 1 of 7 (p7), descriptor 2 of 7 (p7): a process of another user may hold it: sudo rehang why 7
            a holder of a lock: what 20 (p20) does, which holds a lock: run as that user or as root: sudo rehang why 7
            one that waits for it: 
            another holds it: 
            a holder that may be read: 
        "#]].assert_eq(&all);
    }
}
