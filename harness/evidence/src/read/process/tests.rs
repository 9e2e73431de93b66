//! What the files of a process are taken to say: their texts by tables, and this process and its children as they are.
//!
//! Invariant: a child is read once it blocks in a known call, so that nothing changes meanwhile.

use super::*;
use crate::data::Does;
use crate::read::staged::{Staged, until};
use expect_test::expect;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

#[test]
fn a_name_cannot_play_tricks_with_a_terminal() {
    assert_eq!(visible("a\u{1b}[2J\u{202e}b\u{200b}\u{feff}"), "a\u{fffd}[2J\u{fffd}b\u{fffd}\u{fffd}");
    assert_eq!(visible("café — ok"), "café — ok");
}

#[test]
fn this_very_process_is_read_as_it_is() {
    let own = std::process::id() as Pid;
    let all = all().unwrap();
    let reader = Reader { ticks_per_s: 100, ..Reader::default() };
    // a machine that stalls uses up the limit of one reading
    let process = until(|| read(own, &all, &reader, &Reach::default()).filter(|process| process.fds_read));
    assert_eq!((process.pid, process.ns_pid > 0, process.tracer), (own, true, 0));
    assert_eq!(process.ppid, std::os::unix::process::parent_id() as Pid);
    assert_eq!(process.uid, rustix::process::geteuid().as_raw());
    // rustix requires a group and a session above 0; if the leader is outside of this pid namespace, they are 0
    // SAFETY: both only ask the kernel for a number.
    let (group, session) = unsafe { (libc::getpgrp(), libc::getsid(0)) };
    assert_eq!((process.pgrp, process.session), (group, session));
    let exe = std::env::current_exe().unwrap();
    assert_eq!(
        (process.exe.as_deref(), process.cwd.as_deref()),
        (exe.to_str(), std::env::current_dir().unwrap().to_str())
    );
    assert_eq!(process.args, std::env::args().collect::<Vec<_>>());
    assert!(process.fds_read && process.fd(1).is_some());
    assert_eq!(process.namespaces.net, net_namespace(own));
    assert!(process.namespaces.pid > 0 && process.namespaces.net > 0);
    assert!(process.io.is_some_and(|io| io.reads > 0 && io.read_bytes > io.reads));
    // the first thread is the process's own; this one runs
    assert_eq!(process.threads[0].tid, own);
    let this = rustix::thread::gettid().as_raw_pid();
    assert!(process.threads.iter().any(|thread| thread.tid == this && thread.state == State::Running));
    assert!(is_called(own, exe.file_name().unwrap().to_str().unwrap()) && !is_called(own, "no-such-name"));
    assert!(lives(own, &all) && lives(0, &all) && !lives(Pid::MAX, &all));
    assert!(read(Pid::MAX, &all, &reader, &Reach::default()).is_none());
}

const STAT: &str = "812 (a) (b R 1) S 2 3 4 34817 6 7 80 9 10 11 120 130 14 15 16 17 18 19 200 21 22";

fn reader() -> Reader {
    Reader { ticks_per_s: 100, ..Reader::default() }
}

#[test]
fn a_name_may_hold_brackets_and_the_numbers_are_counted_after_it() {
    let stat = Stat::parse(STAT).unwrap();
    let all: Vec<i64> = (0..=21).map(|at| stat.number(at)).collect();
    assert_eq!(all, [0, 2, 3, 4, 34_817, 6, 7, 80, 9, 10, 11, 120, 130, 14, 15, 16, 17, 18, 19, 200, 21, 0]);
    assert_eq!(stat.memory_bytes(), 21);
    assert_eq!((stat.comm.as_str(), stat.state, stat.parent()), ("a) (b R 1", State::Sleeping, 2));
    let state = |letter: &str| Stat::parse(&format!("1 (x) {letter} 0")).map(|stat| stat.state);
    let states = ["R", "S", "D", "T", "t", "Z", "X", "I", ""].map(state);
    use State::{Disk, Other, Running, Sleeping, Stopped, Traced, Zombie};
    assert_eq!(states, [Running, Sleeping, Disk, Stopped, Traced, Zombie, Other, Other, Other].map(Some));
    let none = ["", "1 x S 2", "1 (x S 2", "1 x) S 2", "1 )x( S 2"].map(|text| Stat::parse(text).is_none());
    assert_eq!(none, [true; 5]);
    let named = |name: &str| {
        Stat::parse(&format!("1 ({name}) S 2 -1 x")).map(|stat| (stat.comm.clone(), stat.number(2), stat.number(3)))
    };
    assert_eq!(named(""), Some((String::new(), -1, 0)));
    assert_eq!(named("a\u{1b}b"), Some(("a\u{fffd}b".to_owned(), -1, 0)));
}

