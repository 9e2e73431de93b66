//! `fake-claude` as a process: its streams, signals and terminal around the [`Engine`].
//!
//! Invariants: what the engine says is written in order, and nothing else happens while a stream takes nothing more
//! (node writes to pipes and terminals synchronously); a wake-up without cause changes nothing.

use super::args::{Args, Format};
use super::bash::{self, Running};
use super::calls::BashEnd;
use super::engine::{Answerer, Config, Effect, Engine};
use super::hooks::{Gate, HookRun, of_files};
use super::models::{Came, Models};
use super::release::Release;
use super::screen::{Choice, PROMPT, Screen, Typed};
use super::texts;
use super::tools::{self, ToolClient};
use super::writer::Server;
use crate::agent_host::AgentHost;
use crate::outgoing::Outgoing;
use rehang_os::os::{Child, Disposition, FdKind, Next, Os, Program, Read, STDERR, STDIN, STDOUT, Sig, Wait, Write};
use rehang_scenario::{Canon, Fault, ProcessDoes, ToolDoes, VTime, plan::Tools, turns::Turn};
use rehang_trace::Fact;
use rehang_wire::claude::{Lines, ToAgent, to_agent};
use serde_json::{Value, json};

/// The most bytes of stdin that become a prompt. The limit is ours; the real one is limited only by memory.
const PROMPT_MAX_BYTES: usize = 1 << 20;

/// What a `fake-claude` is started with.
pub(super) struct Start {
    pub args: Args,
    pub release: Release,
    pub turns: Vec<Turn>,
    pub faults: Vec<Fault>,
    pub inside: AgentHost,
    pub model_port: Option<u16>,
    pub tools: Option<Tools>,
}

/// The state of the process.
pub(super) struct Fake {
    args: Args,
    release: Release,
    print: bool,
    phase: Phase,
    engine: Engine,
    models: Models,
    tools: ToolClient,
    bashes: Vec<Running>,
    hooks: Vec<HookRun>,
    /// Hooks that were given up and have not ended.
    strays: Vec<Child>,
    /// Whether the hooks of the session's end have begun.
    end_hooked: bool,
    stripped: Vec<&'static str>,
    /// From this time on nothing that it says arrives on its stdout.
    mute_at: Option<VTime>,
    out: Outgoing,
    err: Outgoing,
    stdin: Stdin,
    screen: Screen,
    /// With `--output-format json --verbose`: the messages that are printed at the end.
    collected: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not run yet.
    New,
    /// It reads what was piped in, up to this instant if nothing has come by then.
    Stdin(Option<VTime>),
    /// It runs the session.
    Session,
    /// It writes what is left and exits.
    Leaving(u8),
}

#[derive(Debug, Default)]
struct Stdin {
    lines: Lines,
    piped: Vec<u8>,
    over: bool,
}

impl Fake {
    pub fn new(start: Start) -> Fake {
        let Start { args, release, turns, faults, inside, model_port, tools } = start;
        let tool = |fault: &Fault| match fault {
            Fault::Tool(tool) => Some((tool.nth, tool.does)),
            _ => None,
        };
        let tool_faults: Vec<(u32, ToolDoes)> = faults.iter().filter_map(tool).collect();
        let mute = |fault: &Fault| match fault {
            Fault::Process(fault) if fault.does == ProcessDoes::MuteOutput => Some(VTime::ZERO + fault.at),
            _ => None,
        };
        let mute_at = faults.iter().filter_map(mute).min();
        let answerer = if args.asks_host { Answerer::Host } else { Answerer::Nobody };
        let repeats = rehang_wire::model::script::repeats(&faults);
        let config = Config {
            release,
            args: args.clone(),
            answerer,
            turns,
            tool_faults,
            repeats,
            tools: tools.as_ref().map(|tools| tools.server.clone()),
        };
        Fake {
            print: args.print,
            phase: Phase::New,
            engine: Engine::new(config, inside),
            models: Models::new(&faults, model_port),
            tools: ToolClient::new(tools, release),
            bashes: Vec::new(),
            hooks: Vec::new(),
            strays: Vec::new(),
            end_hooked: false,
            stripped: Vec::new(),
            mute_at,
            out: Outgoing::default(),
            err: Outgoing::default(),
            stdin: Stdin::default(),
            screen: Screen::of("Claude"),
            collected: Vec::new(),
            args,
            release,
        }
    }

