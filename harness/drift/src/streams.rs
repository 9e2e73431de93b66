//! Compares a run of which the lines that were written and read are recorded: `claude -p`, `codex exec`, `gemini -p` and
//! `opencode run`.
//!
//! A run is played on the simulated kernel: what the host wrote is written at the same place, and the fake must write
//! what was recorded, in order, and end the same way.
//!
//! Invariant: which lines are equal is the agent's own affair (`normal` of [`claude`](crate::claude),
//! [`codex`](crate::codex), [`gemini`](crate::gemini) and [`opencode`](crate::opencode)); how a run is played and ends
//! is the same for all.

use crate::session::{Session, Setup};
use crate::{Compared, claude, codex, gemini, opencode};
use rehang_os::kernel::Kernel;
use rehang_os::os::{Exit, Sig};
use rehang_scenario::VTime;
use rehang_scenario::agents::{CLAUDE, CODEX, GEMINI};
use rehang_trace::role::{AGENT, TOOLS};
use serde_json::Value;

/// One line of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Written to the agent's stdin; else it came from its stdout.
    pub sent: bool,
    /// The message; a text if the line is not a message; `<close>` if stdin was closed.
    pub message: Value,
}

/// How an exchange ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ends {
    /// With this exit code.
    Exit(u8),
    /// Not at all: it waits for this, and time alone brings nothing more.
    Hangs(String),
    /// By this signal, which a key at its terminal sent.
    Killed(Sig),
    /// It was sent a signal.
    Signalled {
        /// Which.
        sig: Sig,
        /// How long after its first request to the model, in milliseconds.
        after_ms: u64,
        /// How it ended then.
        exit: Exit,
    },
}

/// Reads a recording: one JSON object a line, `{t, dir, msg}`. Lines of stderr, and its exit, are left out.
///
/// # Errors
/// A line that is not such an object.
pub fn read(text: &str) -> Result<Vec<Line>, serde_json::Error> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line)?;
        if line["dir"] == "IN" || line["dir"] == "OUT" {
            lines.push(Line { sent: line["dir"] == "IN", message: line["msg"].take() });
        }
    }
    Ok(lines)
}

/// Plays an exchange and compares what comes out; `err`: the lines of stderr, if they are to be compared.
pub fn compare(setup: Setup, lines: &[Line], err: Option<&[Value]>, ends: &Ends) -> Compared {
    let mut compared = Compared::default();
    let agent = setup.agent.kind();
    let (normal, whole): (Normal, bool) = match () {
        () if *agent == CLAUDE => (claude::normal, false),
        () if *agent == CODEX => (codex::normal, true),
        // a text that is a line in the recording can come in several pieces
        () if *agent == GEMINI => (gemini::normal, true),
        () => (opencode::normal, false),
    };
    // from outside, a tool of Codex that waits for a pipe is seen to wait for the pipe
    let pipe_is_bash = *agent == CODEX;
    let requests = lines.iter().filter(|line| !line.sent && line.message["type"] == "control_request");
    let asked = requests.map(|line| line.message["request_id"].clone()).collect();
    let mut run = Run { session: setup.run(), asked, answered: 0 };
    let mut said = 0;
    for line in lines {
        if !line.sent {
            said += 1;
            continue;
        }
        // The host waited for what it had read by then, and the fake has said it without further input.
        run.wait(said);
        let early = run.session.messages().len();
        if early < said {
            compared.differ("messages before the host's next", said, early);
            return compared;
        }
        if let Err(why) = run.write(&line.message) {
            compared.differ("the host's answer", line.message.clone(), why.to_string());
            return compared;
        }
    }
    match ends {
        Ends::Signalled { sig, after_ms, .. } => run.signal(*sig, *after_ms),
        _ => run.wait(if whole { usize::MAX } else { said }),
    }
    let recorded: Vec<Value> = lines.iter().filter(|l| !l.sent).map(|l| l.message.clone()).collect();
    compared.lists("lines", &normal(&recorded), &normal(&run.session.messages()));
    if let Some(err) = err {
        let said: Vec<Value> = run.session.err.lines().map(crate::message).collect();
        compared.lists("stderr", &normal(err), &normal(&said));
    }
    // A release that hangs before it says anything has its end alone to compare.
    compared.events += usize::from(recorded.is_empty());
    run.ended(ends, pipe_is_bash, &mut compared);
    compared.left = run.session.waits().iter().filter(|(role, _)| ![AGENT, TOOLS].contains(&role.as_str())).count();
    compared.asked = run.session.asked;
    compared.err = run.session.err;
    compared
}