#[test]
fn an_outline_is_what_stat_says() {
    let process = outline(812, &Stat::parse(STAT).unwrap(), &reader());
    let wanted = Process {
        pid: 812,
        ns_pid: 812,
        ppid: 2,
        pgrp: 3,
        session: 4,
        comm: "a) (b R 1".into(),
        state: State::Sleeping,
        tty: 34_817,
        tty_group: 6,
        faults: 80,
        cpu_ticks: (120, 130),
        began_ns: 2_000_000_000,
        ..Process::default()
    };
    assert_eq!(process, wanted);
    let ns = |ticks_per_s| tick_ns(&Reader { ticks_per_s, ..Reader::default() });
    assert_eq!([ns(0), ns(100), ns(300)], [1_000_000_000, 10_000_000, 3_333_333]);
}

#[test]
fn what_status_says() {
    let of = |text: &str| {
        let mut process = Process { pid: 812, ns_pid: 812, ..Process::default() };
        status(text, &mut process);
        process
    };
    let text = "Name:\tx\nTracerPid:\t44\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t812\t7\t5\n\
                SigPnd:\t0000000000000001\nShdPnd:\t0000000000000012\nSigBlk:\t00000000000000a0\n\
                SigIgn:\t0000000000001000\nSigCgt:\t8000000000000000\nno colon\n";
    let signals = Signals { pending: 0x13, blocked: 0xa0, ignored: 0x1000, caught: 1 << 63 };
    let wanted = Process { pid: 812, ns_pid: 5, uid: 1_001, tracer: 44, signals, ..Process::default() };
    assert_eq!(of(text), wanted);
    let plain = Process { pid: 812, ns_pid: 812, ..Process::default() };
    assert_eq!(["", "Uid:\tx\nNSpid:\nTracerPid:\t?\nSigBlk:\txyz\n"].map(of), [plain.clone(), plain]);
    // one that is pending twice is pending
    assert_eq!(of("SigPnd:\t3\nShdPnd:\t1\n").signals.pending, 3);
    let yielded = |text: &str| yields(text);
    assert_eq!(yielded("nonvoluntary_ctxt_switches:\t3\nvoluntary_ctxt_switches:\t17\n"), Some(17));
    assert_eq!([yielded(""), yielded("voluntary_ctxt_switches:\tx\n")], [None; 2]);
    let moved = io("rchar: 11\nwchar: 12\nsyscr: 13\nsyscw: 14\nread_bytes: 15\n");
    assert_eq!(moved, Io { read_bytes: 11, written_bytes: 12, reads: 13, writes: 14 });
    assert_eq!(io("rchar: x\n"), Io::default());
}

#[test]
fn a_thread_without_schedstat_counts_in_ticks() {
    let stat = Stat::parse(STAT).unwrap();
    let of = |wchan: &str, schedstat: &str| {
        let thread = times(&stat, wchan.to_owned(), schedstat, &reader());
        assert_eq!((thread.comm.as_str(), thread.state, thread.yields), ("a) (b R 1", State::Sleeping, None));
        (thread.wchan, thread.cpu_ns, thread.waited_ns, thread.switches)
    };
    assert_eq!(of("pipe_read", "51 52 53\n"), ("pipe_read".to_owned(), 51, 52, 53));
    assert_eq!(of("0", "0 0 0\n"), (String::new(), 0, 0, 0));
    assert_eq!(of("", ""), (String::new(), 2_500_000_000, 0, 0));
}

