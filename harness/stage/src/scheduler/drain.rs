//! Reads what comes out of the agent, records it in the trace, and passes it to those who listen.
//!
//! Invariant: after each step everything that came out of the agent is read before anybody else acts.

use super::asks::{OpenAsk, Shown};
use super::hub::{CLIENT_SEAT, Hub};
use super::inbox::Input;
use super::{http, model, ports};
use rehang_os::{
    kernel::{Change, InternalError},
    os::{Exit, Read},
};
use rehang_strategy::Stream;
use rehang_trace::{Fact, Name, What};

impl Hub<'_> {
    /// Reads all that has come, records it in the trace, and tells those who listen.
    pub fn drain(&mut self) -> Result<(), InternalError> {
        self.flush()?;
        for happened in self.kernel.happened() {
            self.take_in(happened.role, happened.what);
        }
        for at in 0..2 {
            if self.reads[at] {
                self.read_stream(at, usize::MAX)?;
            }
        }
        http::drain(self)?;
        model::drain(self)
    }

    fn take_in(&mut self, role: Name, change: Change) {
        let what = match change {
            Change::Spawned { parent, argv } => {
                self.spawned += 1;
                What::Spawn { parent, argv }
            }
            Change::Ended(exit) => {
                if role == self.kernel.role(self.agent) {
                    self.exit = Some(exit);
                    self.deliver_all(&Input::Exited(exit));
                }
                match exit {
                    Exit::Code(code) => What::Exit(code),
                    Exit::Signal(sig) => What::Killed(sig.name().to_owned()),
                }
            }
            Change::Stopped(sig) => What::Stopped(sig.name().to_owned()),
            Change::Continued => What::Continued,
            Change::Adopted => What::Adopted,
            Change::Signalled { to, sig } => What::Signal { sig: sig.name().to_owned(), to },
            Change::Fact(Fact::Acted { strategy, act }) if strategy == rehang_fakes::opencode::STORE => {
                // this is what a server has on its disk: a restarted one finds it, and it is not shown to anybody
                self.text_bytes += act.len();
                self.launch.plan.stored = Some(act);
                return;
            }
            Change::Fact(fact) => {
                self.note(&fact);
                self.records.entry(role.clone()).or_default().note(&fact, self.now);
                What::Fact(fact)
            }
        };
        if !matches!(what, What::Fact(_)) {
            self.material += 1;
        }
        self.record(&role, what);
    }

    fn note(&mut self, fact: &Fact) {
        if fact.is_material() {
            self.material += 1;
        }
        match fact {
            Fact::Asked { id, kind, questions, permission, .. } => {
                let sought = match questions.first() {
                    Some(first) => first.question.as_str(),
                    None => permission.split_whitespace().next().unwrap_or_default(),
                };
                self.asks.push(OpenAsk {
                    id: id.clone(),
                    kind: *kind,
                    questions: questions.clone(),
                    permission: permission.clone(),
                    shown: Shown::new(sought),
                });
                self.deliver_all(&Input::Asked);
            }
            Fact::AskEnded { id, .. } => self.asks.retain(|ask| ask.id != *id),
            _ => {}
        }
    }

    /// Reads at most `max` bytes of stdout (or the terminal) or stderr.
    pub fn read_stream(&mut self, at: usize, max: usize) -> Result<usize, InternalError> {
        let handle = match at {
            0 => self.streams.stdout.or(self.streams.tty),
            _ => self.streams.stderr,
        };
        let Some(handle) = handle.filter(|_| self.stream_open[at]) else { return Ok(0) };
        let stream = if at == 0 { Stream::Stdout } else { Stream::Stderr };
        let fd = match (at, self.streams.tty) {
            (0, Some(_)) if self.streams.stdout.is_none() => 0,
            (0, _) => 1,
            _ => 2,
        };
        let mut total = 0;
        while total < max {
            match self.kernel.read(handle, (max - total).min(65_536))? {
                Read::Data(bytes) => {
                    total += bytes.len();
                    if let Some(heard) = self.heard.as_mut().filter(|_| at == 0) {
                        heard.output(&bytes, false);
                    }
                    let text = self.text_of(at, &bytes);
                    if fd == 0 {
                        for ask in &mut self.asks {
                            ask.shown.print(&text);
                        }
                    }
                    self.say_out(fd, text);
                    self.deliver_all(&Input::Output(stream, bytes));
                }
                Read::Later => break,
                Read::Eof | Read::Failed(_) => {
                    self.stream_open[at] = false;
                    self.kernel.close(handle, false)?;
                    self.record("agent", What::OutEnd { fd });
                    self.material += 1;
                    self.deliver_all(&Input::OutputEnd(stream));
                    break;
                }
            }
        }
        Ok(total)
    }

    fn say_out(&mut self, fd: u8, text: String) {
        if let Some(port) = (self.serves || self.listens).then(|| ports::port_in(&text)).flatten() {
            self.port = Some(port);
            self.ports.name(port, ports::AGENT);
            self.client_waits = true;
            for seat in (0..self.inboxes.len()).filter(|&seat| seat != CLIENT_SEAT) {
                self.deliver(seat, Input::Listening);
            }
        }
        let role = self.kernel.role(self.agent).to_owned();
        self.record(&role, What::Out { fd, text });
    }

    /// The text of these bytes; a character that they cut waits for its rest.
    fn text_of(&mut self, at: usize, bytes: &[u8]) -> String {
        let carry = &mut self.carry[at];
        carry.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(carry) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => carry.len(),
        };
        let rest = carry.split_off(whole);
        let text = String::from_utf8_lossy(carry).into_owned();
        *carry = rest;
        text
    }
}
