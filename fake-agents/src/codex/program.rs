//! `fake-codex` as a process: its streams and signals around its turn.
//!
//! Invariants: what it says is written in order, and nothing else happens while a stream takes nothing more; a wake-up
//! without cause changes nothing.

use super::args::Args;
use super::asks::Client;
use super::models::{Came, Model};
use super::release::{Release, Shell};
use super::rollout::{Rollout, Wanted};
use super::shell::Running;
use super::turn::{Call, Spoken};
use super::writer::Writer;
use rehang_os::os::{Disposition, FdKind, Next, Os, Program, Read, STDERR, STDIN, STDOUT, Sig, Target, Wait};
use rehang_scenario::{
    Canon, Fault, ToolDoes, VTime,
    turns::{Response, Turn, responses},
};
use rehang_trace::Fact;
use rehang_wire::model::Message;

/// The most bytes of stdin that become a prompt. The limit is ours; the real one is limited only by memory.
const PROMPT_MAX_BYTES: usize = 1 << 20;

/// What a `fake-codex` is started with.
pub(super) struct Start {
    pub args: Args,
    pub release: &'static Release,
    pub turns: Vec<Turn>,
    pub faults: Vec<Fault>,
    pub model_port: Option<u16>,
}

/// The state of the process.
pub(super) struct Fake {
    pub(super) args: Args,
    pub(super) release: &'static Release,
    pub(super) phase: Phase,
    pub(super) model: Model,
    pub(super) writer: Writer,
    /// The file of its session, if that is kept.
    rollout: Option<Rollout>,
    pub(super) script: Vec<Response>,
    pub(super) tool_faults: Vec<(u32, ToolDoes)>,
    /// The scripted response, from 0, that the model repeats for ever.
    pub(super) repeats: Option<usize>,
    /// The index of the response that is being given, or comes next, from 0.
    pub(super) nth: usize,
    /// What the last tool call told the model.
    pub(super) answer: String,
    pub(super) messages: Vec<Message>,
    pub(super) spoken: Spoken,
    /// How often the request for this stream was tried again, and how often the stream itself.
    pub(super) tries: (u32, u32),
    pub(super) counted: Counted,
    /// The calls of the response, until all have ended.
    pub(super) calls: Vec<Call>,
    /// The commands that run, with their items.
    pub(super) running: Vec<(Running, String)>,
    /// Commands that run on in the background, with their items.
    pub(super) terminals: Vec<(Running, String)>,
    /// Whether a tool's result was lost.
    pub(super) lost: bool,
    /// What only a client of `app-server` brings.
    pub(super) client: Client,
    piped: Vec<u8>,
}

/// Counters that give ids.
#[derive(Debug, Clone, Copy, Hash, Default)]
pub(super) struct Counted {
    pub calls: u32,
    pub tools: u32,
    pub asked: u32,
    pub chunks: u32,
}

/// What the process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not run yet.
    New,
    /// It reads what is piped in, to its end.
    Stdin,
    /// It waits for the model.
    Model,
    /// It waits for the end of a pause before it asks again.
    Backoff(VTime),
    /// It waits for its tools.
    Tools,
    /// It waits for something that never comes; in one word.
    Stuck(&'static str),
    /// It writes what is left and exits.
    Leaving(u8),
}

impl Fake {
    pub fn new(start: Start) -> Fake {
        let Start { args, release, turns, faults, model_port } = start;
        let tool = |fault: &Fault| match fault {
            Fault::Tool(tool) => Some((tool.nth, tool.does)),
            _ => None,
        };
        Fake {
            release,
            phase: Phase::New,
            model: Model::new(&faults, model_port, args.idle),
            writer: Writer::new(release, args.json),
            rollout: None,
            script: responses(&turns),
            tool_faults: faults.iter().filter_map(tool).collect(),
            repeats: rehang_wire::model::script::repeats(&faults),
            nth: 0,
            answer: String::new(),
            messages: Vec::new(),
            spoken: Spoken::default(),
            tries: (0, 0),
            counted: Counted::default(),
            calls: Vec::new(),
            running: Vec::new(),
            terminals: Vec::new(),
            lost: false,
            client: Client::default(),
            piped: Vec::new(),
            args,
        }
    }

    fn begin(&mut self, os: &mut dyn Os) {
        for sig in [Sig::Int, Sig::Hup, Sig::Term] {
            os.on_signal(sig, Disposition::Catch);
        }
        let tty = os.kind(STDIN) == FdKind::Tty;
        match &self.args.prompt {
            Some(_) if tty || self.args.resumes || !self.release.reads_stdin_beside_prompt => self.start(os),
            Some(_) => {
                self.writer.reads_stdin();
                self.phase = Phase::Stdin;
            }
            None if tty => {
                let why = "No prompt provided. Either specify one as an argument or pipe the prompt into stdin.";
                self.leave_with(os, why);
            }
            None => {
                self.writer.say("Reading prompt from stdin...");
                self.phase = Phase::Stdin;
            }
        }
    }