#[test]
fn arguments_are_the_words_of_a_command_line() {
    let of = |cmdline: &str| words(cmdline.as_bytes());
    let none: [&str; 0] = [];
    assert_eq!(of("cat\0-n\0"), ["cat", "-n"]);
    assert_eq!(of("cat\0\0x"), ["cat", "", "x"]);
    assert_eq!((of(""), of("\0"), of("\0\0")), (vec![], vec![], vec![]));
    // a title that overwrites the arguments is padded
    assert_eq!(of("postgres: idle   \0\0\0\0"), ["postgres: idle"]);
    assert_eq!(of("   "), none);
    assert_eq!(of("sh\0-c\0a\n\tb\u{1b}\0"), ["sh", "-c", "a\\n\\tb\u{fffd}"]);
    assert_eq!(words(b"a\xff\0"), ["a\u{fffd}"]);
    assert_eq!(of(&"ü".repeat(1_025)), ["ü".repeat(1_024)]);
    assert_eq!([63, 64, 65].map(|count| of(&"x\0".repeat(count)).len()), [63, 64, 64]);
}

#[test]
fn a_process_goes_by_its_program_or_its_script() {
    let is = |exe: Option<&str>, args: &str| {
        goes_by("tool", exe, &args.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let rows = [
        (Some("/bin/tool"), ""),
        (Some("/bin/other"), "other"),
        (Some("/bin/tools"), "x"),
        (None, "tool"),
        (None, "/x/tool.js serve"),
        (None, "/x/tool.rs serve"),
        (None, "tool.py"),
        (None, "tool.mjs"),
        (None, "tool.cjs"),
        (None, "toolxjs"),
        (Some("/bin/node"), "node /x/tool.js"),
        (Some("/bin/node"), "/usr/bin/node --flag /x/tool"),
        (Some("/bin/node"), "node --tool /x/other.js tool"),
        (Some("/bin/python3"), "python3 tool.py"),
        (Some("/bin/cat"), "cat tool"),
        (Some("/bin/cat"), "cat tool.js"),
        (Some("/bin/node"), "node"),
        (None, ""),
    ];
    let told: String =
        rows.iter().map(|(exe, args)| format!("{} {args}: {}\n", exe.unwrap_or("-"), is(*exe, args))).collect();
    expect![[r#"
        /bin/tool : true
        /bin/other other: false
        /bin/tools x: false
        - tool: true
        - /x/tool.js serve: true
        - /x/tool.rs serve: false
        - tool.py: true
        - tool.mjs: true
        - tool.cjs: true
        - toolxjs: false
        /bin/node node /x/tool.js: true
        /bin/node /usr/bin/node --flag /x/tool: true
        /bin/node node --tool /x/other.js tool: false
        /bin/python3 python3 tool.py: true
        /bin/cat cat tool: false
        /bin/cat cat tool.js: false
        /bin/node node: false
        - : false
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_child_that_reads_a_pipe_is_read_as_it_is() {
    let cat = Staged::cat(Stdio::piped());
    let (all, reader) = (all().unwrap(), reader());
    let process = read(cat.pid(), &all, &reader, &Reach::default()).unwrap();
    let own = std::process::id() as Pid;
    assert_eq!((process.comm.as_str(), process.args.as_slice()), ("cat", ["cat".to_owned()].as_slice()));
    assert_eq!((process.ppid, process.state), (own, State::Sleeping));
    assert_eq!(process.parent_name, Stat::of(own).unwrap().comm);
    assert!(process.fds_read);
    let [thread] = process.threads.as_slice() else { panic!("one thread: {process:?}") };
    assert_eq!((thread.tid, thread.state, thread.yields), (cat.pid(), State::Sleeping, None));
    let call = thread.call.clone().unwrap();
    assert_eq!((call.name.as_str(), call.does, thread.call_read), ("read", Does::Read { fd: 0 }, true));
    assert!(is_called(cat.pid(), "cat") && !is_called(cat.pid(), "dog"));
}

/// The session of whoever started these tests may have lost its leader, so the child has one of its own.
#[test]
fn a_group_and_a_session_are_led_while_their_leader_lives() {
    let own = || rustix::process::setsid().map(|_| ()).map_err(std::io::Error::from);
    let mut cat = Command::new("cat");
    // SAFETY: a plain system call, which a child may make before it begins another program
    let cat = Staged::start(unsafe { cat.stdin(Stdio::piped()).pre_exec(own) });
    cat.is_in(libc::SYS_read);
    let process = read(cat.pid(), &all().unwrap(), &reader(), &Reach::default()).unwrap();
    assert_eq!((process.pgrp, process.session), (cat.pid(), cat.pid()));
    assert!(process.group_led && process.session_led);
    // a shell that has ended leads nothing: what it left is in its group and in its session
    let (end, input) = std::io::pipe().unwrap();
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", "exec 3<&0; cat <&3 >/dev/null 2>&1 & echo $!"]).stdin(end);
    // SAFETY: as above
    let said = unsafe { shell.pre_exec(own) }.output().unwrap();
    let left: Pid = String::from_utf8(said.stdout).unwrap().trim().parse().unwrap();
    until(|| std::fs::read_to_string(format!("/proc/{left}/syscall")).ok()?.starts_with("0 ").then_some(()));
    let process = read(left, &all().unwrap(), &reader(), &Reach::default()).unwrap();
    assert!(!process.group_led && !process.session_led);
    drop(input);
}

#[test]
fn one_that_has_ended_has_neither_threads_nor_descriptors() {
    let mut cat = Staged::cat(Stdio::piped());
    let before = all().unwrap();
    cat.end();
    let process = read(cat.pid(), &before, &reader(), &Reach::default()).unwrap();
    assert_eq!((process.state, process.fds_read, process.threads.len()), (State::Zombie, false, 0));
    assert_eq!((process.parent_name.as_str(), process.args.len()), ("", 0));
    // the list is of the time when it lived; one that is not on it is looked up
    assert!(lives(cat.pid(), &before) && !lives(cat.pid(), &all().unwrap()) && !lives(cat.pid(), &All::new()));
    assert!(lives(std::process::id() as Pid, &All::new()));
    let name = |pid, all: &All| known(pid, all, |stat| stat.comm.clone());
    assert_eq!(name(cat.pid(), &All::new()), Some("cat".to_owned()));
    let other = All::from([(cat.pid(), Stat::parse(STAT).unwrap())]);
    assert_eq!((name(cat.pid(), &other).as_deref(), name(Pid::MAX, &other)), (Some("a) (b R 1"), None));
}

#[test]
fn the_threads_of_a_process_are_its_own_one_first() {
    let own = std::process::id() as Pid;
    // the other thread ends when this one lets go, also by a panic
    let (hold, wait) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (ready, started) = std::sync::mpsc::channel();
        scope.spawn(move || {
            ready.send(()).expect("this test waits for it");
            let _ = wait.recv();
        });
        let _hold = hold;
        started.recv().expect("it starts");
        let process = outline(own, &Stat::of(own).unwrap(), &reader());
        let tids: Vec<Pid> = threads(&process, &reader(), &Reach::default()).iter().map(|thread| thread.tid).collect();
        assert_eq!(tids.first(), Some(&own));
        assert!(tids.len() > 2 && tids[1..].is_sorted());
        let this = rustix::thread::gettid().as_raw_pid();
        let running = thread(&process, this, &reader(), &Reach::default()).unwrap();
        // it reads its own: it runs, and is in the read of that very file
        assert_eq!((running.tid, running.state, running.yields.is_some()), (this, State::Running, true));
    });
    assert!(thread(&Process { pid: own, ..Process::default() }, Pid::MAX, &reader(), &Reach::default()).is_none());
}

#[test]
fn a_stopped_process_is_stopped() {
    let cat = Staged::cat(Stdio::piped());
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(cat.pid()), nix::sys::signal::Signal::SIGSTOP).unwrap();
    until(|| Stat::of(cat.pid()).filter(|stat| stat.state == State::Stopped).map(drop));
}
