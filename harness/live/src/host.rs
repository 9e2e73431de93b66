//! What holds the agent's stdin or its terminal: a stream-json host, and the people there (`rehang_actors`).
//!
//! Invariant: writing never blocks the watch. A host closes stdin after a result, as a plain one does, unless the
//! scenario's people write to it.

use crate::input::Input as Told;
use crate::report::{Ask, Via};
use crate::spec::CellSpec;
use crate::watch::Watch;
use rehang_actors::{Actor, Driver, Input, Output, Sight, Someone};
use rehang_agents::Form;
use rehang_scenario::{Does, Span, VTime, Via as By};
use rehang_wire::claude::{self, FromAgent, ToAgent};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::Instant;
use tokio::sync::mpsc;

/// How many lines may wait to be written.
const OUTBOX: usize = 64;

/// The host.
pub struct Host {
    stdin: Option<std::sync::mpsc::SyncSender<Vec<u8>>>,
    screen: Option<std::sync::mpsc::SyncSender<Vec<u8>>>,
    /// What is written at the beginning if no host drives the agent.
    says: Vec<String>,
    players: Vec<Player>,
    open: Vec<Sight>,
    tell: mpsc::Sender<Told>,
    start: Instant,
    /// People who act by the clock wait until the clock begins, at the first main request: the host has sent the
    /// prompt, and the time until the agent's request depends on the machine. Otherwise the agent may wait for these
    /// people before it asks.
    clock_begins: bool,
}

/// Somebody at the agent's stdin or its terminal.
struct Player {
    actor: Box<dyn Actor>,
    /// Whether they are at the terminal, not at stdin.
    at_terminal: bool,
    /// Their act stops the agent.
    stops: bool,
}

impl Host {
    /// A host with the agent's stdin and its terminal, if it has them.
    ///
    /// # Errors
    /// A thread that writes to them cannot be started.
    pub fn new(
        order: &CellSpec,
        stdin: Option<OwnedFd>,
        master: Option<OwnedFd>,
        tell: mpsc::Sender<Told>,
    ) -> std::io::Result<Host> {
        let drives = order.form == Form::Stdin && !order.held;
        let mut players = Vec::new();
        if drives {
            let driver = Box::new(Driver::new(order.says.clone()));
            players.push(Player { actor: driver, at_terminal: false, stops: false });
        }
        for person in order.scenario.people.iter().filter(|person| matches!(person.via, By::Stdin | By::Tty)) {
            // these people have no event stream that could be cut
            let actor = Box::new(Someone::new(person, false, Span::ZERO));
            players.push(Player { actor, at_terminal: person.via == By::Tty, stops: person.does == Does::Stop });
        }
        Ok(Host {
            stdin: stdin.map(writer).transpose()?,
            screen: master.map(writer).transpose()?,
            says: if drives { Vec::new() } else { order.says.clone() },
            players,
            open: Vec::new(),
            tell,
            start: Instant::now(),
            clock_begins: drives,
        })
    }

    /// The agent has started.
    pub fn begin(&mut self, watch: &mut Watch) {
        for line in std::mem::take(&mut self.says) {
            self.write(format!("{line}\n").as_bytes(), watch);
        }
        self.tell_all(self.at(Instant::now()), &Input::Begin, watch);
        if !self.clock_begins {
            self.tell_all(self.at(Instant::now()), &Input::ClockBegins, watch);
        }
    }

    /// The agent said a line on its stdout.
    pub fn hears(&mut self, line: &str, watch: &mut Watch) {
        match claude::from_agent(line) {
            None => return,
            Some(FromAgent::Cancel { id }) => self.open.retain(|sight| sight.id != id),
            Some(message) => self.open.extend(Sight::control(&message)),
        }
        let now = self.at(Instant::now());
        self.tell_all(now, &Input::Output(format!("{line}\n").into_bytes()), watch);
    }

