//! `app-server`: the agent of an editor or a runner, which speaks JSON, line by line, over stdin and stdout.
//!
//! Each thread is the turn engine of `exec` with another voice ([`Voice`]); what comes from the client is in `requests`,
//! what it decides in `asks` of the folder above. Recorded of 0.45.0, 0.58.0, 0.116.0 and 0.169.0
//! (tests/golden/codex-app-server-VERSION); the older two tell raw events (`voice/raw`). Invariants: a request is answered at
//! most once; nothing here has a time limit of its own, so an ask that the client never answers is waited for without end.
//!
//! Not played: sessions kept in files, what a folder's configuration says, `turn/steer`, reviews, `model/list`, asks for
//! permissions (`request_permissions`), and the log on stderr.

mod checks;
mod requests;
mod threads;

use super::program::{Fake, Phase, Start};
use super::release::{Protocol, Release};
use super::voice::{Said, Voice, shapes};
use crate::outgoing::Outgoing;
use rehang_os::os::{Disposition, Next, Os, Program, Read, STDIN, STDOUT, Sig, Target, Wait};
use rehang_scenario::{Canon, VTime, canon};
use rehang_wire::claude::Lines;
use serde_json::{Value, json};
use std::hash::{Hash, Hasher};

/// The program `app-server`.
pub(super) struct AppServer {
    start: Start,
    begun: bool,
    lines: Lines,
    out: Outgoing,
    /// The client's name, once it has said it.
    client: Option<String>,
    /// Whether it knows what is experimental.
    experimental: bool,
    threads: Vec<Thread>,
    asks: Vec<Ask>,
    /// The interrupts of what was read last.
    interrupts: Vec<Interrupt>,
    asked: u64,
    /// The code that it exits with, once what it has to say is out.
    leaving: Option<u8>,
}

/// What the client was asked and has not answered.
#[derive(Debug)]
struct Ask {
    /// The request's id.
    id: u64,
    /// The thread's index.
    thread: usize,
    call: String,
    method: &'static str,
    params: Value,
}

/// A request to interrupt a turn.
#[derive(Debug, Clone)]
struct Interrupt {
    /// The thread's index.
    thread: usize,
    /// The request's id.
    id: Value,
    /// The result that it gets.
    result: Value,
}

impl Hash for Ask {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Ask { id, thread, call, method, params } = self;
        (id, thread, call, method).hash(hasher);
        canon::json(params, hasher);
    }
}

/// A thread as the client knows it.
struct Thread {
    fake: Fake,
    name: Option<String>,
    preview: String,
    /// The instants of its beginning and its last turn, in seconds since 1970.
    at: (u64, u64),
    cwd: String,
    path: String,
    /// Whether the client has named its sandbox.
    chosen: bool,
    /// The prompt of a turn that is answered and has not begun, and when it does.
    beginning: Option<(VTime, String)>,
    /// Whether it is loaded, and not archived.
    loaded: bool,
    archived: bool,
}

impl Thread {
    fn busy(&self) -> bool {
        self.beginning.is_some() || self.runs()
    }

    /// Whether a turn has begun and is not over.
    fn runs(&self) -> bool {
        !matches!(self.fake.phase, Phase::New | Phase::Leaving(_))
    }

    /// Its turn begins.
    fn begin(&mut self, os: &mut dyn Os, prompt: &str) {
        self.voice().turn_begins(prompt);
        self.fake.prompted(os, prompt);
    }

    fn voice(&mut self) -> &mut Voice {
        self.fake.writer.voice.as_mut().expect("a thread has a voice")
    }
}

impl AppServer {
    /// A server that no client has spoken to.
    pub fn new(start: Start) -> AppServer {
        AppServer {
            start,
            begun: false,
            lines: Lines::default(),
            out: Outgoing::default(),
            client: None,
            experimental: false,
            threads: Vec::new(),
            asks: Vec::new(),
            interrupts: Vec::new(),
            asked: 0,
            leaving: None,
        }
    }

