//! The scripted client: `rehang __conform` reads a job from stdin, starts the agent, plays a plan and writes each message
//! with its time to stdout, a line of JSON each.
//!
//! Invariants: it never blocks but in `poll`, so that whatever the tracer sees waiting beside it is the agent; it has a time
//! limit only if its plan has one.

use crate::message::{Answer, Message};
use crate::model::Model;
use crate::protocol::{self, PERMISSION, UNKNOWN, WAIT_FOR_EXIT};
use crate::script::{Ask, Expect, How, Plan, Step};
use rehang_processes::machine;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The argument that makes `rehang` the client.
pub const CLIENT_ARG: &str = "__conform";
/// The exit code if the agent's command cannot be started.
pub(crate) const NO_COMMAND: i32 = 2;
/// The exit code if the machine does not provide what this process needs.
pub(crate) const NO_MACHINE: i32 = 70;
/// A page: the smallest pipe.
const SMALL_PIPE: usize = 4_096;
/// The pause inside of a character, in milliseconds.
const SPLIT_MS: u64 = 1_000;
/// How long the second request is waited for, if two are to be open at once.
const SECOND_MS: u64 = 600_000;
/// The bytes of a long line.
const LONG: usize = 1 << 20;
/// The longest line of the agent's that is read.
const LINE_MAX: usize = 8 << 20;
/// The most events of a run, more than one for each second of a day; and the most bytes of their record.
const EVENTS_MAX: usize = 100_000;
const RECORD_MAX: usize = 32 << 20;
/// How much is kept of the end of the agent's stderr, in bytes.
const STDERR_BYTES: usize = 2_000;

/// What the client is to play.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The agent's command.
    pub command: Vec<String>,
    /// The folder of its sessions.
    pub folder: PathBuf,
    /// The text of its prompts.
    pub prompt: String,
    /// What is played.
    pub plan: Plan,
    /// Whether the agent has the machine's network, and not loopback alone.
    pub network: bool,
    /// The agent's model, if it is to have one.
    pub model: Option<Model>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, in milliseconds of virtual time since the agent's start.
    pub ms: u64,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The agent was started.
    Started {
        /// The client's process.
        client: i32,
        /// The agent's stdin, as the kernel calls it.
        stdin: String,
        /// Its stdout.
        stdout: String,
    },
    /// The client made a request.
    Asked(Message, Expect),
    /// The client wrote another message.
    Sent(Message),
    /// The client wrote something that is no message.
    Wrote(String),
    /// The agent wrote a line.
    Heard(Message),
    /// The client does not read from now on.
    StopsReading,
    /// It reads again.
    Reads,
    /// The client sent `session/cancel`.
    Cancelled,
    /// Something of the agent's is unread, and the client does not read.
    Unread,
    /// The client closed the agent's stdin.
    Closed,
    /// There are this many events, or too many bytes of them: the client gives up.
    TooMuch(usize),
    /// The agent's process ended.
    Ended {
        /// Its code, or -signal.
        code: i32,
        /// The end of its stderr.
        said: String,
    },
    /// What the plan waits for did not come.
    NotReached(String),
    /// The plan is over.
    Over,
}

/// Plays a job from stdin; returns the exit code.
pub fn main() -> i32 {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    let job = read.and_then(|_| serde_json::from_str::<Job>(&text).map_err(io::Error::other));
    let job = match job {
        Ok(job) => job,
        Err(error) => return failed(NO_MACHINE, &error.to_string()),
    };
    if !job.network
        && let Err(error) = enter_network()
    {
        return failed(NO_MACHINE, &format!("{error}. Or give it this machine's network: `--network`"));
    }
    if let Some(Err(error)) = job.model.as_ref().map(Model::start) {
        return failed(NO_MACHINE, &format!("the scripted model: {}", machine::open(&error)));
    }
    let mut client = match Client::start(&job) {
        Ok(client) => client,
        Err(error) => {
            let program = job.command.first().map_or("", String::as_str);
            let code = if machine::remedy_of_start(&error).is_some() { NO_MACHINE } else { NO_COMMAND };
            return failed(code, &machine::program(program, &error));
        }
    };
    match client.play() {
        Ok(()) => 0,
        Err(error) => failed(NO_MACHINE, &machine::open(&error)),
    }
}

fn failed(code: i32, why: &str) -> i32 {
    eprintln!("{why}");
    code
}