    /// Begins the turn with the prompt of the command line and what was piped in.
    fn start(&mut self, os: &mut dyn Os) {
        let piped = String::from_utf8_lossy(&std::mem::take(&mut self.piped)).into_owned();
        let blank = piped.trim().is_empty();
        let prompt = match &self.args.prompt {
            Some(prompt) if blank => prompt.clone(),
            Some(prompt) => {
                let end = if piped.ends_with('\n') { "" } else { "\n" };
                format!("{prompt}\n\n<stdin>\n{piped}{end}</stdin>")
            }
            None if blank => return self.leave_with(os, "No prompt provided via stdin."),
            None => piped,
        };
        if !self.finds_session(os)
            && let Some(session) = self.args.session.clone().filter(|_| self.release.misses_session)
        {
            let why = format!("no rollout found for thread id {session} (code -32600)");
            return self.leave_with(os, &format!("Error: thread/resume: thread/resume failed: {why}"));
        }
        self.writer.started(os.cwd(), self.args.sandbox, &prompt);
        self.keep(os, |rollout, os| rollout.turn_begins(os, &prompt));
        self.messages.push(Message::text("user", &prompt));
        os.note(Fact::Session { id: super::turn::SESSION.to_owned(), parent: String::new() });
        os.note(Fact::Busy { session: super::turn::SESSION.to_owned(), busy: true });
        self.ask(os);
    }

    /// Opens what keeps its session, and takes an earlier one over; returns whether the one that is wanted was there.
    fn finds_session(&mut self, os: &mut dyn Os) -> bool {
        let wanted = match &self.args.session {
            Some(id) => Wanted::Named(id),
            None if self.args.last => Wanted::Last,
            None => Wanted::New,
        };
        let Some((rollout, earlier)) = Rollout::open(os, self.release, self.args.sandbox, &wanted) else {
            return false;
        };
        self.writer.goes_on(rollout.thread(), rollout.charged());
        self.rollout = Some(rollout);
        let Some(earlier) = earlier else { return false };
        self.messages = earlier.messages;
        self.nth = earlier.responses;
        self.answer = earlier.answer;
        true
    }

    /// Keeps something of the session, if that is kept.
    pub(super) fn keep(&mut self, os: &mut dyn Os, what: impl FnOnce(&mut Rollout, &mut dyn Os)) {
        if let Some(rollout) = &mut self.rollout {
            what(rollout, os);
        }
    }

    fn leave_with(&mut self, os: &mut dyn Os, why: &str) {
        self.writer.say(why);
        os.note(Fact::Result { ok: false, text: why.to_owned() });
        self.phase = Phase::Leaving(1);
    }

    /// Does one thing that can be done now; returns whether there was one.
    fn step(&mut self, os: &mut dyn Os) -> bool {
        if let Some(sig) = os.take_signal() {
            self.ended_by(os, sig);
            return true;
        }
        match self.phase {
            Phase::New | Phase::Leaving(_) => false,
            Phase::Stdin => self.read(os),
            Phase::Model | Phase::Backoff(_) | Phase::Tools | Phase::Stuck(_) => self.acts(os),
        }
    }

    fn acts(&mut self, os: &mut dyn Os) -> bool {
        match self.phase {
            Phase::Backoff(until) if until <= os.now() => {
                self.ask(os);
                true
            }
            _ => self.turn(os),
        }
    }

    /// What its commands have printed goes to the client.
    fn show(&mut self, os: &mut dyn Os) {
        let Some(voice) = &mut self.writer.voice else { return };
        for (run, item) in &mut self.running {
            if let Some(text) = run.fresh(os, voice.shows_after()) {
                voice.command_prints(item, &text);
            }
        }
    }

    /// Does one thing of a turn that can be done now; returns whether there was one. Between turns its commands end without
    /// a word.
    pub(super) fn goes_on(&mut self, os: &mut dyn Os) -> bool {
        match self.phase {
            Phase::Leaving(_) => {
                let ended = self
                    .terminals
                    .iter_mut()
                    .position(|(run, _)| run.poll(os).is_some_and(|report| report.code.is_some()));
                ended.map(|at| drop(self.terminals.remove(at))).is_some()
            }
            Phase::New | Phase::Stdin => false,
            Phase::Model | Phase::Backoff(_) | Phase::Tools | Phase::Stuck(_) => self.acts(os),
        }
    }

    /// Ends every command.
    pub(super) fn end_commands(&mut self, os: &mut dyn Os, sig: Sig) {
        for (run, _) in self.terminals.drain(..).chain(self.running.drain(..)) {
            run.kill(os, sig);
        }
    }

    fn turn(&mut self, os: &mut dyn Os) -> bool {
        self.show(os);
        if self.gives_up(os) {
            return true;
        }
        let ended = self.terminals.iter_mut().enumerate().find_map(|(at, (run, _))| Some((at, run.poll(os)?)));
        if let Some((at, report)) = ended {
            let (run, item) = self.terminals.remove(at);
            self.writer.command_ends(&item, &run.command, &report);
            return true;
        }
        let reported = self.running.iter_mut().enumerate().find_map(|(at, (run, _))| Some((at, run.poll(os)?)));
        if let Some((at, report)) = reported {
            self.command_reported(os, at, &report);
            return true;
        }
        match self.model.poll(os) {
            Some(Came::Items(items)) => {
                for item in items {
                    if !self.take(os, item) {
                        break;
                    }
                }
                true
            }
            Some(Came::Silence) => {
                self.silent(os);
                true
            }
            None => false,
        }
    }

