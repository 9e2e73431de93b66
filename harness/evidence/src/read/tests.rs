//! Snapshots of this very process and of a child that waits.
//!
//! Invariant: a child is killed when its test ends.

use super::*;
use crate::data::{Does, End, Family, Io, Process, SocketState, State};
use std::fs::File;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A shell that reads its standard input, under a name of its own.
struct Reads(Child);

impl Reads {
    fn named(arg0: &str, args: &[&str]) -> Reads {
        let mut command = Command::new("/bin/sh");
        command.arg0(arg0).args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Reads(command.spawn().unwrap());
        // between fork and exec it still has our arguments; asleep in its read it has its own
        let asleep = || {
            let process = child.read();
            process.args.first().is_some_and(|arg| arg == arg0) && process.state == State::Sleeping
        };
        for _ in 0..1_000 {
            if asleep() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child
    }

    fn pid(&self) -> Pid {
        self.0.id() as Pid
    }

    fn read(&self) -> Process {
        process::read(self.pid(), &process::all().unwrap(), &reader()).unwrap()
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn own() -> Pid {
    std::process::id() as Pid
}

#[test]
fn a_child_is_read_with_its_family_its_arguments_and_its_streams() {
    let long = "é".repeat(1_025);
    let mut args = vec!["-c", "read x", "name", "", "a\nb\tc\u{1b}", &long, "padded   "];
    args.extend(["n"; 70]);
    let child = Reads::named("sh", &args);
    let process = child.read();
    assert_eq!((process.pid, process.ppid), (child.pid(), own()));
    let own = process::read(own(), &process::all().unwrap(), &reader()).unwrap();
    assert_eq!((process.pgrp, process.session), (own.pgrp, own.session));
    assert_eq!(process.parent_name, own.comm);
    assert_eq!((process.group_led, process.session_led), (own.group_led, own.session_led));
    assert_eq!((process.tty, process.namespaces), (own.tty, own.namespaces));
    assert!(process.began_ns >= own.began_ns && process.began_ns <= now_ns());
    assert!(process.began_ns > now_ns() - 60_000_000_000, "it began a moment ago");
    assert_eq!(process.args.len(), 64);
    assert_eq!(process.args[..5], ["sh", "-c", "read x", "name", ""]);
    assert_eq!(process.args[5], "a\\nb\\tc\u{fffd}");
    assert_eq!((process.args[6].chars().count(), process.args[7].as_str()), (1_024, "padded"));
    let [thread] = process.threads.as_slice() else { panic!("one thread: {:?}", process.threads) };
    assert_eq!((thread.tid, thread.state, thread.yields), (child.pid(), State::Sleeping, None));
    let stdin = process.fd(0).unwrap();
    let Object::Pipe { inode } = stdin.what else { panic!("a pipe: {stdin:?}") };
    assert!(stdin.mode.has(End::Read) && !stdin.mode.has(End::Write));
    assert_eq!(process.fd(1).unwrap().what, Object::Null);
    if thread.call_read {
        assert_eq!(thread.call.as_ref().map(|call| call.does.clone()), Some(Does::Read { fd: 0 }));
    }
    // trailing empty arguments are the padding of a title
    let titled = Reads::named("sh", &["-c", "read x", "name", "", ""]);
    assert_eq!(titled.read().args, ["sh", "-c", "read x", "name"]);

    let snapshot = take(&[child.pid()], &Options::default()).unwrap();
    assert_eq!(snapshot.roots, [child.pid()]);
    assert_eq!(snapshot.tree.keys().copied().collect::<Vec<_>>(), [child.pid()]);
    assert!(snapshot.holders(inode, End::Write).any(|(process, _)| process.pid == std::process::id() as Pid));
    assert!(snapshot.around.contains_key(&own.pid), "its parent holds the other end");
    assert!(own.ppid == 0 || snapshot.around.contains_key(&own.ppid), "ancestors are around it");
    assert!(!snapshot.around.contains_key(&child.pid()));
    assert_eq!((snapshot.reader.pid, snapshot.reader.other_namespace), (own.pid, process.ns_pid != process.pid));
    assert!(snapshot.at_ns <= now_ns() && snapshot.at_ns > process.began_ns && snapshot.took_us > 0);
    assert!(snapshot.took_us < 60_000_000 && snapshot.agents.is_empty() && snapshot.locks.is_empty());
}

#[test]
fn a_process_that_has_ended_is_listed_with_nothing_but_its_end() {
    let mut child = Reads::named("sh", &["-c", "read x"]);
    drop(child.0.stdin.take());
    for _ in 0..1_000 {
        if child.read().state == State::Zombie {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let process = child.read();
    assert_eq!((process.state, process.args.len(), process.fds.len()), (State::Zombie, 0, 0));
    assert!(process.threads.is_empty() && process.parent_name.is_empty());
    let pid = child.pid();
    drop(child);
    assert!(matches!(take(&[pid], &Options::default()), Err(SnapshotError::NoProcess(gone)) if gone == pid));
    assert!(matches!(take(&[], &Options::default()), Err(SnapshotError::NoProcess(0))));
    // of several roots those that exist are read
    let both = take(&[pid, own()], &Options::default()).unwrap();
    assert_eq!(both.roots, [own()]);
}

#[test]
fn processes_are_found_by_name_program_or_script_and_only_the_topmost() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("rehang-tale.js");
    std::fs::write(&script, "read x").unwrap();
    let script = script.to_str().unwrap();
    let interpreted = Reads::named("/usr/bin/node", &["-e", script]);
    let shell = Reads::named("sh", &["-e", script]);
    let titled = Reads::named("rehang-story.py", &["-c", "read x", "rehang-tale"]);
    let is = |child: &Reads, name: &str| process::is_called(child.pid(), name);
    assert!(is(&interpreted, "rehang-tale") && is(&interpreted, "rehang-tale.js") && is(&interpreted, "node"));
    assert!(!is(&interpreted, "rehang-tal") && !is(&interpreted, "tale"));
    assert!(!is(&shell, "rehang-tale"), "the argument of no interpreter");
    assert!(is(&titled, "rehang-story") && is(&titled, "rehang-story.py") && !is(&titled, "rehang-tale"));
    let exe = std::fs::read_link(format!("/proc/{}/exe", shell.pid())).unwrap();
    assert!(is(&titled, exe.file_name().unwrap().to_str().unwrap()), "by its program");
    assert_eq!(find("rehang-tale").unwrap(), [interpreted.pid()]);
    assert_eq!(find("rehang-story").unwrap(), [titled.pid()]);
    assert_eq!(find("no-such-name").unwrap(), Vec::<Pid>::new());
    // this process is never one of them
    let name = std::fs::read_to_string("/proc/self/comm").unwrap();
    assert!(!find(name.trim_end()).unwrap().contains(&own()));
}

#[test]
fn sockets_are_read_with_their_peers_and_queues() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut client = TcpStream::connect(&address).unwrap();
    let (server, _) = listener.accept().unwrap();
    client.write_all(b"hello").unwrap();
    let (mut one, other) = std::os::unix::net::UnixStream::pair().unwrap();
    one.write_all(b"word").unwrap();
    let all = process::all().unwrap();
    let process = process::read(own(), &all, &reader()).unwrap();
    let inode = |fd: &dyn AsRawFd| match process.fd(fd.as_raw_fd()).unwrap().what {
        Object::Socket { inode } => inode,
        ref what => panic!("a socket: {what:?}"),
    };
    let namespace = process::net_namespace(own());
    let mut lacks = Vec::new();
    let sockets = net::sockets([&process].into_iter(), namespace, &mut lacks);
    assert!(lacks.is_empty(), "{lacks:?}");
    let (listening, near, far) = (&sockets[&inode(&listener)], &sockets[&inode(&client)], &sockets[&inode(&server)]);
    assert_eq!(
        (listening.state, listening.local.as_str(), listening.remote.as_str()),
        (SocketState::Listening, address.as_str(), "")
    );
    assert_eq!(
        (near.family, near.state, near.remote.as_str()),
        (Family::Tcp, SocketState::Established, address.as_str())
    );
    assert_eq!((near.peer, far.peer), (Some(far.inode), Some(near.inode)));
    assert_eq!((far.unread, near.unread), (5, 0));
    let pair = (&sockets[&inode(&one)], &sockets[&inode(&other)]);
    assert_eq!((pair.0.peer, pair.1.peer), (Some(pair.1.inode), Some(pair.0.inode)));
    assert_eq!((pair.0.family, pair.0.state, pair.1.unread), (Family::Unix, SocketState::Established, 4));
    let listening: Vec<&str> = process.listening(&sockets).map(|socket| socket.local.as_str()).collect();
    assert!(listening.contains(&address.as_str()));
    // only what is held, and its peers
    let held =
        Process { fds: process.fds.iter().filter(|fd| fd.fd == one.as_raw_fd()).cloned().collect(), ..process.clone() };
    let kept = net::sockets([&held].into_iter(), namespace, &mut lacks);
    assert_eq!(kept.into_keys().collect::<BTreeSet<u64>>(), BTreeSet::from([pair.0.inode, pair.1.inode]));
    let none = Process { fds: vec![], ..process };
    assert!(net::sockets([&none].into_iter(), namespace, &mut lacks).is_empty());
}

#[test]
fn a_lock_is_listed_for_who_may_wait_for_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    rustix::fs::flock(file.as_file(), rustix::fs::FlockOperation::LockExclusive).unwrap();
    let Process { fds, .. } = process::read(own(), &process::all().unwrap(), &reader()).unwrap();
    let fds: Vec<_> = fds.into_iter().filter(|fd| fd.fd == file.as_file().as_raw_fd()).collect();
    let Object::File { inode, .. } = fds[0].what else { panic!("a file: {fds:?}") };
    let thread = |call_read| crate::data::Thread { call_read, ..crate::data::Thread::default() };
    let with = |pid, fds: &[crate::data::Descriptor], call_read| {
        let process = Process { pid, fds: fds.to_vec(), threads: vec![thread(call_read)], ..Process::default() };
        let locks = locks::read(&BTreeMap::from([(pid, process)]));
        locks.into_iter().filter(|lock| lock.inode == inode).map(|lock| lock.pid).collect::<Vec<_>>()
    };
    assert_eq!(with(own(), &fds, true), [], "nothing may wait for it");
    assert_eq!(with(own(), &fds, false), [Some(own())]);
    assert_eq!(with(own(), &[], false), [Some(own())], "its holder is in the tree");
    assert_eq!(with(Pid::MAX, &fds, false), [Some(own())], "its file is open in the tree");
    assert_eq!(with(Pid::MAX, &[], false), []);
}

#[test]
fn below_a_process_are_its_children_and_theirs() {
    let child = Reads::named("sh", &["-c", "read x"]);
    let all = process::all().unwrap();
    let tree = below(&[own()], &all);
    assert!(tree.contains(&own()) && tree.contains(&child.pid()));
    assert!(!tree.contains(&(std::os::unix::process::parent_id() as Pid)));
    assert_eq!(below(&[child.pid()], &all), BTreeSet::from([child.pid()]));
    assert!(below(&[], &all).is_empty());
}

#[test]
fn what_is_shared_is_told_by_the_link_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let fifo = File::options().read(true).write(true).open(&path).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let (fifo_inode, file_inode) = (
        std::os::unix::fs::MetadataExt::ino(&fifo.metadata().unwrap()),
        std::os::unix::fs::MetadataExt::ino(&file.as_file().metadata().unwrap()),
    );
    let is = |link: &str, fd: i32, shared: Shared| is_shared(own(), fd, Path::new(link), &BTreeSet::from([shared]));
    assert!(
        is("pipe:[7]", 0, Shared::Pipe(7))
            && !is("pipe:[7]", 0, Shared::Pipe(8))
            && !is("pipe:[7]", 0, Shared::Socket(7))
    );
    assert!(is("socket:[7]", 0, Shared::Socket(7)) && !is("socket:[7]", 0, Shared::Pipe(7)));
    assert!(is("/dev/pts/3", 0, Shared::Pty(3)) && !is("/dev/pts/3", 0, Shared::Pty(4)));
    let (fifo_fd, file_fd) = (fifo.as_raw_fd(), file.as_file().as_raw_fd());
    assert!(is("/x/queue", fifo_fd, Shared::Fifo(fifo_inode)) && !is("/x/queue", fifo_fd, Shared::File(fifo_inode)));
    assert!(is("/x/file", file_fd, Shared::File(file_inode)) && !is("/x/file", file_fd, Shared::Fifo(file_inode)));
    assert!(
        !is("/dev/shm/file", file_fd, Shared::File(file_inode))
            && !is("anon_inode:x", file_fd, Shared::File(file_inode))
    );
    assert!(!is("/x/file", file_fd, Shared::Pipe(file_inode)));
    assert!(!is("/dev/ptmx", file_fd, Shared::Pty(0)), "it has no number of a terminal");
}

#[test]
fn bytes_that_a_process_moves_are_counted() {
    let io = || process::read(own(), &process::all().unwrap(), &reader()).unwrap().io;
    let Some(Io { written_bytes, writes, .. }) = io() else { return };
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 5_000]).unwrap();
    let after = io().unwrap();
    assert!(after.written_bytes >= written_bytes + 5_000 && after.writes > writes);
    assert!(after.reads > 0 && after.read_bytes > 0);
}