    fn interactive(&self) -> bool {
        !self.print
    }

    /// The first steps; `None` if the terminal has stopped it in the middle.
    fn begin(&mut self, os: &mut dyn Os) -> Option<()> {
        // Without a terminal on stdout it prints, asked to or not (2.0.77's `isTTY` check).
        self.print = self.args.print || os.kind(STDOUT) != FdKind::Tty;
        let tty = os.kind(STDIN) == FdKind::Tty;
        for sig in [Sig::Int, Sig::Term] {
            os.on_signal(sig, Disposition::Catch);
        }
        if self.interactive() || self.release.catches_hang_up() {
            os.on_signal(Sig::Hup, Disposition::Catch);
        }
        if tty && os.set_tty(STDIN) == Write::Later {
            // claude-code#30779: stopped by SIGTTOU in the background, with --print too.
            return None;
        }
        if self.interactive() {
            os.on_signal(Sig::Winch, Disposition::Catch);
            self.engine.person_answers();
        }
        // the plan counts from the process's begin
        self.mute_at = self.mute_at.map(|at| os.now() + at.since(VTime::ZERO));
        match of_files(os, &self.args, self.release) {
            Ok(hooks) => drop(self.engine.hooks.add(self.release, hooks)),
            Err(why) => {
                self.leave_with(os, &why, 1);
                return Some(());
            }
        }
        self.engine.boot(os.now(), os.envs(), tty);
        self.tools.begin(os);
        self.phase = match () {
            () if self.args.messages_in || self.interactive() => Phase::Session,
            () if tty => Phase::Session,
            () => Phase::Stdin(self.release.stdin_limit().map(|limit| os.now() + limit)),
        };
        if self.phase == Phase::Session && !self.args.messages_in {
            self.first_prompt(os);
        }
        Some(())
    }

    /// The prompt of the command line, followed by what was piped in.
    fn first_prompt(&mut self, os: &mut dyn Os) {
        let piped = String::from_utf8_lossy(&std::mem::take(&mut self.stdin.piped)).into_owned();
        let parts = [self.args.prompt.clone().unwrap_or_default(), piped];
        let prompt: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let prompt = prompt.join("\n");
        self.phase = Phase::Session;
        if prompt.trim().is_empty() {
            match self.interactive() {
                true => self.out.push(PROMPT),
                false => self.leave_with(os, texts::NO_PROMPT, 1),
            }
            return;
        }
        if self.interactive() {
            self.out.push(&format!("{PROMPT}{prompt}\n"));
        }
        let prompt = vec![json!({"type": "text", "text": prompt})];
        match self.tools.shakes() {
            true => self.tools.prompt = Some(prompt),
            false => self.engine.prompt(os.now(), prompt),
        }
    }

    fn leave_with(&mut self, os: &mut dyn Os, why: &str, code: u8) {
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
        self.strays.retain(|stray| os.try_wait(*stray).is_none());
        let ended = self.hooks.iter_mut().enumerate().find_map(|(at, run)| Some((at, run.poll(os)?)));
        if let Some((at, end)) = ended {
            let run = self.hooks.remove(at);
            self.strays.extend(run.stray());
            self.engine.hook_ended(os.now(), run.id, &end);
            return true;
        }
        if let Phase::Stdin(_) = self.phase {
            return false;
        }
        let ended = self.bashes.iter_mut().enumerate().find_map(|(at, run)| Some((at, run.poll(os)?)));
        if let Some((at, end)) = ended {
            if end.moved.is_some() {
                let call = self.bashes[at].call.clone();
                self.engine.bash_ended(os.now(), &call, &end);
                return true;
            }
            let run = self.bashes.remove(at);
            match run.is_moved() {
                true => self.engine.background_ended(os.now(), &run.call, &end),
                false => self.engine.bash_ended(os.now(), &run.call, &end),
            }
            return true;
        }
        if let Some(came) = self.tools.poll(os) {
            match came {
                tools::Came::Ready => self.engine.server = Server::Connected,
                tools::Came::Result(call, result) => self.engine.tool_answered(os.now(), &call, result),
                tools::Came::Failed => {}
                tools::Came::Beat(call, nth, seconds) => self.engine.tool_beats(&call, nth, seconds),
            }
            return true;
        }
        if let Some(prompt) = self.tools.due_prompt() {
            if self.tools.is_initialized() && self.engine.server == Server::Failed {
                self.engine.server = Server::WithoutList;
            }
            self.engine.prompt(os.now(), prompt);
            return true;
        }
        match self.models.poll(os) {
            Some((conv, Came::Items(items))) => {
                items.into_iter().for_each(|item| self.engine.model(os.now(), conv, item));
                return true;
            }
            Some((conv, Came::Silence)) => {
                self.engine.model_silent(os.now(), conv);
                return true;
            }
            None => {}
        }
        if self.engine.deadline().is_some_and(|at| at <= os.now()) {
            self.engine.tick(os.now());
            return true;
        }
        self.finished(os)
    }