#[cfg(target_os = "linux")]
fn enter_network() -> Result<(), String> {
    rehang_live::sandbox::enter().map_err(|error| error.to_string())
}

#[cfg(not(target_os = "linux"))]
fn enter_network() -> Result<(), String> {
    Err("network namespaces need Linux".to_owned())
}

/// A request of the agent's.
struct Asked {
    id: Value,
    method: String,
    /// What its good reply depends on.
    params: Value,
}

struct Client<'a> {
    job: &'a Job,
    began: Instant,
    child: Child,
    pidfd: OwnedFd,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// What is to be written.
    out: VecDeque<u8>,
    /// What was read of a line.
    line: Vec<u8>,
    /// The end of the agent's stderr.
    said: Vec<u8>,
    reads: bool,
    has_ended: bool,
    /// Bytes that are written later, and the message that they are.
    later: Vec<(Instant, Vec<u8>, Option<Message>)>,
    next_id: u64,
    /// Own requests that are open, by id.
    open: BTreeMap<String, String>,
    sessions: Vec<String>,
    /// The agent's requests that are open, and how many there were of each method.
    asked: Vec<Asked>,
    counts: BTreeMap<String, usize>,
    /// How many events there were, and their bytes.
    events: Cell<usize>,
    record: Cell<usize>,
    /// The id of the first prompt, and whether it was answered: the fault is played until then.
    first_prompt: Option<String>,
    is_first_over: bool,
    /// The current turn is cancelled.
    is_cancelled: bool,
    has_update: bool,
    has_tool: bool,
    deadline: Option<Instant>,
}

impl<'a> Client<'a> {
    fn start(job: &'a Job) -> io::Result<Client<'a>> {
        let mut command = Command::new(job.command.first().map_or("", String::as_str));
        command.args(job.command.get(1..).unwrap_or_default());
        command.envs(job.model.iter().flat_map(Model::env));
        // SAFETY: a system call alone between fork and exec; it allocates nothing.
        unsafe {
            // no terminal of the user's: what the agent writes to /dev/tty would reach it
            command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let began = Instant::now();
        let pid = Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::Error::other("no pid"))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let streams = [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd)];
        for stream in streams.into_iter().flatten() {
            fcntl_setfl(stream, fcntl_getfl(stream)? | OFlags::NONBLOCK)?;
            if job.plan.has_small_pipes {
                rustix::pipe::fcntl_setpipe_size(stream, SMALL_PIPE)?;
            }
        }
        let name = |stream: Option<&dyn AsRawFd>| {
            let link = stream.and_then(|s| std::fs::read_link(format!("/proc/self/fd/{}", s.as_raw_fd())).ok());
            link.unwrap_or_default().to_string_lossy().into_owned()
        };
        let started = What::Started {
            client: std::process::id().cast_signed(),
            stdin: name(stdin.as_ref().map(|stream| stream as &dyn AsRawFd)),
            stdout: name(stdout.as_ref().map(|stream| stream as &dyn AsRawFd)),
        };
        let client = Client {
            job,
            began,
            child,
            pidfd,
            stdin,
            stdout,
            stderr,
            out: VecDeque::new(),
            line: Vec::new(),
            said: Vec::new(),
            reads: true,
            has_ended: false,
            later: Vec::new(),
            next_id: 0,
            open: BTreeMap::new(),
            sessions: Vec::new(),
            asked: Vec::new(),
            counts: BTreeMap::new(),
            events: Cell::new(0),
            record: Cell::new(0),
            first_prompt: None,
            is_first_over: false,
            is_cancelled: false,
            has_update: false,
            has_tool: false,
            deadline: None,
        };
        client.log(started)?;
        Ok(client)
    }

    fn log(&self, what: What) -> io::Result<()> {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut line = serde_json::to_vec(&Event { ms, what }).map_err(io::Error::other)?;
        line.push(b'\n');
        self.events.set(self.events.get() + 1);
        self.record.set(self.record.get() + line.len());
        // one write each: the tracer may end this process at any time
        let mut out = io::stdout().lock();
        out.write_all(&line)?;
        out.flush()
    }

    /// Whether the agent writes without an end.
    fn is_too_much(&self) -> bool {
        self.events.get() > EVENTS_MAX || self.record.get() > RECORD_MAX
    }

