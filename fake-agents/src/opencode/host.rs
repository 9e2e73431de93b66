//! The engine on an operating system: carries out its effects, and feeds it from its children and model streams.
//!
//! Invariants: everything is handled in the order in which the engine said it; a resume does a bounded amount of work,
//! so an endless loop appears as steps of the clock's owner and not as a resume that never returns; a resume in which
//! something came in leaves the timers of the same tick to the next one, so that whoever acts first in a tick decides
//! whether a limit was kept.

use super::children::Children;
use super::engine::{Effect, Engine, Out, Setup};
use super::models::Models;
use super::release::{Flavour, Release};
use crate::agent_host::AgentHost;
use rehang_os::os::{CannotStart, FdKind, Os, STDERR, STDIN, Wait, Write};
use rehang_scenario::{
    Canon, Span, VTime,
    plan::{PLAN_ENV, Plan},
};
use rehang_wire::http::write_chunk;

/// How many model requests one resume sends at most. Upstream asks again at once if a stream ended without a reason,
/// for ever; each real request takes some time.
const ASKS_MAX: u32 = 16;

/// An engine, with the children and streams that it needs.
pub struct Host {
    /// The engine that is hosted.
    pub engine: Engine,
    children: Children,
    models: Models,
    env: Vec<(String, String)>,
    strip: Vec<&'static str>,
    stderr: Outgoing,
    reasoning: bool,
    yields: bool,
    /// Whether something came in since the program was resumed.
    came: bool,
    /// What is taken from the engine; empty between two takes, when its memory is used again.
    taken: Vec<Out>,
}

/// Bytes that wait for a descriptor to take them.
#[derive(Debug, Clone, Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// How many of them were taken.
    taken: usize,
}

impl Outgoing {
    /// Appends bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// [`Outgoing::push`], without a copy where nothing waits.
    pub fn push_vec(&mut self, bytes: Vec<u8>) {
        match self.is_empty() {
            true => self.bytes = bytes,
            false => self.push(&bytes),
        }
    }

    /// Appends a chunk of a body with these bytes.
    pub fn push_chunk(&mut self, bytes: &[u8]) {
        write_chunk(&mut self.bytes, bytes);
    }

    /// Whether no bytes wait.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes as much as the descriptor takes. Bytes that can never be written are dropped: that is not an error here.
    ///
    /// # Errors
    /// The descriptor's error.
    pub fn flush(&mut self, os: &mut dyn Os, fd: rehang_os::os::Fd) -> Result<(), rehang_os::os::Errno> {
        while self.taken < self.bytes.len() {
            match os.write(fd, &self.bytes[self.taken..]) {
                Write::Took(n) => self.taken += n,
                Write::Later => break,
                Write::Failed(error) => {
                    self.clear();
                    return Err(error);
                }
            }
        }
        // what is left is moved to the front only where that is less than what goes
        if self.taken >= self.bytes.len() {
            self.clear();
        } else if self.taken > self.bytes.len() / 2 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        Ok(())
    }

    /// Drops what waits.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.taken = 0;
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { bytes, taken } = self;
        canon.bytes(&bytes[*taken..]);
    }
}

impl Host {
    /// A host for a plan. `run`: whether the program is a one-shot run.
    ///
    /// # Errors
    /// An unknown strategy.
    pub fn new(release: Release, plan: &Plan, run: bool) -> Result<Host, CannotStart> {
        let setup = Setup { turns: plan.turns.clone(), faults: plan.faults.clone(), run, question_registered: true };
        let inside = AgentHost::new(&plan.inside).map_err(CannotStart::new)?;
        Ok(Host {
            children: Children::default(),
            models: Models::new(&plan.faults, plan.model_port, release.silence_max),
            engine: Engine::new(release, setup, inside),
            env: Vec::new(),
            strip: Vec::new(),
            stderr: Outgoing::default(),
            reasoning: plan.agent.is_reasoning(),
            yields: false,
            came: false,
            taken: Vec::new(),
        })
    }

    /// The agent starts. `one_shot`: whether it has no reply route of its own.
    pub fn boot(&mut self, os: &mut dyn Os, one_shot: bool, listens: bool) {
        self.env = os.envs();
        self.engine.lives(os.epoch_ms(), os.cwd());
        let client = os.env("OPENCODE_CLIENT").unwrap_or_else(|| "cli".to_owned());
        let enabled = os.env("OPENCODE_ENABLE_QUESTION_TOOL").is_some_and(|v| v == "1" || v == "true");
        self.engine.question_registered(enabled || matches!(client.as_str(), "app" | "cli" | "desktop"));
        let mut seen = self.env.clone();
        if self.reasoning && self.engine.release.flavour == Flavour::Pawwork {
            seen.push((rehang_strategy::pawwork::REASONING.to_owned(), "1".to_owned()));
        }
        let tty = os.kind(STDIN) == FdKind::Tty;
        self.engine.boot(os.now(), seen, tty, one_shot, listens);
    }