    /// Leaves if everything is written; returns whether it does.
    fn finished(&mut self, os: &mut dyn Os) -> bool {
        // what still runs in the background
        let stays = self.release.stays_for_commands() && self.bashes.iter().any(Running::is_moved);
        let idle = !self.engine.busy() && !stays;
        let over = match (self.interactive(), self.args.messages_in) {
            (true, _) => self.stdin.over,
            (_, true) => idle && (self.stdin.over || self.engine.ends),
            _ => idle && self.engine.results() > 0,
        };
        if over && !std::mem::replace(&mut self.end_hooked, true) && self.engine.hooked(os.now(), Gate::End) {
            return true;
        }
        if self.engine.hooks.hold_end() {
            return false;
        }
        if over {
            self.leave_commands(os, false);
            self.phase =
                Phase::Leaving(u8::from(self.engine.failed() && !self.interactive() && !self.engine.by_signal()));
        }
        over
    }

    // --- in ---

    fn read(&mut self, os: &mut dyn Os) -> bool {
        let listens = match self.phase {
            Phase::Stdin(_) => true,
            _ => self.args.messages_in || self.interactive(),
        };
        if !listens || self.stdin.over {
            return false;
        }
        match os.read(STDIN, 65_536) {
            Read::Later => match self.phase {
                // A tick is a millisecond: a byte that comes in the tick of the limit comes in time.
                Phase::Stdin(Some(limit)) if self.stdin.piped.is_empty() && limit <= os.now() => {
                    self.err.push(&format!("{}\n", texts::NO_STDIN));
                    self.first_prompt(os);
                    true
                }
                _ => false,
            },
            Read::Data(bytes) => {
                self.took(os, &bytes);
                true
            }
            // Ctrl-D at a menu; a terminal can be read again after it.
            Read::Eof if self.interactive() && self.screen.asks() => {
                if let Some(ask) = self.screen.first() {
                    self.engine.turn_down(os.now(), &ask);
                }
                true
            }
            Read::Eof | Read::Failed(_) => {
                self.stdin.over = true;
                match self.phase {
                    Phase::Stdin(_) => self.first_prompt(os),
                    _ if self.interactive() => self.shut_down(os, 0),
                    _ => self.engine.stdin_ended(os.now()),
                }
                true
            }
        }
    }

    fn took(&mut self, os: &mut dyn Os, bytes: &[u8]) {
        if let Phase::Stdin(_) = self.phase {
            let room = PROMPT_MAX_BYTES.saturating_sub(self.stdin.piped.len());
            self.stdin.piped.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return;
        }
        self.stdin.lines.push(bytes);
        while let Some(line) = self.stdin.lines.next_line() {
            match self.args.messages_in {
                true => self.message(os, &line),
                false => self.typed(os, &line),
            }
            self.apply(os);
            if matches!(self.phase, Phase::Leaving(_)) {
                return;
            }
        }
    }

    fn message(&mut self, os: &mut dyn Os, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let now = os.now();
        match to_agent(line) {
            Ok(ToAgent::User(blocks)) => self.engine.prompt(now, blocks),
            Ok(ToAgent::Request { id, subtype, request }) => self.engine.request(now, &id, &subtype, &request),
            Ok(ToAgent::Response { id, reply }) => {
                let response = serde_json::from_str::<Value>(line).map(|mut line| line["response"].take());
                let response = response.unwrap_or_default();
                let said = match response["subtype"].as_str() {
                    Some("success") => Ok(&response["response"]),
                    _ => Err(response["error"].as_str().unwrap_or_default()),
                };
                self.engine.reply(now, &id, reply, said);
            }
            Ok(ToAgent::Nothing) => {}
            Err(error) => {
                self.shut_down(os, 1);
                self.leave_with(os, &error.to_string(), 1);
            }
        }
    }