    fn play(&mut self) -> io::Result<()> {
        for step in &self.job.plan.steps {
            if let Some(why) = self.begin(step)? {
                return self.log(What::NotReached(why));
            }
            while !self.is_over(step) {
                if self.has_ended {
                    return Ok(());
                }
                if self.is_too_much() {
                    return self.log(What::TooMuch(self.events.get()));
                }
                if let Some(why) = self.missed(step) {
                    return self.log(What::NotReached(why));
                }
                self.turn()?;
            }
            self.deadline = None;
        }
        self.log(What::Over)
    }

    /// Does what a step does at once; or why it cannot.
    fn begin(&mut self, step: &Step) -> io::Result<Option<String>> {
        let params = |session: &str| json!({ "sessionId": session });
        match step {
            Step::Ask(ask, expect) => return self.ask(ask, *expect),
            Step::Flood(count) => {
                for _ in 0..*count {
                    self.request(UNKNOWN, json!({ "filler": "a line of a hundred bytes" }), Expect::NoMethod)?;
                }
            }
            Step::UnknownNotification => {
                let message = Message::Notification { method: UNKNOWN.to_owned(), params: json!({}) };
                self.send(message)?;
            }
            Step::StrayReply => self.send(Message::reply(json!(987_654), Answer::Result(json!({}))))?,
            Step::Line(text) => {
                self.log(What::Wrote(text.clone()))?;
                self.write(format!("{text}\n").as_bytes())?;
            }
            Step::Part(text) => {
                self.log(What::Wrote(text.clone()))?;
                self.write(text.as_bytes())?;
            }
            Step::Cancel => {
                let Some(session) = self.sessions.first() else { return Ok(Some("it has no session".to_owned())) };
                let params = params(session);
                self.send(Message::Notification { method: "session/cancel".to_owned(), params })?;
                self.log(What::Cancelled)?;
                self.is_cancelled = true;
                let leaves_open = matches!(self.how(PERMISSION), Some(How::Never));
                let is_open = |asked: &&Asked| asked.method == PERMISSION && !leaves_open;
                let open: Vec<Value> = self.asked.iter().filter(is_open).map(|asked| asked.id.clone()).collect();
                for id in open {
                    self.answer(&id, Answer::Result(protocol::cancelled()))?;
                }
            }
            Step::CancelUnknown => {
                let params = params("rehang-no-session");
                self.send(Message::Notification { method: "session/cancel".to_owned(), params })?;
            }
            Step::Sleep(ms) | Step::Turn(ms) => self.deadline = Some(Instant::now() + Duration::from_millis(*ms)),
            Step::Open(_) => self.deadline = Some(Instant::now() + Duration::from_millis(SECOND_MS)),
            Step::Close | Step::Vanish => {
                // what is written before the end is to be read before it
                while !self.out.is_empty() && self.reads && !self.has_ended && !self.is_too_much() {
                    self.turn()?;
                }
                let stdout = self.stdout.as_ref().filter(|_| !self.reads);
                if stdout.is_some_and(|stdout| rustix::io::ioctl_fionread(stdout).is_ok_and(|bytes| bytes > 0)) {
                    self.log(What::Unread)?;
                }
                self.stdin = None;
                self.out.clear();
                self.log(What::Closed)?;
                if *step == Step::Vanish {
                    (self.stdout, self.stderr) = (None, None);
                }
            }
            Step::StopReading => {
                self.reads = false;
                self.log(What::StopsReading)?;
            }
            Step::Read => {
                self.reads = true;
                self.log(What::Reads)?;
            }
            Step::Replies | Step::Written | Step::Update | Step::Tool | Step::Request(_) | Step::End => {}
        }
        Ok(None)
    }

    fn is_over(&self, step: &Step) -> bool {
        match step {
            Step::Replies => self.open.is_empty() && self.later.is_empty(),
            Step::Written => self.out.is_empty(),
            Step::Update => self.has_update,
            Step::Tool => self.has_tool,
            Step::Request(method) => self.counts.contains_key(method),
            Step::Open(count) => self.answered_newest_first() >= *count,
            Step::Sleep(_) | Step::Turn(_) => self.deadline.is_some_and(|deadline| deadline <= Instant::now()),
            Step::End => self.has_ended,
            _ => true,
        }
    }