    /// The terminal itself says something to the agent.
    pub fn terminal_says(&self, bytes: Vec<u8>) {
        if let Some(screen) = self.screen.as_ref().filter(|_| !bytes.is_empty()) {
            let _ = screen.try_send(bytes);
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, watch: &mut Watch) {
        if self.clock_begins && watch.startup_ms().is_some() {
            self.clock_begins = false;
            self.tell_all(self.at(watch.clock()), &Input::ClockBegins, watch);
        }
        let now = self.at(Instant::now());
        for at in 0..self.players.len() {
            let mut out = Vec::new();
            self.players[at].actor.tick(now, &mut out);
            self.carry_out(at, out, watch);
        }
    }

    /// When somebody acts by the clock.
    pub fn deadline(&self) -> Option<Instant> {
        let first = self.players.iter().filter_map(|player| player.actor.deadline()).min()?;
        self.start.checked_add(std::time::Duration::from_millis(first.0))
    }

    /// Asks that are open.
    pub fn asks(&self) -> Vec<Ask> {
        self.open.iter().map(|sight| Ask::seen(sight, "control-request", &sight.extra.to_string())).collect()
    }

    /// The agent's process is over.
    pub fn agent_is_over(&mut self) {
        self.stdin = None;
        self.open.clear();
    }

    fn at(&self, instant: Instant) -> VTime {
        let since = instant.saturating_duration_since(self.start);
        VTime(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn tell_all(&mut self, now: VTime, input: &Input, watch: &mut Watch) {
        for at in 0..self.players.len() {
            let mut out = Vec::new();
            self.players[at].actor.on(now, input.clone(), &mut out);
            self.carry_out(at, out, watch);
        }
    }

    fn carry_out(&mut self, at: usize, out: Vec<Output>, watch: &mut Watch) {
        for output in out {
            match output {
                Output::Acts(word) => {
                    watch.client(Via::Person, word);
                    watch.progress(format!("a person's {word}"));
                    if self.players[at].stops {
                        let _ = self.tell.try_send(Told::Stops("stop"));
                    }
                }
                Output::Write(line) => self.write(&line, watch),
                Output::Type(keys) => {
                    watch.record.note(Via::Stdin, &keys);
                    if let Some(screen) = &self.screen {
                        let _ = screen.try_send(keys.into_bytes());
                    }
                }
                Output::CloseStdin if self.players[at].at_terminal => self.screen = None,
                Output::CloseStdin => {
                    if self.stdin.take().is_some() {
                        watch.record.note(Via::Stdin, "<close>");
                        watch.progress("stdin closed");
                    }
                }
                // none of these has a server or a companion, and the watch judges the agent's end
                Output::Request { .. }
                | Output::Listen
                | Output::HangUp
                | Output::Command(_)
                | Output::Reads(_)
                | Output::Leaves
                | Output::ComesBack
                | Output::SessionMade(_)
                | Output::Settle { .. } => {}
            }
        }
    }

    /// Writes a line with its newline.
    fn write(&mut self, line: &[u8], watch: &mut Watch) {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        watch.record.note(Via::Stdin, text);
        if let Ok(ToAgent::Response { id, .. }) = claude::to_agent(text) {
            self.open.retain(|sight| sight.id != id);
        }
        if let Some(stdin) = &self.stdin {
            let _ = stdin.try_send(line.to_vec());
        }
    }
}

/// A thread that writes; it ends, and the descriptor closes, when its sender is dropped.
fn writer(fd: OwnedFd) -> std::io::Result<std::sync::mpsc::SyncSender<Vec<u8>>> {
    let (send, receive) = std::sync::mpsc::sync_channel::<Vec<u8>>(OUTBOX);
    let writes = move || {
        let mut file = File::from(fd);
        while let Ok(bytes) = receive.recv() {
            // an agent that has closed its stdin hears no more
            if file.write_all(&bytes).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(writes)?;
    Ok(send)
}