    fn typed(&mut self, os: &mut dyn Os, line: &str) {
        let now = os.now();
        if self.screen.asks() {
            match self.screen.typed(line) {
                Typed::Decides(ask, Choice::Answer(answers)) => self.engine.answer(now, &ask, &answers),
                Typed::Decides(ask, Choice::Permit(always)) => self.engine.permit(now, &ask, always),
                Typed::Decides(ask, Choice::TurnDown) => self.engine.turn_down(now, &ask),
                Typed::Draws(again) => self.out.push(&again),
            }
        } else if !line.trim().is_empty() {
            self.engine.prompt(now, vec![json!({"type": "text", "text": line})]);
        } else if !self.engine.busy() {
            self.out.push(PROMPT);
        }
    }

    fn signal(&mut self, os: &mut dyn Os, sig: Sig) {
        match sig {
            Sig::Winch => {
                let menu = self.screen.redraw();
                let again = if menu.is_empty() && !self.engine.busy() { PROMPT.to_owned() } else { menu };
                if !again.is_empty() {
                    self.out.push(&format!("\n{again}"));
                }
            }
            Sig::Int if self.interactive() && self.engine.busy() => {
                self.out.push("\n");
                self.engine.interrupt(os.now(), None);
            }
            Sig::Int if self.interactive() => self.shut_down(os, 0),
            // a run that is interrupted ends with 0 (recorded), 2.1.329 after its result
            Sig::Int if self.engine.busy() && self.release.ends_commands_with_itself() => {
                self.engine.interrupt_by_signal(os.now());
            }
            Sig::Int => self.shut_down(os, 0),
            Sig::Hup => {
                // The reader is gone, if it is a terminal.
                self.out.broken = self.interactive();
                self.shut_down(os, 129);
            }
            Sig::Term => self.shut_down(os, 143),
            _ => {}
        }
    }

    /// What its commands do when it leaves: they are ended with it, and their end is shown if a signal ended it, or they
    /// go on without it.
    fn leave_commands(&mut self, os: &mut dyn Os, shown: bool) {
        let runs = std::mem::take(&mut self.bashes);
        if !self.release.ends_commands_with_itself() {
            return;
        }
        for mut run in runs {
            let end = BashEnd { interrupted: false, ..run.kill(os) };
            if shown && !run.is_moved() {
                self.engine.bash_cut_off(os.now(), &run.call, &end);
            }
        }
        self.apply(os);
    }

    /// Ends its hooks, and its commands if its release does, and leaves.
    fn shut_down(&mut self, os: &mut dyn Os, code: u8) {
        self.engine.shut_down(os.now());
        self.apply(os);
        self.leave_commands(os, code > 128);
        for mut run in std::mem::take(&mut self.hooks) {
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
            Effect::Emit(message) => self.emit(message),
            Effect::Show { id, questions, permission } => {
                let menu = self.screen.show(id, questions, permission);
                self.out.push(&menu);
            }
            Effect::Hide { id } if self.interactive() => {
                let next = self.screen.hide(&id);
                self.out.push(&next);
            }
            Effect::Hide { .. } => {}
            Effect::Ask(conv) => self.models.ask(os, &mut self.engine, conv),
            Effect::Abort(conv) => self.models.abort(os, conv),
            Effect::Bash { call, bash } => {
                match bash::start(os, &call, &bash, &self.stripped, self.release, self.engine.inside.for_children()) {
                    Ok(run) => self.bashes.push(run),
                    Err(end) => self.engine.bash_ended(os.now(), &call, &end),
                }
            }
            Effect::CallTool { call } => {
                if !self.tools.call(os, &call) {
                    self.engine.tool_answered(os.now(), &call, Err(texts::NOT_CONNECTED.to_owned()));
                }
            }
            Effect::CancelTool { call } => self.tools.give_up(os, &call),
            Effect::Kill { call } => {
                let at = self.bashes.iter().position(|run| run.call == call);
                let end = at.map(|at| self.bashes.remove(at).kill(os));
                let gone = || BashEnd { code: 137, interrupted: true, ..BashEnd::default() };
                self.engine.bash_ended(os.now(), &call, &end.unwrap_or_else(gone));
            }
            Effect::Hook { id, command, told, until } => {
                match HookRun::start(os, (id, &command), &told, until, self.release.hook_waits_for()) {
                    Ok(run) => self.hooks.push(run),
                    Err(end) => self.engine.hook_ended(os.now(), id, &end),
                }
            }
            Effect::KillHook { id } => {
                if let Some(at) = self.hooks.iter().position(|run| run.id == id) {
                    let mut run = self.hooks.remove(at);
                    run.kill(os);
                    self.strays.extend(run.stray());
                }
            }
            Effect::Note(fact) => os.note(fact),
            Effect::Complain(text) => self.err.push(&format!("{text}\n")),
            Effect::Strip(name) => self.stripped.push(name),
        }
    }

