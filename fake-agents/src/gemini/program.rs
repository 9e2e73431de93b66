//! `fake-gemini` as a process: its streams, signals and terminal around the [`Engine`].
//!
//! Invariants: what the engine says is written in order, and nothing else happens while a stream takes nothing more
//! (node writes to pipes and terminals synchronously); a wake-up without cause changes nothing.

use super::args::Args;
use super::engine::{Config, Effect, Engine};
use super::events;
use super::model::{Came, Model};
use super::release::{Release, STDIN_FIRST_BYTE, STDIN_MAX};
use super::settings;
use super::shell::{self, Running};
use crate::claude::screen::{Choice, PROMPT, Screen, Typed};
use crate::outgoing::Outgoing;
use rehang_os::os::{Disposition, FdKind, Next, Os, Program, Read, STDERR, STDIN, STDOUT, Sig, Target, Wait, Write};
use rehang_scenario::{Canon, Fault, ToolDoes, VTime, turns::Turn};
use rehang_trace::Fact;

/// What a `fake-gemini` is started with.
pub(super) struct Start {
    pub args: Args,
    pub release: &'static Release,
    pub turns: Vec<Turn>,
    pub faults: Vec<Fault>,
    pub model_port: Option<u16>,
}

/// The state of the process.
pub(super) struct Fake {
    args: Args,
    release: &'static Release,
    phase: Phase,
    engine: Engine,
    model: Model,
    shells: Vec<Running>,
    out: Outgoing,
    err: Outgoing,
    stdin: Stdin,
    screen: Screen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not run yet.
    New,
    /// It reads what was piped in, up to this instant if nothing has come by then.
    Stdin(VTime),
    /// It works, or waits for a key.
    Works,
    /// It writes what is left and exits.
    Leaving(u8),
}

#[derive(Debug, Default)]
struct Stdin {
    came: Vec<u8>,
    over: bool,
}

impl Fake {
    pub fn new(start: Start) -> Fake {
        let Start { args, release, turns, faults, model_port } = start;
        let tool = |fault: &Fault| match fault {
            Fault::Tool(tool) => Some((tool.nth, tool.does)),
            _ => None,
        };
        let tool_faults: Vec<(u32, ToolDoes)> = faults.iter().filter_map(tool).collect();
        let repeats = rehang_wire::model::script::repeats(&faults);
        let engine = Engine::new(Config { release, args: args.clone(), turns, tool_faults, repeats, turns_max: None });
        Fake {
            args,
            release,
            phase: Phase::New,
            engine,
            model: Model::new(&faults, model_port),
            shells: Vec::new(),
            out: Outgoing::default(),
            err: Outgoing::default(),
            stdin: Stdin::default(),
            screen: Screen::of("Gemini CLI"),
        }
    }

    /// The first steps; `None` if the terminal has stopped it in the middle.
    fn begin(&mut self, os: &mut dyn Os) -> Option<()> {
        let tty = os.kind(STDIN) == FdKind::Tty;
        // Raw mode, in a session and, for Ctrl-C, without one (nonInteractiveCli.js).
        if tty && os.set_tty(STDIN) == Write::Later {
            return None;
        }
        match settings::read(os, self.release) {
            Ok(settings) => self.engine.config.turns_max = settings.turns_max,
            Err(why) => {
                self.refuse(os, &why, settings::NOT_READ);
                return Some(());
            }
        }
        if self.args.sandbox && !settings::has_container(os) {
            self.refuse(os, events::NO_SANDBOX, settings::NO_SANDBOX);
            return Some(());
        }
        if self.args.session.is_some() && !tty {
            let why = "Error: The --prompt-interactive flag cannot be used when input is piped from stdin.";
            self.refuse(os, why, self.release.no_input);
            return Some(());
        }
        let positional = self.args.positional.is_none() || self.release.positional_opens_session;
        self.engine.session = tty && (self.args.session.is_some() || (self.args.prompt.is_none() && positional));
        let ends: &[Sig] = &[Sig::Int, Sig::Hup, Sig::Term];
        let more: &[Sig] = if self.engine.session { &[Sig::Winch] } else { &[] };
        for sig in ends.iter().chain(more) {
            os.on_signal(*sig, Disposition::Catch);
        }
        if self.engine.is_yolo() {
            (0..self.release.yolo_lines).for_each(|_| self.err.push(&format!("{}\n", events::YOLO)));
        }
        if self.release.wants_trust && !self.engine.session && !self.args.skip_trust && settings::is_untrusted(os) {
            self.refuse(os, events::UNTRUSTED, settings::UNTRUSTED);
            return Some(());
        }
        self.phase = if tty { Phase::Works } else { Phase::Stdin(os.now() + STDIN_FIRST_BYTE) };
        if tty {
            self.first_prompt(os);
        }
        Some(())
    }