/// What of an agent's lines is compared.
type Normal = fn(&[Value]) -> Vec<Value>;

/// The most deadlines of a fake for which time is moved on.
const TICKS_MAX: u32 = 1_000;

/// The host answers, although there is no request to answer.
#[derive(Debug, thiserror::Error)]
#[error("the fake has asked for nothing yet")]
struct NothingAsked;

struct Run {
    session: Session,
    /// The ids of the requests of the recorded release, in order.
    asked: Vec<Value>,
    /// How many of the fake's requests were answered.
    answered: usize,
}

impl Run {
    fn write(&mut self, message: &Value) -> Result<(), NothingAsked> {
        if message == "<close>" {
            self.session.close();
            return Ok(());
        }
        let mut message = message.clone();
        if message["type"] == "control_response" {
            // The fake's requests have ids of its own; a host that names none answers one after the other.
            let id = &message["response"]["request_id"];
            let nth = self.asked.iter().position(|asked| asked == id).unwrap_or(self.answered);
            let mut requests = self.session.messages().into_iter().filter(|m| m["type"] == "control_request");
            let request = requests.nth(nth).ok_or(NothingAsked)?;
            message["response"]["request_id"] = request["request_id"].clone();
            self.answered += 1;
        }
        match message.as_str() {
            Some(keys) if self.session.streams.tty.is_some() => self.session.write(keys),
            Some(line) => self.session.write(&format!("{line}\n")),
            None => self.session.send(&message),
        }
        Ok(())
    }

    /// Lets time pass until this many messages were said, or no more will be.
    fn wait(&mut self, said: usize) {
        for _ in 0..TICKS_MAX {
            if self.session.messages().len() >= said || !self.session.tick() {
                return;
            }
        }
    }

    /// Sends it a signal, so many milliseconds after its first request to the model.
    fn signal(&mut self, sig: Sig, after_ms: u64) {
        let first = self.session.asked.first().copied().unwrap_or(VTime::ZERO);
        let at = VTime(first.0 + after_ms);
        while self.session.kernel.deadline(self.session.now).is_some_and(|next| next <= at) {
            self.session.tick();
        }
        self.session.now = at;
        self.session.kill(sig);
    }

    /// Whether it does anything more if time passes: a sign of life that it hears is no act of its own.
    fn acts(&mut self) -> bool {
        // a sign of life is no act
        let count = |run: &Run| run.session.messages().iter().filter(|m| m["type"] != claude::HEARTBEAT).count();
        let (said, asked) = (count(self), self.session.asked.len());
        for _ in 0..TICKS_MAX {
            if !self.session.tick() {
                return false;
            }
            let more = count(self) > said || self.session.asked.len() > asked;
            if more || self.session.exit.is_some() {
                return true;
            }
        }
        false
    }

    fn exits(&mut self, exit: Exit, recorded: String, compared: &mut Compared) {
        self.run_on();
        if self.session.exit != Some(exit) {
            compared.differ("its end", recorded, format!("{:?}", self.session.exit));
        }
    }

    /// Lets time pass until it has ended, or no more will happen.
    fn run_on(&mut self) {
        for _ in 0..TICKS_MAX {
            if self.session.exit.is_some() || !self.session.tick() {
                return;
            }
        }
    }

    /// Compares how both ended: the fake exits if the release did, and hangs if the release did.
    fn ended(&mut self, ends: &Ends, pipe_is_bash: bool, compared: &mut Compared) {
        match ends {
            Ends::Exit(code) => self.exits(Exit::Code(*code), format!("exit {code}"), compared),
            Ends::Killed(sig) => self.exits(Exit::Signal(*sig), format!("SIG{}", sig.name()), compared),
            Ends::Signalled { exit, .. } => self.exits(*exit, format!("{exit:?}"), compared),
            Ends::Hangs(on) => {
                let waits = self.session.waits();
                let on = if pipe_is_bash && on == "pipe" { "bash" } else { on };
                // what its children wait for is theirs
                if self.session.exit.is_some() || !self.session.waits_for(on) || self.acts() {
                    let fake = format!("{:?}, {waits:?}", self.session.exit);
                    compared.differ("its end", format!("hangs on {on}"), fake);
                }
            }
        }
    }
}
