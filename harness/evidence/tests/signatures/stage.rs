//! Starts the processes of a case, waits until they say that they are ready, and judges.
//!
//! Invariant: nothing of a case outlives it: processes die with their parent or with the end of their lifeline.

use crate::play::MARK;
use rehang_evidence::data::{Alarms, Process, State, Traffic};
use rehang_evidence::{Limits, Look, Options, Pid, Snapshot, Verdict};
use rehang_hangs::{Mechanism, Signature};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::any::Any;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A signature and the processes that show it.
pub struct Case {
    pub name: &'static str,
    pub verdict: Verdict,
    pub signature: Signature,
    pub mechanism: Option<Mechanism>,
    /// Words that the sentence must hold, or what is said to end it.
    pub says: &'static str,
    /// Whether the tree comes to a standstill.
    pub still: bool,
    /// Processes that say that they are ready once all are started.
    pub ready: usize,
    pub limits: Limits,
    /// Whether the root is to be judged as if it had been caught awake at both looks, as on a busy machine.
    pub awake: bool,
    pub set_up: fn(&mut Stage),
}

/// The processes of a case and what they hang on.
pub struct Stage {
    pub folder: tempfile::TempDir,
    ready: OwnedFd,
    children: Vec<Child>,
    /// The process that is asked about, if it is not the first child.
    pub root: Option<Pid>,
    /// The words of a program that starts the players, if they are not started as they are.
    pub before: Vec<String>,
    /// Whatever must stay open.
    pub keep: Vec<Box<dyn Any>>,
}

/// The window of one look.
const WINDOW: Duration = Duration::from_millis(40);
/// Looks after which a case is aborted: it will never settle.
const MOST_LOOKS: usize = 1500;
/// How many looks must be right: of a hang, in a row.
const RIGHT: usize = 3;

