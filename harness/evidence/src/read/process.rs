//! One process: what /proc/PID says of it and of its threads.
//!
//! Invariant: every file is read whole or counts as unreadable; a process that ends meanwhile gives `None`.

use super::file::{link, namespace};
use super::{Reach, call, fds, file, prompt, served};
use crate::data::{Io, Namespaces, Pid, Process, Reader, Signals, State, Thread};
use rehang_words::text::visible;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// The most threads of one process that are read.
const MAX_THREADS: usize = 1024;
/// The most arguments that are kept, and the most characters of one.
const MAX_ARGS: (usize, usize) = (64, 1024);

/// Every process of this machine, as it was when a snapshot began.
pub type All = BTreeMap<Pid, Stat>;

/// Reads the list of all processes.
///
/// # Errors
/// There is no /proc, or it is not mounted.
pub fn all() -> std::io::Result<All> {
    list(|pids| pids.iter().map(|pid| Stat::of(*pid)).collect())
}

/// The same, read in any way that keeps the order.
pub fn list(read: impl FnOnce(&[Pid]) -> Vec<Option<Stat>>) -> std::io::Result<All> {
    let mut pids = Vec::new();
    let _ = file::numbers(&file::folder("/proc")?, |pid| {
        pids.push(pid);
        ControlFlow::Continue(())
    });
    let stats = read(&pids);
    let all: All = pids.into_iter().zip(stats).filter_map(|(pid, stat)| Some((pid, stat?))).collect();
    match all.is_empty() {
        // this process is there at least
        true => Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no process is in it; is it mounted?")),
        false => Ok(all),
    }
}

/// Reads a process. One that the reading was stuck at before is only outlined.
pub fn read(pid: Pid, all: &All, reader: &Reader, reach: &Reach) -> Option<Process> {
    reach.limit.progress.at(pid);
    if reach.leaves_out.contains(&pid) {
        return Some(outline(pid, &Stat::of(pid)?, reader));
    }
    let (fds, fds_read) = fds::read(pid, reach);
    // read where the call of the first thread is: what it does and its state are of one moment
    let stat = Stat::of(pid)?;
    let mut process = Process { fds, fds_read, ..outline(pid, &stat, reader) };
    let leads = first_living(&mut process, reach);
    if process.state == State::Zombie {
        (process.fds, process.fds_read) = (Vec::new(), false);
    } else {
        process.threads = match stat.number(THREADS) {
            1 => first(&process, &stat, reader, reach).into_iter().collect(),
            _ => threads(&process, reader, reach),
        };
        process.parent_name = known(process.ppid, all, |stat| stat.comm.clone()).unwrap_or_default();
        process.group_led = lives(process.pgrp, all);
        process.session_led = lives(process.session, all);
    }
    process.args = if pages(&process) { Vec::new() } else { args(pid) };
    if process.args.is_empty() && leads != pid {
        process.args = args(leads);
    }
    process.exe = link(&format!("/proc/{pid}/exe"));
    process.cwd = link(&format!("/proc/{pid}/cwd"));
    process.namespaces =
        Namespaces { pid: namespace(pid, "pid"), net: namespace(pid, "net"), mnt: namespace(pid, "mnt") };
    process.io = file::record(&format!("/proc/{pid}/io")).ok().map(|text| io(&text));
    status(&file::record(&format!("/proc/{pid}/status")).unwrap_or_default(), &mut process);
    process.prompt = prompt::read(&process);
    if let Some(time) = &reach.time {
        time.show(&mut process);
    }
    Some(process)
}

/// Whether a thread waits in the kernel outside of any call: for a page of a file, as a rule. Its process's memory, and
/// its arguments are a part of that, is locked meanwhile, or cannot be read without the same wait.
fn pages(process: &Process) -> bool {
    let pid = process.pid;
    let mut idle = process.threads.iter().filter(|thread| thread.state == State::Disk && thread.call.is_none());
    // `-1` and two addresses: it waits, and in no call
    idle.any(|thread| {
        let call = file::record(&format!("/proc/{pid}/task/{}/syscall", thread.tid));
        call.is_ok_and(|call| call.starts_with("-1 "))
    })
}

/// The first thread that lives of a process whose first one has ended: the process is not over, and what it has is seen
/// through that thread.
fn first_living(process: &mut Process, reach: &Reach) -> Pid {
    let pid = process.pid;
    if process.state != State::Zombie {
        return pid;
    }
    let living = tids(pid).into_iter().filter(|tid| *tid != pid).find_map(|tid| {
        let stat = Stat::read(&format!("/proc/{pid}/task/{tid}/stat"))?;
        (stat.state != State::Zombie).then_some((tid, stat.state))
    });
    let Some((tid, state)) = living else { return pid };
    process.state = state;
    (process.fds, process.fds_read) = fds::read(tid, reach);
    tid
}