    /// Why what a step waits for can no longer come.
    fn missed(&self, step: &Step) -> Option<String> {
        let is_over = self.open.is_empty();
        match step {
            Step::Update if is_over => Some("the turn was over before an update".to_owned()),
            Step::Turn(_) if is_over => Some("the turn was over first".to_owned()),
            Step::Tool if is_over => Some("the turn was over before a tool ran".to_owned()),
            Step::Request(method) if is_over => Some(format!("the turn was over before {method}")),
            Step::Open(_) if is_over || self.deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                Some("its two sessions never asked at once".to_owned())
            }
            _ => None,
        }
    }

    /// How many requests were open at once when they were answered newest first.
    fn answered_newest_first(&self) -> usize {
        let of_fault = self.job.plan.answers.as_ref().filter(|(_, how)| *how == How::NewestFirst);
        let Some((method, _)) = of_fault else { return 0 };
        let is_open = self.asked.iter().any(|asked| asked.method == *method);
        if is_open { 0 } else { self.counts.get(method).copied().unwrap_or(0) }
    }

    fn ask(&mut self, ask: &Ask, expect: Expect) -> io::Result<Option<String>> {
        let (text, folder) = (self.job.prompt.as_str(), self.job.folder.to_string_lossy().into_owned());
        let prompt =
            |session: &str, text: &str| json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        let session = |client: &Self, at: usize| client.sessions.get(at).cloned();
        let no_session = || Ok(Some("it has no session".to_owned()));
        let new = json!({ "cwd": folder, "mcpServers": [] });
        match ask {
            Ask::Initialize(version) => self.request(
                "initialize",
                json!({
                    "protocolVersion": version,
                    "clientCapabilities": { "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true },
                    "clientInfo": { "name": "rehang", "title": "rehang", "version": env!("CARGO_PKG_VERSION") },
                }),
                expect,
            )?,
            Ask::Authenticate(method) => self.request("authenticate", json!({ "methodId": method }), expect)?,
            Ask::NewSession => self.request("session/new", new, expect)?,
            Ask::NewSessionByText => {
                self.request_as(json!("rehang-1"), "session/new", new, expect)?;
            }
            Ask::NewSessionOfNothing => self.request("session/new", json!({}), expect)?,
            Ask::SetMode(mode) => {
                let Some(id) = session(self, 0) else { return no_session() };
                self.request("session/set_mode", json!({ "sessionId": id, "modeId": mode }), expect)?;
            }
            Ask::Load | Ask::LoadUnknown => {
                let unknown = (*ask == Ask::LoadUnknown).then(|| "rehang-no-session".to_owned());
                let Some(id) = unknown.or_else(|| session(self, 0)) else { return no_session() };
                let params = json!({ "sessionId": id, "cwd": folder, "mcpServers": [] });
                self.request("session/load", params, expect)?;
            }
            Ask::Prompt(at) => {
                let Some(id) = session(self, *at) else { return no_session() };
                self.first_prompt.get_or_insert_with(|| self.next_id.to_string());
                (self.has_update, self.has_tool, self.is_cancelled) = (false, false, false);
                self.request("session/prompt", prompt(&id, text), expect)?;
            }
            Ask::PromptUnknown => self.request("session/prompt", prompt("rehang-no-session", text), expect)?,
            Ask::LongPrompt => {
                let Some(id) = session(self, 0) else { return no_session() };
                let long = format!("{text}\n{}", "filler ".repeat(LONG / 7));
                self.request("session/prompt", prompt(&id, &long), expect)?;
            }
            Ask::SplitPrompt => {
                let Some(id) = session(self, 0) else { return no_session() };
                let params = prompt(&id, &format!("{text} (é)"));
                let message = self.noted(json!(self.next_id), "session/prompt", params, expect)?;
                self.next_id += 1;
                let line = message.line();
                let at = line.iter().rposition(|byte| !byte.is_ascii()).unwrap_or(0);
                self.write(&line[..at])?;
                self.later.push((Instant::now() + Duration::from_millis(SPLIT_MS), line[at..].to_vec(), None));
            }
            Ask::Unknown => self.request(UNKNOWN, json!({}), expect)?,
        }
        Ok(None)
    }

    fn request(&mut self, method: &str, params: Value, expect: Expect) -> io::Result<()> {
        self.next_id += 1;
        self.request_as(json!(self.next_id - 1), method, params, expect)
    }

    fn request_as(&mut self, id: Value, method: &str, params: Value, expect: Expect) -> io::Result<()> {
        let message = self.noted(id, method, params, expect)?;
        self.write(&message.line())
    }

    /// A request that is owed a reply from now on.
    fn noted(&mut self, id: Value, method: &str, params: Value, expect: Expect) -> io::Result<Message> {
        self.open.insert(id.to_string(), method.to_owned());
        let message = Message::Request { id, method: method.to_owned(), params };
        self.log(What::Asked(message.clone().cut(), expect))?;
        Ok(message)
    }

    fn send(&mut self, message: Message) -> io::Result<()> {
        let line = message.line();
        self.log(What::Sent(message.cut()))?;
        self.write(&line)
    }

    /// Puts bytes into the queue, and as much of that into the pipe as fits.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.stdin.is_some() {
            self.out.extend(bytes);
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while let Some(stdin) = self.stdin.as_mut().filter(|_| !self.out.is_empty()) {
            match stdin.write(self.out.as_slices().0) {
                Ok(count) => drop(self.out.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // the agent closed its stdin, or has ended
                Err(_) => {
                    self.stdin = None;
                    self.out.clear();
                }
            }
        }
        Ok(())
    }

    /// Waits for one thing to happen, and handles it.
    fn turn(&mut self) -> io::Result<()> {
        let next = self.later.iter().map(|(at, ..)| *at).chain(self.deadline).min();
        let rest = next.map(|at| at.saturating_duration_since(Instant::now()));
        let time =
            rest.map(|rest| Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: i64::from(rest.subsec_nanos()) });
        let stdin = self.stdin.as_ref().filter(|_| !self.out.is_empty());
        let stdout = self.stdout.as_ref().filter(|_| self.reads);
        let mut polled = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
        polled.extend(stdin.map(|stream| PollFd::new(stream, PollFlags::OUT)));
        polled.extend(stdout.map(|stream| PollFd::new(stream, PollFlags::IN)));
        polled.extend(self.stderr.as_ref().map(|stream| PollFd::new(stream, PollFlags::IN)));
        match poll(&mut polled, time.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_ended = !polled[0].revents().is_empty();
        let mut ready = polled[1..].iter().map(|fd| !fd.revents().is_empty());
        let _ = stdin.is_some() && ready.next().unwrap_or(false);
        let can_read = stdout.is_some() && ready.next().unwrap_or(false);
        let has_said = self.stderr.is_some() && ready.next().unwrap_or(false);
        drop(polled);
        if has_said {
            self.hear_stderr();
        }
        if can_read {
            self.read()?;
        }
        self.flush()?;
        let now = Instant::now();
        while let Some(at) = self.later.iter().position(|(at, ..)| *at <= now) {
            let (_, bytes, message) = self.later.remove(at);
            if let Some(message) = message {
                self.log(What::Sent(message.cut()))?;
            }
            self.write(&bytes)?;
        }
        if has_ended && !self.has_ended {
            // what it wrote before its end
            while self.reads && self.stdout.is_some() && !self.is_too_much() && self.read()? {}
            self.has_ended = true;
            let status = self.child.wait()?;
            let code = status.code().unwrap_or_else(|| -status.signal().unwrap_or(0));
            self.log(What::Ended { code, said: String::from_utf8_lossy(&self.said).into_owned() })?;
        }
        Ok(())
    }

    /// Reads what there is of the agent's stdout; `false` if there was nothing.
    fn read(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 65_536];
        let Some(stdout) = &mut self.stdout else { return Ok(false) };
        let count = match stdout.read(&mut bytes) {
            Ok(0) => {
                self.stdout = None;
                return Ok(false);
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        };
        for part in bytes[..count].split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.ends_with(b"\n") || self.line.len() > LINE_MAX {
                let line = std::mem::take(&mut self.line);
                self.hear(line.trim_ascii())?;
            }
        }
        Ok(true)
    }

    fn hear_stderr(&mut self) {
        let mut bytes = [0; 65_536];
        match self.stderr.as_mut().map(|stderr| stderr.read(&mut bytes)) {
            Some(Ok(count @ 1..)) => {
                self.said.extend_from_slice(&bytes[..count]);
                let excess = self.said.len().saturating_sub(STDERR_BYTES);
                self.said.drain(..excess);
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => self.stderr = None,
        }
    }

    fn hear(&mut self, line: &[u8]) -> io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        let message = Message::read(line);
        let mut request = None;
        match &message {
            Message::Reply { id, answer } => {
                let id = id.to_string();
                let method = self.open.remove(&id);
                self.is_first_over |= self.first_prompt.as_ref() == Some(&id);
                if let (Some("session/new"), Answer::Result(result)) = (method.as_deref(), answer)
                    && let Some(session) = result["sessionId"].as_str()
                {
                    self.sessions.push(session.to_owned());
                }
            }
            Message::Notification { method, params } if method == "session/update" => {
                let update = &params["update"];
                let is_tool = matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update"));
                self.has_update = true;
                self.has_tool |= is_tool && update["status"] == "in_progress";
            }
            Message::Request { id, method, params } => {
                // what is kept of it beside its record
                self.record.set(self.record.get() + line.len());
                request = Some((id.clone(), method.clone(), protocol::needed(method, params)));
            }
            Message::Notification { .. } | Message::Other(_) => {}
        }
        self.log(What::Heard(message.cut()))?;
        let Some((id, method, params)) = request else { return Ok(()) };
        *self.counts.entry(method.clone()).or_default() += 1;
        self.asked.push(Asked { id: id.clone(), method: method.clone(), params: params.clone() });
        self.requested(&id, &method, &params)
    }

    /// How the fault treats requests of this method now.
    fn how(&self, method: &str) -> Option<How> {
        let (of, how) = self.job.plan.answers.as_ref()?;
        (of == method && !self.is_first_over).then_some(*how)
    }

    fn requested(&mut self, id: &Value, method: &str, params: &Value) -> io::Result<()> {
        let runs = self.how(WAIT_FOR_EXIT) == Some(How::RunsUntilKilled);
        let Some(mut good) = protocol::good_reply(method, params) else {
            return self.answer(id, Answer::no_method(method));
        };
        match self.how(method) {
            Some(How::Never | How::RunsUntilKilled) => return Ok(()),
            Some(_) | None if method == PERMISSION && self.is_cancelled => good = protocol::cancelled(),
            Some(How::Hold) => return Ok(()),
            None => {}
            Some(How::Late(ms)) => {
                let message = Message::reply(id.clone(), Answer::Result(good));
                self.close(id);
                self.later.push((Instant::now() + Duration::from_millis(ms), message.line(), Some(message)));
                return Ok(());
            }
            Some(How::Twice) => self.answer(id, Answer::Result(good.clone()))?,
            Some(How::Error) => {
                let message = "the client cannot do that now".to_owned();
                return self.answer(id, Answer::Error { code: -32_603, message });
            }
            Some(How::WrongShape) => good = json!({ "unexpected": true }),
            Some(How::Reject) => good = protocol::selected(params, &["reject_once", "reject_always"]),
            Some(How::Cancelled) => good = protocol::cancelled(),
            Some(How::NotOffered) => {
                good = json!({ "outcome": { "outcome": "selected", "optionId": "rehang-not-offered" } });
            }
            Some(How::NewestFirst) => return self.answer_newest_first(method),
        }
        if runs && method == "terminal/output" {
            good["exitStatus"] = Value::Null;
        }
        self.answer(id, Answer::Result(good))?;
        if runs && matches!(method, "terminal/kill" | "terminal/release") {
            let is_waiting = |asked: &&Asked| asked.method == WAIT_FOR_EXIT;
            let waiting: Vec<Value> = self.asked.iter().filter(is_waiting).map(|asked| asked.id.clone()).collect();
            for id in waiting {
                self.answer(&id, Answer::Result(json!({ "exitCode": null, "signal": "SIGTERM" })))?;
            }
        }
        Ok(())
    }

    fn answer_newest_first(&mut self, method: &str) -> io::Result<()> {
        let open = self.asked.iter().filter(|asked| asked.method == method);
        let open: Vec<(Value, Value)> = open.map(|asked| (asked.id.clone(), asked.params.clone())).collect();
        if open.len() < 2 {
            return Ok(());
        }
        for (id, params) in open.into_iter().rev() {
            let good = protocol::good_reply(method, &params).unwrap_or_default();
            self.answer(&id, Answer::Result(good))?;
        }
        Ok(())
    }

    fn answer(&mut self, id: &Value, answer: Answer) -> io::Result<()> {
        self.close(id);
        self.send(Message::reply(id.clone(), answer))
    }

    fn close(&mut self, id: &Value) {
        if let Some(at) = self.asked.iter().position(|asked| asked.id == *id) {
            self.asked.remove(at);
        }
    }
}