    fn release(&self) -> &'static Release {
        self.start.release
    }

    /// SIGTERM is caught by 0.169.0, which leaves with 0; else a signal ends it at once. Commands that are waited for are then
    /// sent SIGTERM by the kernel, as in `exec`; others go on.
    fn begin(&mut self, os: &mut dyn Os) {
        self.begun = true;
        let caught: &[Sig] = match self.release().server {
            Protocol::Conversations | Protocol::Both => &[Sig::Term, Sig::Int, Sig::Hup],
            Protocol::Threads => &[],
            Protocol::Timed => &[Sig::Term],
        };
        caught.iter().for_each(|sig| os.on_signal(*sig, Disposition::Catch));
    }

    fn ended_by(&mut self, os: &mut dyn Os, sig: Sig) {
        if self.release().server == Protocol::Timed {
            return self.leave(os);
        }
        for thread in &mut self.threads {
            thread.fake.end_commands(os, Sig::Term);
        }
        self.leaving = Some(128 + sig.number());
        os.on_signal(sig, Disposition::Default);
        let _ = os.kill(Target::Itself, sig);
    }

    /// Reads what the client has written; returns whether there was anything.
    fn read(&mut self, os: &mut dyn Os) -> bool {
        match os.read(STDIN, crate::piped::READ_BYTES) {
            Read::Data(bytes) => {
                self.lines.push(&bytes);
                while let Some(line) = self.lines.next_line() {
                    self.hear(os, line.trim());
                }
                self.interrupt_all(os);
                true
            }
            Read::Later => false,
            Read::Eof | Read::Failed(_) => {
                self.leave(os);
                true
            }
        }
    }

    /// It leaves: its commands are ended with it, and nothing more is said.
    fn leave(&mut self, os: &mut dyn Os) {
        for thread in &mut self.threads {
            thread.fake.end_commands(os, Sig::Kill);
        }
        self.leaving = Some(0);
    }

    /// A line of the client. What is no message is logged, and nothing else becomes of it.
    fn hear(&mut self, os: &mut dyn Os, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => {
                if let Some(answer) = self.request(os, method, message.get("params"), id) {
                    self.answer(id, answer);
                }
                self.drain();
            }
            (None, Some(id)) => self.decided(os, id, &message),
            (_, None) => {}
        }
    }

    /// The client has answered an ask.
    fn decided(&mut self, os: &mut dyn Os, id: &Value, message: &Value) {
        let Some(at) = self.asks.iter().position(|ask| id.as_u64() == Some(ask.id)) else { return };
        let ask = self.asks.remove(at);
        self.resolved(&ask);
        let thread = &mut self.threads[ask.thread];
        thread.voice().now = now(os);
        thread.fake.decided(os, &ask.call, message);
        self.drain();
    }

    /// An ask is over; that a call of the client's own tool is, its item says.
    fn resolved(&mut self, ask: &Ask) {
        if self.release().server < Protocol::Threads || ask.method == shapes::CLIENT_CALL {
            return;
        }
        let params = json!({"threadId": self.threads[ask.thread].voice().thread_id(), "requestId": ask.id});
        self.threads[ask.thread].voice().said.push(Said::Notice("serverRequest/resolved", params));
    }

    fn answer(&mut self, id: &Value, answer: Result<Value, String>) {
        let message = match answer {
            Ok(result) => json!({"id": id, "result": result}),
            Err(message) => json!({"error": {"code": INVALID, "message": message}, "id": id}),
        };
        self.write(&message);
    }

    fn notify(&mut self, method: &str, params: &Value, at: u64) {
        let mut message = json!({"method": method, "params": params});
        if self.release().server == Protocol::Timed {
            message["emittedAtMs"] = json!(at);
        }
        self.write(&message);
    }

    fn ask(&mut self, ask: &Ask) {
        self.write(&json!({"method": ask.method, "id": ask.id, "params": ask.params}));
    }

    fn write(&mut self, message: &Value) {
        self.out.push(&format!("{message}\n"));
    }

    /// Writes what the threads have to say.
    fn drain(&mut self) {
        for at in 0..self.threads.len() {
            let voice = self.threads[at].voice();
            let (instant, listens) = (voice.now, voice.listens);
            for said in std::mem::take(&mut voice.said) {
                match said {
                    Said::Notice(..) | Said::Event(..) if !listens => {}
                    Said::Event(method, params) => self.notify(&method, &params, instant),
                    Said::Notice(method, params) => self.notify(method, &params, instant),
                    Said::Ask { call, method, params } => {
                        let ask = Ask { id: self.asked, thread: at, call, method, params };
                        self.asked += 1;
                        self.ask(&ask);
                        self.asks.push(ask);
                    }
                }
            }
        }
    }

    fn step(&mut self, os: &mut dyn Os) -> bool {
        if let Some(sig) = os.take_signal() {
            self.ended_by(os, sig);
            return true;
        }
        if self.read(os) {
            return true;
        }
        let mut acted = false;
        for thread in &mut self.threads {
            thread.voice().now = now(os);
            if let Some((_, prompt)) = thread.beginning.take_if(|(at, _)| *at <= os.now()) {
                thread.begin(os, &prompt);
                acted = true;
            }
            acted |= thread.fake.goes_on(os);
        }
        self.drain();
        self.resolve_all();
        acted
    }

    /// What is still asked of a thread whose turn is over, is over too.
    fn resolve_all(&mut self) {
        let is_over = |ask: &mut Ask| !self.threads[ask.thread].busy();
        let over: Vec<Ask> = self.asks.extract_if(.., is_over).collect();
        over.iter().for_each(|ask| self.resolved(ask));
        self.drain();
    }

    fn wait(&self) -> Wait {
        let idle = if self.out.is_empty() { "client" } else { "stdout" };
        let mut wait = Wait { on: idle, ..Wait::default() };
        for thread in &self.threads {
            let of = thread.fake.wait();
            if thread.busy() {
                wait.on = of.on;
            }
            let begins = thread.beginning.as_ref().map(|(at, _)| *at);
            wait.until = wait.until.into_iter().chain(begins).min();
            wait.read.extend(of.read);
            wait.write.extend(of.write);
            wait.child |= of.child;
            wait.until = wait.until.into_iter().chain(of.until).min();
        }
        wait.read.push(STDIN);
        if !self.out.is_empty() {
            wait.write.push(STDOUT);
        }
        wait
    }
}