impl Stage {
    /// A stage without processes.
    ///
    /// # Errors
    /// No folder, no FIFO.
    pub fn new() -> Result<Stage, String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = folder.path().join("ready");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|e| e.to_string())?;
        let ready =
            rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(|e| e.to_string())?;
        // a player that runs as another user says here too that it is ready
        rustix::fs::chmod(folder.path(), Mode::from_raw_mode(0o711)).map_err(|e| e.to_string())?;
        rustix::fs::chmod(&path, Mode::from_raw_mode(0o622)).map_err(|e| e.to_string())?;
        Ok(Stage { folder, ready, children: Vec::new(), root: None, before: Vec::new(), keep: Vec::new() })
    }

    /// The process that is asked about.
    ///
    /// # Errors
    /// There is none.
    pub fn root(&self) -> Result<Pid, String> {
        let first = self.children.first().map(|child| child.id() as Pid);
        self.root.or(first).ok_or_else(|| "no process".to_owned())
    }

    /// A command that plays `words`.
    pub fn player(&self, words: &[&str]) -> Command {
        self.plays(None, &[], words)
    }

    /// A command that plays `words`, whatever starts the others.
    pub fn bare(&self, words: &[&str]) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.arg0(std::env::current_exe().expect("this binary"));
        self.with_words(command, &[], words)
    }

    /// The same under the name of an agent.
    pub fn bare_agent(&self, name: &str, first: &[&str], words: &[&str]) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.arg0(name);
        self.with_words(command, first, words)
    }

    /// A command that plays `words` under the name of an agent.
    pub fn agent(&self, name: &str, first: &[&str], words: &[&str]) -> Command {
        self.plays(Some(name), first, words)
    }

    fn plays(&self, name: Option<&str>, first: &[&str], words: &[&str]) -> Command {
        let own = std::env::current_exe().expect("this binary");
        let Some((program, rest)) = self.before.split_first() else {
            // under this name another user may start it too, wherever it is
            let mut command = Command::new("/proc/self/exe");
            command.arg0(name.map_or(own.into_os_string(), Into::into));
            return self.with_words(command, first, words);
        };
        let shown = match name {
            Some(name) => self.named(name, &own),
            None => own,
        };
        let mut command = Command::new(program);
        command.args(rest).arg(shown);
        self.with_words(command, first, words)
    }

    /// This binary under another name, for a program that names what it starts by its path.
    fn named(&self, name: &str, own: &Path) -> std::path::PathBuf {
        let folder = self.folder.path().join("bin");
        std::fs::create_dir_all(&folder).expect("a folder");
        let link = folder.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(own, &link).expect("a link");
        }
        link
    }

    fn with_words(&self, mut command: Command, first: &[&str], words: &[&str]) -> Command {
        let folder = self.folder.path();
        command.args(first).arg(MARK).args(words).current_dir(folder);
        command.env("READY", folder.join("ready")).env("CLAUDE_CONFIG_DIR", folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts a command; the first one is the root that is asked about.
    pub fn start(&mut self, mut command: Command) -> Pid {
        let child = command.spawn().expect("a player starts");
        let pid = child.id() as Pid;
        self.children.push(child);
        pid
    }

    /// Starts `first`, and once it says that it is ready, `root`, which is the one that is asked about.
    pub fn start_behind(&mut self, first: Command, root: Command) {
        self.start(first);
        self.await_ready(1).expect("the first one is ready");
        self.start(root);
        self.children.reverse();
    }

    /// Whatever must stay open until the end.
    pub fn keep(&mut self, thing: impl Any) {
        self.keep.push(Box::new(thing));
    }

    /// Waits for one byte from each player that says so.
    pub fn await_ready(&self, mut count: usize) -> Result<(), String> {
        while count > 0 {
            let mut fds = [PollFd::new(&self.ready, PollFlags::IN)];
            let limit = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
            if poll(&mut fds, Some(&limit)).map_err(|e| e.to_string())? == 0 {
                return Err("a player never became ready".to_owned());
            }
            let mut bytes = vec![0; count];
            count -= rustix::io::read(&self.ready, &mut bytes).map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in &mut self.children {
            // it may have ended by itself
            let _ = child.kill();
        }
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

/// Plays a case and compares.
pub fn run(case: &Case) -> Result<(), String> {
    let mut stage = Stage::new()?;
    (case.set_up)(&mut stage);
    stage.await_ready(case.ready)?;
    let root = stage.root()?;
    let played: Vec<Pid> = stage.children.iter().map(|child| child.id() as Pid).chain([root]).collect();
    let (mut looks, mut right, mut last) = (0, 0, Err("it never stood still, or was gone".to_owned()));
    let options = Options { ask: true, ..Options::default() };
    rehang_evidence::watch(&[root], &options, &case.limits, WINDOW, |look| {
        looks += 1;
        let settled = if case.still {
            stands_still(look) && silent_enough(look, &case.limits, case) && trickles(look, case)
        } else {
            looks >= 2 && moved(look, case, &played)
        };
        let over = if looks >= MOST_LOOKS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        if !settled {
            return over;
        }
        last = judge_as(case, look, root);
        right += usize::from(last.is_ok());
        // a hang is looked for until it is found, and stays found, however slow the machine is; of a healthy tree each look
        // must be right, but that a busy machine may keep one that works from working: then it is looked at again
        let kept = look.diagnosis.verdict != Verdict::Hung;
        match (case.verdict, &last) {
            (Verdict::Hung, Err(_)) => {
                right = 0;
                over
            }
            (Verdict::Working, Err(_)) if kept => over,
            (_, Err(_)) => ControlFlow::Break(()),
            (_, Ok(())) if right >= RIGHT => ControlFlow::Break(()),
            (_, Ok(())) => over,
        }
    })
    .map_err(|error| error.to_string())?;
    last
}

fn judge_as(case: &Case, look: &Look, root: Pid) -> Result<(), String> {
    if !case.awake {
        return judge(case, look);
    }
    let mut look = look.clone();
    awaken(&mut look, root);
    look.diagnosis = rehang_evidence::diagnose(&look.before, &look.after, &case.limits);
    judge(case, &look)
}

/// A thread that runs is in no call.
fn awaken(look: &mut Look, root: Pid) {
    for process in [&mut look.before, &mut look.after].into_iter().filter_map(|snapshot| snapshot.tree.get_mut(&root)) {
        process.state = State::Running;
        for thread in &mut process.threads {
            (thread.state, thread.call, thread.wchan) = (State::Running, None, String::new());
        }
    }
}

fn judge(case: &Case, look: &Look) -> Result<(), String> {
    let found = &look.diagnosis;
    let right = found.verdict == case.verdict
        && found.signature == case.signature
        && found.mechanism == case.mechanism
        && [&found.sentence, &found.ends].iter().any(|text| text.contains(case.says));
    if right {
        shows_who_has_ended(look)?;
        return fits_the_graph(case, look);
    }
    let json = serde_json::to_string_pretty(found).unwrap_or_default();
    Err(format!("expected {:?} {} {:?} “{}”, got {json}", case.verdict, case.signature, case.mechanism, case.says))
}

/// An ended child of the process that is called hung has a line in the evidence.
fn shows_who_has_ended(look: &Look) -> Result<(), String> {
    fn texts(all: &[rehang_evidence::Evidence]) -> Vec<&str> {
        all.iter().flat_map(|one| std::iter::once(one.text.as_str()).chain(texts(&one.below))).collect()
    }
    let told = texts(&look.diagnosis.evidence);
    let ended = look.after.children(look.diagnosis.pid).filter(|child| child.state == State::Zombie);
    let is_told = |pid: Pid| told.iter().any(|text| text.contains(&format!("({pid}) has ended, unreaped")));
    match ended.map(|child| child.pid).find(|pid| !is_told(*pid)) {
        Some(pid) => Err(format!("{pid} has ended and is not in {told:#?}")),
        None => Ok(()),
    }
}

/// Signatures of processes that no live process can wake.
const CLOSED: [Signature; 4] =
    [Signature::MutualPipe, Signature::MutualWait, Signature::OwnPipe, Signature::ThreadDeadlock];

/// A process that works or waits for something that will come is never closed in; one that is deadlocked is.
fn fits_the_graph(case: &Case, look: &Look) -> Result<(), String> {
    // the snapshots of a process that was awakened are no longer what was read. As far as the kernel knows, nobody can
    // wake a tool server and a client that reads only from it either: only the rule knows that servers idle by design
    if case.awake || case.signature == Signature::Helper {
        return Ok(());
    }
    // an alarm of some process of this machine may be anybody's, and then nothing is closed in
    let has_alarm = [&look.before, &look.after].iter().any(|snapshot| snapshot.alarms == Alarms::Some);
    let graph = rehang_evidence::graph(&look.before, &look.after, &case.limits);
    let found = &look.diagnosis;
    let is_closed = graph.is_closed_in(found.pid);
    let wrong = match case.verdict {
        Verdict::Hung => CLOSED.contains(&case.signature) && !is_closed && !has_alarm,
        _ => is_closed || look.after.roots.iter().any(|root| graph.is_closed_in(*root)),
    };
    let lines: Vec<String> = graph.edges.iter().map(|edge| graph.line(edge)).collect();
    match wrong {
        true => Err(format!("closed in: {is_closed}; {:?} {lines:#?} {:#?}", graph.closed, graph.nodes)),
        false => Ok(()),
    }
}

/// No thread of the tree was on a processor, or on its way to one, at any moment of the window, and nobody came or went.
pub fn stands_still(look: &Look) -> bool {
    let still = |before: &Snapshot, after: &Snapshot| {
        after.tree.len() == before.tree.len()
            && after.tree.values().all(|process| {
                let Some(old) = before.tree.get(&process.pid) else { return false };
                let threads = process.threads.iter().zip(&old.threads);
                old.state == process.state
                    && process.threads.len() == old.threads.len()
                    && threads.into_iter().all(|(new, old)| {
                        // a thread that was running at first may have come to its wait only then; reading a page is not
                        // a wait
                        let runs = |state| matches!(state, State::Running | State::Disk);
                        let same = new.tid == old.tid && new.switches == old.switches && new.cpu_ns == old.cpu_ns;
                        same && !runs(new.state) && !runs(old.state)
                    })
            })
    };
    still(&look.before, &look.after)
}

/// Whether the kernel let the tree run within the window: a spin for at least a millisecond, anything else for any
/// time.
fn moved(look: &Look, case: &Case, played: &[Pid]) -> bool {
    type Count = fn(&rehang_evidence::data::Thread) -> u64;
    let sum = |process: &Process, f: Count| -> u64 { process.threads.iter().map(f).sum() };
    let grew = |f: Count| -> u64 {
        let ours = |process: &&Process| played.iter().any(|root| look.after.descends(process.pid, *root));
        let grown = |process: &Process| {
            let before = look.before.process(process.pid)?;
            Some(sum(process, f).saturating_sub(sum(before, f)))
        };
        look.after.processes().filter(ours).filter_map(grown).max().unwrap_or(0)
    };
    if matches!(case.signature, Signature::EofSpin | Signature::CpuSpin | Signature::Computing) {
        grew(|thread| thread.cpu_ns) >= 1_000_000
    } else {
        grew(|thread| thread.switches) > 0
    }
}

/// If a server keeps a silent connection: whether the kernel's own clock of it has reached the limit.
fn silent_enough(look: &Look, limits: &Limits, case: &Case) -> bool {
    // a server is called a server whether or not the connection that it keeps is silent
    let keeps = case.signature == Signature::Serves && *limits != Limits::default();
    if !keeps {
        return true;
    }
    let quiet = look
        .after
        .sockets
        .values()
        .filter_map(|socket| socket.traffic)
        .map(|traffic| traffic.since_received_ms.min(traffic.since_sent_ms));
    quiet.filter(|ms| *ms > 0).all(|ms| ms >= limits.silent_ms)
}

/// Where a case is about bytes that come now and then, several have come on one connection, the last one late, and none
/// within the window; any other has been silent for as long as the limit is.
fn trickles(look: &Look, case: &Case) -> bool {
    if case.signature != Signature::PeerKeepalive {
        return true;
    }
    let limit = case.limits.silent_ms;
    let received = |snapshot: &Snapshot, inode: &u64| Some(snapshot.sockets.get(inode)?.traffic?.received_bytes);
    let late = |traffic: &Traffic| {
        traffic.received_pieces > 4
            && traffic.since_received_ms * 2 < traffic.since_sent_ms
            && traffic.since_received_ms < limit
    };
    let silent = |traffic: &Traffic| traffic.since_received_ms.min(traffic.since_sent_ms) >= limit;
    let all: Vec<(&u64, Traffic)> =
        look.after.sockets.iter().filter_map(|(inode, socket)| Some((inode, socket.traffic?))).collect();
    all.iter().any(|(inode, traffic)| late(traffic) && received(&look.before, inode) == received(&look.after, inode))
        && all.iter().any(|(_, traffic)| silent(traffic) && traffic.received_bytes == 1)
}

/// A FIFO, a file or a socket in the folder of the case.
pub fn path(stage: &Stage, name: &str) -> String {
    Path::new(stage.folder.path()).join(name).to_string_lossy().into_owned()
}
