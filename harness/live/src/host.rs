//! Whoever holds the agent's stdin or its terminal: a stream-json host, and the people behind it.
//!
//! Invariant: writing never blocks the watch. A host closes stdin behind a result, as a plain one does, unless the
//! scenario's people are the ones who write there.

use crate::people::{self, Sight};
use crate::plan::CellSpec;
use crate::report::{Ask, Via};
use crate::supervisor::Input;
use crate::watch::Watch;
use rehang_agents::Form;
use rehang_scenario::{Does, Person, Sees, Via as By};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How many lines may wait to be written.
const OUTBOX: usize = 64;

/// The host.
#[derive(Debug)]
pub struct Host {
    stdin: Option<std::sync::mpsc::SyncSender<Vec<u8>>>,
    screen: Option<std::sync::mpsc::SyncSender<Vec<u8>>>,
    says: Vec<String>,
    held: bool,
    people: Vec<Someone>,
    open: Vec<Sight>,
    shown: String,
    tell: mpsc::Sender<Input>,
    over: bool,
    /// Whoever acts by the clock waits for its begin, the first main request: the host has said the prompt, and how long
    /// the agent takes to its request is the machine's affair. Elsewhere the agent may wait for them before it asks.
    clock_begins: bool,
}

/// Somebody at the agent's stdin or its terminal.
#[derive(Debug)]
struct Someone {
    person: Person,
    acts: Vec<(Instant, Option<Sight>)>,
    seen: u32,
}

impl Host {
    /// A host with the agent's stdin and its terminal, where there are such.
    ///
    /// # Errors
    /// A thread that writes to them cannot be started.
    pub fn new(
        order: &CellSpec,
        stdin: Option<OwnedFd>,
        master: Option<OwnedFd>,
        tell: mpsc::Sender<Input>,
    ) -> std::io::Result<Host> {
        let of = |person: &&Person| matches!(person.via, By::Stdin | By::Tty);
        let people: Vec<Someone> = order.scenario.people.iter().filter(of).map(Someone::new).collect();
        Ok(Host {
            stdin: stdin.map(writer).transpose()?,
            screen: master.map(writer).transpose()?,
            says: order.says.clone(),
            held: order.held,
            people,
            open: Vec::new(),
            shown: String::new(),
            tell,
            over: order.form != Form::Stdin,
            clock_begins: order.form == Form::Stdin && !order.held,
        })
    }

    /// The agent has started.
    pub fn begin(&mut self, watch: &mut Watch) {
        for line in std::mem::take(&mut self.says) {
            self.write(&line, watch);
        }
        if !self.clock_begins {
            self.begin_the_clock(Instant::now());
        }
    }

    fn begin_the_clock(&mut self, at: Instant) {
        self.clock_begins = false;
        for someone in self.people.iter_mut().filter(|someone| someone.by_clock()) {
            someone.acts.push((at + someone.after(), None));
        }
    }

    /// The agent said a line on its stdout.
    pub fn hears(&mut self, line: &str, watch: &mut Watch) {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        if let Some(sight) = Sight::of_control(&message) {
            for someone in &mut self.people {
                someone.sees_ask(&sight);
            }
            self.open.push(sight);
        }
        if message["type"] == "control_cancel_request" {
            self.open.retain(|sight| message["request_id"] != sight.id.as_str());
        }
        if message["type"] == "result" && !self.over && !self.held {
            self.over = true;
            self.close(watch);
        }
    }

    /// The agent wrote this to its terminal.
    pub fn sees(&mut self, text: &str, _watch: &mut Watch) {
        self.shown.push_str(text);
        let keep = self.shown.len().saturating_sub(64 * 1024);
        if let Some(at) = (keep..self.shown.len()).find(|&at| self.shown.is_char_boundary(at)) {
            self.shown.drain(..at);
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, watch: &mut Watch) {
        if self.clock_begins && watch.startup_ms().is_some() {
            self.begin_the_clock(watch.clock());
        }
        let now = Instant::now();
        for at in 0..self.people.len() {
            let Some(due) = self.people[at].acts.iter().position(|(when, _)| *when <= now) else { continue };
            let (_, sight) = self.people[at].acts.remove(due);
            let person = self.people[at].person.clone();
            self.act(&person, sight.as_ref(), watch);
        }
    }

    /// Asks that are open.
    pub fn asks(&self) -> Vec<Ask> {
        self.open.iter().map(|sight| sight.ask("control-request", &sight.input.to_string())).collect()
    }

    /// The agent's process is over.
    pub fn agent_is_over(&mut self) {
        self.stdin = None;
        self.open.clear();
    }

    fn act(&mut self, person: &Person, sight: Option<&Sight>, watch: &mut Watch) {
        let word = people::word(&person.does);
        watch.client(Via::Person, word);
        watch.progress(format!("a person's {word}"));
        if matches!(person.does, Does::Stop) {
            let _ = self.tell.try_send(Input::Stops("stop"));
        }
        if let Some(sight) = sight {
            self.open.retain(|open| open.id != sight.id);
        }
        match (person.via, &person.does, sight) {
            (By::Tty, Does::Stop, _) => self.type_in("\u{3}", watch),
            (By::Tty, Does::Type(text), _) => self.type_in(text, watch),
            (By::Tty, Does::HangUp, _) => self.screen = None,
            (_, Does::HangUp, _) => self.close(watch),
            (_, Does::Stop, _) => self.write(&people::interrupt(), watch),
            (_, Does::Prompt(text), _) => self.write(&people::user_message(text), watch),
            (_, Does::Type(text), _) => self.write(text, watch),
            (_, does, Some(sight)) => self.write(&sight.control_response(does), watch),
            _ => {}
        }
    }

    fn write(&mut self, line: &str, watch: &mut Watch) {
        watch.record.note(Via::Stdin, line);
        if let Some(stdin) = &self.stdin {
            let _ = stdin.try_send(format!("{line}\n").into_bytes());
        }
    }

    fn type_in(&mut self, text: &str, watch: &mut Watch) {
        watch.record.note(Via::Stdin, text);
        if let Some(screen) = &self.screen {
            let _ = screen.try_send(text.as_bytes().to_vec());
        }
    }

    fn close(&mut self, watch: &mut Watch) {
        if self.stdin.take().is_some() {
            watch.record.note(Via::Stdin, "<close>");
            watch.progress("stdin closed");
        }
    }
}

impl Someone {
    fn new(person: &Person) -> Someone {
        Someone { person: person.clone(), acts: Vec::new(), seen: 0 }
    }

    fn by_clock(&self) -> bool {
        match self.person.sees {
            Some(sees) => sees == Sees::Clock,
            None => people::acts_by_clock(&self.person.does),
        }
    }

    fn after(&self) -> Duration {
        Duration::from_millis(self.person.after.as_ms())
    }

    fn sees_ask(&mut self, sight: &Sight) {
        if self.by_clock() || self.person.via != By::Stdin {
            return;
        }
        self.seen += 1;
        if self.person.ask == 0 || self.person.ask == self.seen {
            self.acts.push((Instant::now() + self.after(), Some(sight.clone())));
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