    fn read(&mut self, os: &mut dyn Os) -> bool {
        match os.read(STDIN, 65_536) {
            Read::Later => false,
            Read::Data(bytes) => {
                let room = PROMPT_MAX_BYTES.saturating_sub(self.piped.len());
                self.piped.extend_from_slice(&bytes[..bytes.len().min(room)]);
                true
            }
            Read::Eof | Read::Failed(_) => {
                self.start(os);
                true
            }
        }
    }

    /// SIGINT interrupts the turn: its commands are ended, nothing more is said, and it leaves. Else it ends as by a signal
    /// that it does not catch. A `shell`'s commands are sent SIGTERM by the kernel then
    /// (`PR_SET_PDEATHSIG` in `codex-rs/core/src/spawn.rs`); a SIGKILL cannot be played so. Those of `exec_command` go on.
    fn ended_by(&mut self, os: &mut dyn Os, sig: Sig) {
        let commands: Vec<_> = self.terminals.drain(..).chain(self.running.drain(..)).collect();
        if sig == Sig::Int {
            let told = self.aborted(os, &commands);
            self.keep(os, |rollout, os| rollout.turn_is_aborted(os, &told));
            commands.into_iter().for_each(|(run, _)| drop(run.kill(os, Sig::Kill)));
            self.phase = Phase::Leaving(self.release.exit_interrupted);
            return;
        }
        for (run, _) in commands.into_iter().filter(|_| self.release.shell != Shell::Yields) {
            run.kill(os, Sig::Term);
        }
        self.phase = Phase::Leaving(128 + sig.number());
        os.on_signal(sig, Disposition::Default);
        let _ = os.kill(Target::Itself, sig);
    }

    pub(super) fn wait(&self) -> Wait {
        let mut wait = Wait { on: self.waits_on(), ..Wait::default() };
        match self.phase {
            Phase::Stdin => wait.read.push(STDIN),
            Phase::Backoff(until) => wait.until = Some(until),
            _ => {}
        }
        self.model.wait(&mut wait);
        wait.until = wait.until.into_iter().chain(self.client.asking.iter().filter_map(|asking| asking.until)).min();
        for (run, _) in self.terminals.iter().chain(&self.running) {
            run.wait(&mut wait);
        }
        wait
    }

    pub(super) fn waits_on(&self) -> &'static str {
        match self.phase {
            Phase::Tools if !self.client.asking.is_empty() => self.client.asking[0].wanted.waits_on(),
            Phase::Stdin => "stdin",
            Phase::Tools if !self.running.is_empty() => "bash",
            Phase::Stuck(word) => word,
            Phase::Tools => "tool",
            Phase::Model | Phase::Backoff(_) | Phase::New | Phase::Leaving(_) => "model",
        }
    }
}

impl Program for Fake {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if self.phase == Phase::New {
            self.begin(os);
        }
        loop {
            for (fd, on) in [(STDOUT, "stdout"), (STDERR, "stderr")] {
                let stream = if fd == STDOUT { &mut self.writer.out } else { &mut self.writer.err };
                if !stream.flush(os, fd) {
                    // Signals still come through, and nothing else does.
                    match os.take_signal() {
                        Some(sig) => self.ended_by(os, sig),
                        None => return Next::Wait(Wait { write: vec![fd], on, ..Wait::default() }),
                    }
                }
            }
            if !self.step(os) {
                if let Phase::Leaving(code) = self.phase {
                    return Next::Exit(code);
                }
                return Next::Wait(self.wait());
            }
        }
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            args: _,    // not compared: they never change
            release: _, // not compared: it never changes
            phase,
            model,
            writer,
            rollout: _,     // not compared: a stage's processes have no disk, and there is none
            script: _,      // not compared: it never changes
            tool_faults: _, // not compared: they never change; the calls are counted
            repeats: _,     // not compared: it never changes
            nth,
            answer,
            messages,
            spoken,
            tries,
            counted,
            calls,
            running,
            terminals,
            lost,
            client,
            piped,
        } = self;
        match *phase {
            Phase::New => canon.num(0),
            Phase::Stdin => canon.num(1),
            Phase::Model => canon.num(2),
            Phase::Backoff(until) => canon.num(3).deadline(Some(until)),
            Phase::Tools => canon.num(4),
            Phase::Stuck(word) => canon.num(5).text(word),
            Phase::Leaving(code) => canon.num(6).num(code.into()),
        };
        model.canon(canon);
        writer.canon(canon);
        // `Hash` writes the whole of each.
        canon.value(&(nth, answer, messages, spoken, tries, counted, calls, client));
        canon.flag(*lost).bytes(piped);
        let commands: Vec<_> = terminals.iter().chain(running).collect();
        canon.num(running.len() as u64).list(&commands, |canon, (run, item)| {
            run.canon(canon);
            canon.text(item);
        });
    }
}