    fn emit(&mut self, message: Value) {
        let result = message["type"] == "result";
        if self.interactive() {
            self.out.push(&Screen::message(&message));
            if result {
                self.out.push(PROMPT);
            }
            return;
        }
        match self.args.output {
            Format::StreamJson => self.out.push(&format!("{message}\n")),
            Format::Json if self.args.verbose => {
                self.collected.push(message);
                if result {
                    let all = Value::from(std::mem::take(&mut self.collected));
                    self.out.push(&format!("{all}\n"));
                }
            }
            Format::Json if result => self.out.push(&format!("{message}\n")),
            Format::Text if result => {
                self.out.push(&format!("{}\n", message["result"].as_str().unwrap_or(texts::EXECUTION_ERROR)));
            }
            Format::Json | Format::Text => {}
        }
    }

    fn wait(&self) -> Wait {
        let mut wait = Wait { on: self.engine.waits_on(), ..Wait::default() };
        if let Phase::Stdin(limit) = self.phase {
            wait =
                Wait { read: vec![STDIN], until: limit.filter(|_| self.stdin.piped.is_empty()), on: "stdin", ..wait };
            self.hooks.iter().for_each(|run| run.wait(&mut wait));
            return wait;
        }
        if (self.args.messages_in || self.interactive()) && !self.stdin.over {
            wait.read.push(STDIN);
        }
        wait.until = self.engine.deadline();
        self.models.wait(&mut wait);
        self.tools.wait(&mut wait);
        for run in &self.bashes {
            run.wait(&mut wait);
        }
        for run in &self.hooks {
            run.wait(&mut wait);
        }
        wait.child |= !self.strays.is_empty();
        wait
    }
}

impl Program for Fake {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if self.phase == Phase::New && self.begin(os).is_none() {
            return Next::Wait(Wait { read: vec![STDIN], on: "tty", ..Wait::default() });
        }
        loop {
            // what it says from then on is lost, as if its reader were gone
            self.out.broken |= self.mute_at.is_some_and(|at| os.now() >= at);
            self.apply(os);
            for (fd, on) in [(STDOUT, "stdout"), (STDERR, "stderr")] {
                let stream = if fd == STDOUT { &mut self.out } else { &mut self.err };
                if !stream.flush(os, fd) {
                    // Signals still come through, and nothing else does.
                    match os.take_signal() {
                        Some(sig) => self.signal(os, sig),
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
            args: _,    // not compared: they never change; the engine's own, which a rule is added to, are written there
            release: _, // not compared: it never changes
            print,
            phase,
            engine,
            models,
            tools,
            bashes,
            hooks,
            strays,
            end_hooked,
            stripped,
            mute_at,
            out,
            err,
            stdin: Stdin { lines, piped, over },
            screen,
            collected,
        } = self;
        match *phase {
            Phase::New => canon.num(0),
            Phase::Stdin(limit) => canon.num(1).deadline(limit.filter(|_| piped.is_empty())),
            Phase::Session => canon.num(2),
            Phase::Leaving(code) => canon.num(3).num(code.into()),
        };
        canon.bytes(lines.held()).bytes(piped).flag(*over).flag(*print);
        for stream in [out, err] {
            stream.canon(canon);
        }
        // `Hash` writes the whole of each.
        canon.value(&(screen, stripped));
        canon.list(collected, |canon, message| _ = canon.text(&message.to_string()));
        engine.canon(canon);
        models.canon(canon);
        tools.canon(canon);
        canon.list(bashes, |canon, run| run.canon(canon));
        canon.list(hooks, |canon, run| run.canon(canon)).flag(*end_hooked);
        canon.list(strays, |canon, stray| {
            canon.num(stray.0.into());
        });
        let mute_at = mute_at.filter(|at| *at > canon.now());
        canon.deadline(mute_at);
    }
}