/// The code of every error that is answered.
const INVALID: i32 = -32_600;

/// The wall clock, in milliseconds since 1970.
fn now(os: &dyn Os) -> u64 {
    os.epoch_ms().saturating_add(os.now().0)
}

impl Program for AppServer {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if !self.begun {
            self.begin(os);
        }
        while self.leaving.is_none() && self.step(os) {}
        // a client that reads no more is waited for, but not after its end
        let out = self.out.flush(os, STDOUT);
        match self.leaving {
            Some(code) if out || self.out.broken => Next::Exit(code),
            Some(_) => Next::Wait(Wait { write: vec![STDOUT], on: "stdout", ..Wait::default() }),
            None => Next::Wait(self.wait()),
        }
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            start: _, // not compared: it never changes
            begun,
            lines,
            out,
            client,
            experimental: _, // not compared: the client says so once
            threads,
            asks,
            interrupts: _, // not compared: there are none between resumes
            asked,
            leaving,
        } = self;
        canon.flag(*begun).bytes(lines.held()).flag(client.is_some()).num(*asked);
        out.canon(canon);
        canon.list(threads, |canon, thread| {
            let Thread {
                fake,
                name,
                preview: _, // not compared: it is only told
                at: _,      // not compared: it is only told
                cwd: _,     // not compared: it never changes
                path: _,    // not compared: it never changes
                chosen: _,  // not compared: it never changes
                beginning,
                loaded,
                archived,
            } = thread;
            fake.canon(canon);
            canon.deadline(beginning.as_ref().map(|(at, _)| *at));
            canon.text(name.as_deref().unwrap_or_default()).flag(*loaded).flag(*archived);
        });
        canon.value(asks).num(leaving.map_or(0, |code| 1 + u64::from(code)));
    }
}