    /// What was piped in, and then the prompt of the command line.
    fn first_prompt(&mut self, os: &mut dyn Os) {
        self.phase = Phase::Works;
        let piped = String::from_utf8_lossy(&std::mem::take(&mut self.stdin.came)).into_owned();
        let Args { prompt, session, positional, .. } = &self.args;
        let own = prompt.clone().or_else(|| session.clone()).or_else(|| positional.clone()).unwrap_or_default();
        let parts: Vec<&str> = [piped.as_str(), own.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
        let prompt = parts.join("\n\n");
        if self.engine.session {
            self.out.push(PROMPT);
        }
        match (prompt.trim().is_empty(), self.engine.session) {
            (true, true) => {}
            (true, false) => self.refuse(os, events::NO_INPUT, self.release.no_input),
            (false, session) => {
                if session {
                    self.out.push(&format!("{prompt}\n"));
                }
                self.engine.prompt(&prompt);
            }
        }
    }

    fn refuse(&mut self, os: &mut dyn Os, why: &str, code: u8) {
        self.err.push(&format!("{why}\n"));
        os.note(Fact::Result { ok: false, text: why.to_owned() });
        self.phase = Phase::Leaving(code);
    }

    /// Does one thing that can be done now; returns whether there was one.
    fn step(&mut self, os: &mut dyn Os) -> bool {
        if let Some(sig) = os.take_signal() {
            self.signal(os, sig);
            return true;
        }
        if matches!(self.phase, Phase::Leaving(_)) {
            return false;
        }
        if self.read(os) {
            return true;
        }
        if let Phase::Stdin(_) = self.phase {
            return false;
        }
        let ended = self.shells.iter_mut().enumerate().find_map(|(at, run)| Some((at, run.poll(os)?)));
        if let Some((at, end)) = ended {
            let call = self.shells.remove(at).call;
            self.engine.shell_ended(&call, &end);
            return true;
        }
        match self.model.poll(os) {
            Some(Came::Items(items)) => {
                items.into_iter().for_each(|item| self.engine.model(os.now(), item));
                return true;
            }
            Some(Came::Silence) => {
                self.engine.model_silent(os.now());
                return true;
            }
            None => {}
        }
        if self.engine.deadline().is_some_and(|at| at <= os.now()) {
            self.engine.tick();
            return true;
        }
        false
    }

    // --- in ---

    fn read(&mut self, os: &mut dyn Os) -> bool {
        let pipes = matches!(self.phase, Phase::Stdin(_));
        if self.stdin.over || !(pipes || self.engine.session) {
            return false;
        }
        match (os.read(STDIN, 65_536), self.phase) {
            // A tick is a millisecond: a byte that comes in the tick of the limit comes in time.
            (Read::Later, Phase::Stdin(limit)) if self.stdin.came.is_empty() && limit <= os.now() => {
                self.first_prompt(os);
                true
            }
            (Read::Later, _) => false,
            (Read::Data(bytes), Phase::Stdin(_)) => {
                let room = STDIN_MAX.saturating_sub(self.stdin.came.len());
                self.stdin.came.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if bytes.len() > room {
                    self.stdin.over = true;
                    self.first_prompt(os);
                }
                true
            }
            (Read::Data(bytes), _) => {
                self.stdin.came.extend_from_slice(&bytes);
                self.typed();
                true
            }
            // Ctrl-D at a menu; a terminal can be read again after it.
            (Read::Eof, Phase::Works) if self.screen.asks() => {
                if let Some(ask) = self.screen.first() {
                    self.decided(&ask, Choice::TurnDown);
                }
                true
            }
            (Read::Eof | Read::Failed(_), Phase::Stdin(_)) => {
                self.stdin.over = true;
                self.first_prompt(os);
                true
            }
            (Read::Eof | Read::Failed(_), _) => {
                self.stdin.over = true;
                self.shut_down(os, 0);
                true
            }
        }
    }

    /// Takes the whole lines that a person has typed.
    fn typed(&mut self) {
        while let Some(end) = self.stdin.came.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.stdin.came.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).into_owned();
            if self.screen.asks() {
                match self.screen.typed(&line) {
                    Typed::Decides(ask, choice) => self.decided(&ask, choice),
                    Typed::Draws(again) => self.out.push(&again),
                }
            } else if !self.engine.busy() && !line.trim().is_empty() {
                self.engine.prompt(line.trim());
            }
        }
    }

    fn decided(&mut self, ask: &str, choice: Choice) {
        let next = self.screen.hide(ask);
        self.out.push(&next);
        match choice {
            Choice::Answer(answers) => self.engine.answered(ask, answers),
            Choice::Permit(always) => self.engine.permitted(ask, always),
            Choice::TurnDown => self.engine.turned_down(ask),
        }
    }

    fn signal(&mut self, os: &mut dyn Os, sig: Sig) {
        match sig {
            Sig::Winch => {
                let again = self.screen.redraw();
                self.out.push(&again);
            }
            _ if !self.engine.session && !self.is_cancelled_by(os, sig) => self.ended_by(os, sig),
            Sig::Int => self.shut_down(os, 130),
            Sig::Hup => {
                // The reader is gone.
                self.out.broken = true;
                self.shut_down(os, 129);
            }
            Sig::Term => self.shut_down(os, 143),
            _ => {}
        }
    }

    /// Whether this is a key at a terminal that cancels the run.
    fn is_cancelled_by(&self, os: &dyn Os, sig: Sig) -> bool {
        sig == Sig::Int && os.kind(STDIN) == FdKind::Tty && self.release.ctrl_c_cancels
    }

    /// Ends without a terminal of its own: with 0, and its commands go on; or by the signal, and they lose their terminals.
    fn ended_by(&mut self, os: &mut dyn Os, sig: Sig) {
        self.model.close(os);
        let commands = std::mem::take(&mut self.shells);
        if self.release.catches_signals {
            self.phase = Phase::Leaving(0);
            return;
        }
        commands.into_iter().for_each(|mut run| run.hang_up(os));
        self.phase = Phase::Leaving(128 + sig.number());
        os.on_signal(sig, Disposition::Default);
        let _ = os.kill(Target::Itself, sig);
    }

    /// Ends everything that runs, and leaves.
    fn shut_down(&mut self, os: &mut dyn Os, code: u8) {
        self.engine.shut_down(code == 130);
        self.apply(os);
        self.model.close(os);
        for mut run in std::mem::take(&mut self.shells) {
            run.kill(os);
        }
        self.phase = Phase::Leaving(code);
    }

    // --- out ---

    fn apply(&mut self, os: &mut dyn Os) {
        loop {
            let effects = self.engine.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.effect(os, effect);
            }
        }
    }

    fn effect(&mut self, os: &mut dyn Os, effect: Effect) {
        match effect {
            Effect::Out(text) => self.out.push(&text),
            Effect::Complain(text) => self.err.push(&format!("{text}\n")),
            Effect::Note(fact) => os.note(fact),
            Effect::Ask => self.model.ask(os, &mut self.engine),
            Effect::Shell { call, bash } => match shell::start(os, self.release, &call, &bash) {
                Ok(run) => self.shells.push(run),
                Err(end) => self.engine.shell_ended(&call, &end),
            },
            Effect::Show { id, questions, permission } => {
                let menu = self.screen.show(id, questions, permission);
                self.out.push(&menu);
            }
            Effect::Over(_) if self.engine.session => self.out.push(PROMPT),
            Effect::Over(code) => self.phase = Phase::Leaving(code),
        }
    }

    fn wait(&self) -> Wait {
        let mut wait = Wait { on: self.engine.waits_on(), ..Wait::default() };
        if let Phase::Stdin(limit) = self.phase {
            let until = self.stdin.came.is_empty().then_some(limit);
            return Wait { read: vec![STDIN], until, on: "stdin", ..wait };
        }
        if self.engine.session && !self.stdin.over {
            wait.read.push(STDIN);
        }
        wait.until = self.engine.deadline();
        self.model.wait(&mut wait);
        self.shells.iter().for_each(|run| run.wait(&mut wait));
        wait
    }
}