    /// The program is resumed: nothing has come in yet.
    pub fn resumed(&mut self) {
        self.came = false;
    }

    /// Notes that something came in, from a client or a keyboard.
    pub fn came_in(&mut self) {
        self.came = true;
    }

    /// Timers up to this instant may fire now. A tick is a millisecond: what came in during it came before its timers.
    pub fn due_by(&self, now: VTime) -> VTime {
        if self.came { VTime(now.0.saturating_sub(1)) } else { now }
    }

    /// Does all that can be done now. Adds what the program is to write: events and answers, in order.
    ///
    /// `said` is empty before: it is done when something has been said.
    pub fn pump(&mut self, os: &mut dyn Os, said: &mut Vec<Out>) {
        let mut asks = 0;
        self.yields = false;
        loop {
            self.engine.clock(os.now());
            let mut taken = std::mem::take(&mut self.taken);
            self.engine.take_into(&mut taken);
            for out in taken.drain(..) {
                match out {
                    Out::Fact(fact) => os.note(fact),
                    Out::Effect(effect) => {
                        asks += u32::from(matches!(effect, Effect::AskModel { .. }));
                        self.effect(os, effect);
                    }
                    Out::Event(_) | Out::Respond(_) => said.push(out),
                }
            }
            self.taken = taken;
            if self.engine.has_news() {
                continue;
            }
            if !said.is_empty() || asks > ASKS_MAX {
                self.yields = said.is_empty();
                return;
            }
            if self.children.poll(os, &mut self.engine) || self.models.poll(os, &mut self.engine) {
                self.came = true;
                continue;
            }
            let due_by = self.due_by(os.now());
            if self.engine.deadline().is_some_and(|at| at <= due_by) {
                self.engine.tick(os.now());
            } else if !self.children.clock(os, due_by) {
                // Stderr is not waited for: what it does not take now, it takes later or never.
                let _ = self.stderr.flush(os, STDERR);
                return;
            }
        }
    }

    /// Adds what is waited for.
    pub fn wait(&self, now: VTime, wait: &mut Wait) {
        self.children.wait(wait);
        self.models.wait(wait);
        self.wait_stderr(wait);
        let own = [self.engine.deadline(), self.children.deadline(), self.models.deadline()];
        let yields = self.yields.then_some(now + Span(1));
        wait.until = own.into_iter().flatten().chain(yields).chain(wait.until).min();
        if wait.on.is_empty() {
            wait.on = self.engine.waits_on().unwrap_or("");
        }
    }

    /// Prints a line to the user, on stderr.
    pub fn say(&mut self, line: &str) {
        self.stderr.push(line.as_bytes());
        self.stderr.push(b"\n");
    }

    /// Writes as much as stderr takes now.
    ///
    /// # Errors
    /// The descriptor's error; what was to be written is dropped.
    pub fn flush(&mut self, os: &mut dyn Os) -> Result<(), rehang_os::os::Errno> {
        self.stderr.flush(os, STDERR)
    }

    /// Adds stderr to what is waited for, if there is something left to write to it.
    pub fn wait_stderr(&self, wait: &mut Wait) {
        if !self.stderr.is_empty() {
            wait.write.push(STDERR);
        }
    }

    /// Whether nothing is left to write to stderr.
    pub fn silent(&self) -> bool {
        self.stderr.is_empty()
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            engine,
            children,
            models,
            env: _, // not compared: it is read at the start and never changes
            strip,
            stderr,
            reasoning: _, // not compared: it never changes
            yields,
            came: _,  // not compared: each resume begins by setting it
            taken: _, // not compared: it is empty between resumes
        } = self;
        engine.canon(canon);
        children.canon(|tool| engine.place_of_tool(tool), canon);
        models.canon(|stream| engine.place_of_stream(stream), engine.looks_calls_up(), canon);
        stderr.canon(canon);
        canon.list(strip, |canon, name| {
            canon.text(name);
        });
        canon.flag(*yields);
    }

    fn effect(&mut self, os: &mut dyn Os, effect: Effect) {
        match effect {
            Effect::AskModel { stream, path, response, answer } => {
                self.models.ask(os, stream, &path, &response, &answer);
            }
            Effect::StopModel { stream } => self.models.stop(os, stream),
            Effect::Spawn { tool, bash } => {
                let kept = |name: &str| name != PLAN_ENV && !self.strip.contains(&name);
                let env = self.env.iter().filter(|(name, _)| kept(name)).cloned();
                let env = env.chain(self.engine.inside.for_children()).collect();
                self.children.spawn(os, &mut self.engine, tool, &bash, env);
            }
            Effect::Kill { tool } => self.children.kill(os, tool),
            Effect::Say(text) => self.say(&text),
            Effect::StripEnv(name) => {
                if !self.strip.contains(&name) {
                    self.strip.push(name);
                }
            }
        }
    }
}
