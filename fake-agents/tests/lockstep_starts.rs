//! A participant that was forked cannot be told from one that was started by itself: what it does, what it holds, and what
//! `/proc` shows of it. This test is alone in its process, because it looks at all that the process has started.

mod lockstep;

use lockstep::{Do, arguments, cell, children, drive, kernel};
use rehang_os::{
    kernel::{InternalError, Kernel},
    linux::signals,
    os::Sig,
};
use rehang_scenario::{
    Terminal::{self, Closed, CttyNull, Null, Pipe, Tty, TtyBackground, TtyBackgroundNohup},
    VTime,
};
use std::sync::Mutex;

static ALONE: Mutex<()> = Mutex::new(());

/// An agent that catches and ignores signals and has two tools, one in a session of its own.
const STEPS: &str = r#"[
    {"ignore":["HUP"]},
    {"background":{"name":"own","does":["hold"],"setsid":true}},
    {"run":["hold"]}
]"#;

/// What `/proc` shows of a process that is no name: its arguments, environment, descriptors, signals and groups.
fn shown(pid: u32, root: u32) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let mut fds: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let to = std::fs::read_link(entry.path()).unwrap().to_string_lossy().into_owned();
            let kind = to.split(['[', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).next().unwrap().to_owned();
            format!("{} {kind}", entry.file_name().to_string_lossy())
        })
        .collect();
    fds.sort();
    let of_signals = ["SigBlk", "SigIgn", "SigCgt", "Threads"];
    let status = read("status");
    let status = status.lines().filter(|line| of_signals.iter().any(|name| line.starts_with(name)));
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    // the group, the session, whether there is a controlling terminal and whether the group has its foreground
    let relative = |at: usize| if fields[at] == root.to_string() { "agent" } else { "own" };
    let terminal = format!("{} {} {} {}", relative(2), relative(3), fields[4] != "0", fields[5] == fields[2]);
    let mut all = vec![arguments(pid).join(" "), read("environ").replace('\0', " "), terminal];
    all.extend(fds);
    all.extend(status.map(str::to_owned));
    all
}

/// What this process was given by whoever started the test is given to no participant.
fn keep_to_oneself() {
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        let fd: i32 = entry.unwrap().file_name().to_str().unwrap().parse().unwrap();
        if fd > 2 {
            // SAFETY: sets a flag of a number; if it is not open any more, that is an error.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

/// All processes below this one that play, by what they show.
fn played(terminal: Terminal, one_by_one: bool) -> Vec<Vec<String>> {
    let mut kernel = if one_by_one { kernel().one_by_one() } else { kernel() };
    let mut cell = cell(terminal, STEPS);
    cell.env = vec![("NAME".to_owned(), "a value = with signs".to_owned()), ("EMPTY".to_owned(), String::new())];
    let (agent, _streams) = kernel.start(&cell.launch()).unwrap();
    for _ in 0..20 {
        let Some(next) = kernel.ready(VTime(0)).unwrap().first().copied() else { break };
        kernel.run(next, VTime(0)).unwrap();
    }
    assert!(kernel.alive(agent));
    let mut pids = children();
    let mut at = 0;
    while let Some(pid) = pids.get(at) {
        let below = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        pids.extend(below.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
        at += 1;
    }
    let root = pids.iter().copied().find(|pid| arguments(*pid) == ["fake-tool"]).unwrap();
    pids.retain(|pid| arguments(*pid) != ["fake-starter"]);
    let mut all: Vec<Vec<String>> = pids.into_iter().map(|pid| shown(pid, root)).collect();
    all.sort();
    kernel.clear().unwrap();
    all
}

#[test]
fn proc_shows_the_same_of_it() {
    let _alone = ALONE.lock();
    keep_to_oneself();
    for terminal in [Null, Pipe, Closed, Tty, CttyNull, TtyBackground, TtyBackgroundNohup] {
        let (forked, alone) = (played(terminal, false), played(terminal, true));
        assert_eq!(forked, alone, "{terminal:?}");
        assert!(forked.len() >= 3, "{forked:?}");
        let of_agent = forked.iter().find(|shown| shown[0] == "fake-tool").unwrap();
        assert_eq!(
            of_agent[1], "REHANG_ENV_NAME=a value = with signs REHANG_ENV_EMPTY= REHANG_CONTROL=3 ",
            "{terminal:?}"
        );
    }
}

#[test]
fn it_does_the_same() {
    let _alone = ALONE.lock();
    let cells = [
        cell(Null, r#"[{"print":"hello"},{"run":[{"print":"below"}]}]"#),
        cell(Pipe, r#"[{"run":["read-stdin",{"print":"read"}]}]"#).at(5, Do::Type("x\n")),
        cell(Pipe, STEPS).at(5, Do::Kill("agent", true, Sig::Term)),
        cell(Tty, r#"[{"run":["read-stdin"]},"hold"]"#).at(5, Do::Type("x\r")).at(6, Do::Close),
        cell(TtyBackground, r#"["read-stdin"]"#),
        cell(TtyBackgroundNohup, r#"[{"print":"a"},"read-stdin"]"#).at(5, Do::Close),
        cell(CttyNull, r#"[{"raise":"STOP"}]"#).at(5, Do::Kill("agent", true, Sig::Cont)),
        cell(Closed, r#"["read-stdin",{"run":["hold"]}]"#).at(5, Do::Kill("agent", true, Sig::Kill)),
    ];
    for cell in &cells {
        let forked = drive(&mut kernel(), cell).unwrap();
        assert_eq!(forked, drive(&mut kernel().one_by_one(), cell).unwrap());
        assert!(!forked.is_empty());
    }
}

#[test]
fn a_starter_that_is_gone_is_no_verdict() {
    let _alone = ALONE.lock();
    let cell = cell(Null, r#"["hold"]"#);
    let mut first = kernel();
    first.start(&cell.launch()).unwrap();
    first.clear().unwrap();
    let starter = children().into_iter().find(|pid| arguments(*pid) == ["fake-starter"]).unwrap();
    signals::send(starter.cast_signed(), Sig::Kill).unwrap();
    // it has ended before it is told: its socket says so
    match first.start(&cell.launch()) {
        Err(InternalError::Fake(why)) => assert!(why.contains("fake-tool could not be started"), "{why}"),
        other => panic!("{other:?}"),
    }
    drop(first);
    let mut second = kernel();
    second.start(&cell.launch()).unwrap();
    assert_eq!(second.clear().unwrap().len(), 1);
}