impl Program for Fake {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if self.phase == Phase::New && self.begin(os).is_none() {
            return Next::Wait(Wait { read: vec![STDIN], on: "tty", ..Wait::default() });
        }
        loop {
            self.apply(os);
            for (fd, on) in [(STDOUT, "stdout"), (STDERR, "stderr")] {
                let stream = if fd == STDOUT { &mut self.out } else { &mut self.err };
                if !stream.flush(os, fd) {
                    // Signals still come through, and nothing else does.
                    match os.take_signal() {
                        Some(sig) => self.signal(os, sig),
                        None => return Next::Wait(Wait { write: vec![fd], on, ..Wait::default() }),
                    }
                } else if fd == STDOUT && stream.broken && !matches!(self.phase, Phase::Leaving(_)) {
                    // EPIPE: it exits with 0 (nonInteractiveCli.js).
                    self.shut_down(os, 0);
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
            engine,
            model,
            shells,
            out,
            err,
            stdin: Stdin { came, over },
            screen,
        } = self;
        match *phase {
            Phase::New => canon.num(0),
            Phase::Stdin(limit) => canon.num(1).deadline(Some(limit).filter(|_| came.is_empty())),
            Phase::Works => canon.num(2),
            Phase::Leaving(code) => canon.num(3).num(code.into()),
        };
        canon.bytes(came).flag(*over);
        for stream in [out, err] {
            stream.canon(canon);
        }
        // `Hash` writes the whole of it.
        canon.value(screen);
        engine.canon(canon);
        model.canon(canon);
        canon.list(shells, |canon, run| run.canon(canon));
    }
}