/// The threads of a process, as many as are read.
fn tids(pid: Pid) -> Vec<Pid> {
    let mut tids = Vec::new();
    if let Ok(folder) = file::folder(&format!("/proc/{pid}/task")) {
        let _ = file::numbers(&folder, |tid| {
            tids.push(tid);
            if tids.len() < MAX_THREADS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    tids
}

/// What /proc/PID/stat says of a process.
fn outline(pid: Pid, stat: &Stat, reader: &Reader) -> Process {
    Process {
        pid,
        ns_pid: pid,
        ppid: stat.parent(),
        pgrp: stat.number(2) as Pid,
        session: stat.number(3) as Pid,
        comm: stat.comm.clone(),
        state: stat.state,
        tty: stat.number(4) as u32,
        tty_group: stat.number(5) as Pid,
        faults: stat.number(7) as u64,
        cpu_ticks: (stat.number(11) as u64, stat.number(12) as u64),
        began_ns: (stat.number(19) as u64).saturating_mul(tick_ns(reader)),
        ..Process::default()
    }
}

/// How long a tick is, in nanoseconds.
fn tick_ns(reader: &Reader) -> u64 {
    1_000_000_000 / reader.ticks_per_s.max(1)
}

/// What the list of all processes knows of one, or /proc if it began later.
fn known<T>(pid: Pid, all: &All, f: impl Fn(&Stat) -> T) -> Option<T> {
    all.get(&pid).map(&f).or_else(|| Stat::of(pid).as_ref().map(f))
}

/// Whether a process exists and has not ended. Group and session 0 belong to another pid namespace.
fn lives(pid: Pid, all: &All) -> bool {
    pid == 0 || known(pid, all, |stat| stat.state != State::Zombie) == Some(true)
}

/// The inode of a process's network namespace; 0 if it may not be read.
pub fn net_namespace(pid: Pid) -> u64 {
    namespace(pid, "net")
}

/// A process as far as it shows how it was started: its name, its program and its arguments.
pub fn as_started(pid: Pid, stat: &Stat) -> Process {
    let exe = link(&format!("/proc/{pid}/exe"));
    Process { pid, comm: stat.comm.clone(), exe, args: args(pid), ..Process::default() }
}

/// Whether a process's program, or the script that an interpreter runs for it, is `name`.
pub fn is_called(pid: Pid, name: &str) -> bool {
    goes_by(name, link(&format!("/proc/{pid}/exe")).as_deref(), &args(pid))
}

fn goes_by(name: &str, exe: Option<&str>, args: &[String]) -> bool {
    let stem = |text: &str| {
        let file = Path::new(text).file_name().and_then(|file| file.to_str()).unwrap_or_default();
        file == name || ["js", "mjs", "cjs", "py"].iter().any(|end| file.strip_suffix(end) == Some(&format!("{name}.")))
    };
    let interpreter = args.first().is_some_and(|arg| {
        let file = Path::new(arg).file_name().and_then(|file| file.to_str()).unwrap_or_default();
        ["node", "bun", "deno", "python", "python3"].contains(&file)
    });
    let script = args.iter().skip(1).find(|arg| !arg.starts_with('-'));
    exe.is_some_and(stem)
        || args.first().is_some_and(|arg| stem(arg))
        || (interpreter && script.is_some_and(|arg| stem(arg)))
}

fn threads(process: &Process, reader: &Reader, reach: &Reach) -> Vec<Thread> {
    let pid = process.pid;
    let mut tids = tids(pid);
    tids.sort_by_key(|tid| (*tid != pid, *tid));
    tids.into_iter().filter_map(|tid| thread(process, tid, reader, reach)).collect()
}

fn thread(process: &Process, tid: Pid, reader: &Reader, reach: &Reach) -> Option<Thread> {
    let base = format!("/proc/{}/task/{tid}", process.pid);
    described(&base, &Stat::read(&format!("{base}/stat"))?, process, tid, reader, reach)
}

/// The only thread of a process whose stat was just read.
fn first(process: &Process, stat: &Stat, reader: &Reader, reach: &Reach) -> Option<Thread> {
    described(&format!("/proc/{}", process.pid), stat, process, process.pid, reader, reach)
}

/// A thread whose files are at `base`.
fn described(base: &str, stat: &Stat, process: &Process, tid: Pid, reader: &Reader, reach: &Reach) -> Option<Thread> {
    // a thread that is over
    if stat.state == State::Zombie && process.state != State::Zombie {
        return None;
    }
    let (call, call_read) = call::read(base, process, tid, reach);
    let text = |name: &str| file::record(&format!("{base}/{name}")).unwrap_or_default();
    let mut thread = Thread { tid, call, call_read, ..times(stat, text("wchan"), &text("schedstat"), reader) };
    if let Some(call) = &thread.call {
        thread.server = served::of(call, thread.state, process, tid, &reach.mounts);
    }
    if thread.state == State::Running {
        thread.yields = yields(&text("status"));
    }
    Some(thread)
}

/// What a thread's stat, wchan and schedstat say: the last is empty on a kernel without it.
fn times(stat: &Stat, wchan: String, schedstat: &str, reader: &Reader) -> Thread {
    let mut sched = schedstat.split_whitespace().map(|n| n.parse::<u64>().unwrap_or(0));
    let (ran, waited, switches) = (sched.next(), sched.next(), sched.next());
    Thread {
        comm: stat.comm.clone(),
        state: stat.state,
        wchan: if wchan == "0" { String::new() } else { call::plain(&wchan).to_owned() },
        cpu_ns: ran.unwrap_or_else(|| (stat.number(11) + stat.number(12)) as u64 * tick_ns(reader)),
        waited_ns: waited.unwrap_or(0),
        switches: switches.unwrap_or(0),
        ..Thread::default()
    }
}

fn yields(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}

/// The fields of /proc/PID/stat that are kept: to the size of a process's memory.
const FIELDS: usize = 21;
/// The one that has the number of threads.
const THREADS: usize = 17;

/// /proc/PID/stat: the name in brackets may hold anything, brackets and blanks included.
pub struct Stat {
    pub comm: String,
    state: State,
    numbers: [i64; FIELDS],
}

impl Stat {
    pub fn of(pid: Pid) -> Option<Stat> {
        Stat::read(&format!("/proc/{pid}/stat"))
    }

    fn read(path: &str) -> Option<Stat> {
        Stat::parse(&file::record(path).ok()?)
    }

    pub fn parse(text: &str) -> Option<Stat> {
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let comm = visible(text.get(open + 1..close)?);
        let mut fields = text.get(close + 1..)?.split_ascii_whitespace();
        let state = match fields.next() {
            Some("R") => State::Running,
            Some("S") => State::Sleeping,
            Some("D") => State::Disk,
            Some("T") => State::Stopped,
            Some("t") => State::Traced,
            Some("Z") => State::Zombie,
            _ => State::Other,
        };
        let mut numbers = [0; FIELDS];
        for (number, field) in numbers.iter_mut().skip(1).zip(fields) {
            *number = field.parse().unwrap_or(0);
        }
        Some(Stat { comm, state, numbers })
    }

    /// The n-th field after the name; field 0 is the state, which is not a number.
    pub fn number(&self, at: usize) -> i64 {
        self.numbers.get(at).copied().unwrap_or(0)
    }

    pub fn parent(&self) -> Pid {
        self.number(1) as Pid
    }

    /// The size of its virtual memory (`vsize`).
    pub fn memory_bytes(&self) -> i64 {
        self.number(20)
    }

    /// Whether it is a thread of the kernel, which has no descriptors (`PF_KTHREAD`, include/linux/sched.h).
    pub fn is_of_kernel(&self) -> bool {
        self.number(6) & 0x0020_0000 != 0
    }
}

/// What /proc/PID/status says: numbers in base 10, sets of signals in base 16.
fn status(text: &str, process: &mut Process) {
    let mut signals = Signals::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let set = || u64::from_str_radix(value.trim(), 16).unwrap_or(0);
        match key {
            // real, effective, saved and file-system user: the second is the one that it acts as
            "Uid" => process.uid = value.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0),
            "NSpid" => {
                let last = value.split_whitespace().last().and_then(|n| n.parse().ok());
                process.ns_pid = last.unwrap_or(process.pid);
            }
            "TracerPid" => process.tracer = value.trim().parse().unwrap_or(0),
            "SigPnd" | "ShdPnd" => signals.pending |= set(),
            "SigBlk" => signals.blocked = set(),
            "SigIgn" => signals.ignored = set(),
            "SigCgt" => signals.caught = set(),
            _ => {}
        }
    }
    process.signals = signals;
}

/// What /proc/PID/io says.
fn io(text: &str) -> Io {
    let field = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    Io { read_bytes: field("rchar:"), written_bytes: field("wchar:"), reads: field("syscr:"), writes: field("syscw:") }
}

pub fn args(pid: Pid) -> Vec<String> {
    words(&file::record_bytes(&format!("/proc/{pid}/cmdline")).unwrap_or_default())
}

/// The arguments in /proc/PID/cmdline, each of which ends with a zero byte.
fn words(cmdline: &[u8]) -> Vec<String> {
    let bytes = cmdline.strip_suffix(b"\0").unwrap_or(cmdline);
    if bytes.is_empty() {
        return Vec::new();
    }
    let cut = |part: &[u8]| {
        let part: String = String::from_utf8_lossy(part).trim_end().chars().take(MAX_ARGS.1).collect();
        // a script of several lines is one argument: all of them are shown on one line
        visible(&part.replace('\n', "\\n").replace('\t', "\\t"))
    };
    let mut args: Vec<String> = bytes.split(|byte| *byte == 0).take(MAX_ARGS.0).map(cut).collect();
    // a title that overwrites the arguments is padded with blanks
    let used = args.iter().rposition(|arg| !arg.is_empty()).map_or(0, |last| last + 1);
    args.truncate(used);
    args
}

#[cfg(test)]
mod tests;
