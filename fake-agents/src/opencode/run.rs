//! `run`: one prompt; it prints the events of its session, and exits when the session is idle (`cli/cmd/run.ts`).
//!
//! Invariants: a question is never answered here, in no release; the program ends on the root session's idle status as
//! its own event stream shows it, so a lost one is not made up for (#39352).

use super::args::Args;
use super::asks::{By, Permit};
use super::engine::{About, Event, Out};
use super::host::{Host, Outgoing};
use super::json::{next_field, number};
use super::listen::listen;
use super::release::{Dialect, Release};
use super::render;
use super::server::Server;
use super::state::{Body, ToolState};
use super::stdin::Stdin;
use rehang_actors::faults::{EventFaults, Passed};
use rehang_os::os::{CannotStart, Next, Os, Program, STDOUT, Wait};
use rehang_scenario::{Canon, Span, VTime, plan::Plan};
use rehang_trace::Cause;

/// What `run` denies in the session that it makes (`cli/cmd/run.ts`); before 1.3 this did not keep the tool away.
const DENIES: &[&str] = &["question", "plan_enter", "plan_exit"];
/// With `--port`: the time from the line that says where it listens to its prompt, in milliseconds. In it the real one
/// makes its session and subscribes over HTTP.
const LISTENS_MS: u64 = 1;

/// The program `run`.
pub struct Run {
    host: Host,
    args: Args,
    state: State,
    server: Option<Server>,
    faults: EventFaults<Event>,
    out: Outgoing,
    /// Whether its event stream is open, and not muted.
    hears: bool,
    root: usize,
    errors: Vec<String>,
    greeted: bool,
}

enum State {
    New,
    Reads(Stdin),
    /// With `--port`: its clients connect before the prompt is sent.
    Listens(String, VTime),
    Runs,
    Leaves(u8),
}

impl Run {
    /// A run of this plan that has not begun.
    ///
    /// # Errors
    /// An unknown strategy.
    pub fn new(release: Release, plan: &Plan, args: Args) -> Result<Run, CannotStart> {
        let mut host = Host::new(release, plan, true)?;
        host.engine.wants_json = false;
        Ok(Run {
            host,
            args,
            state: State::New,
            server: None,
            faults: EventFaults::new(&plan.faults),
            out: Outgoing::default(),
            hears: true,
            root: 0,
            errors: Vec::new(),
            greeted: false,
        })
    }

    fn begin(&mut self, os: &mut dyn Os) {
        let stdin = Stdin::begin(os, &self.host.engine.release, !self.args.prompt.is_empty());
        self.state = State::Reads(stdin);
    }

    fn prompt(&mut self, os: &mut dyn Os, piped: &str, gave_up: bool) {
        if gave_up {
            self.host.say("altimate-code: stdin produced no data; proceeding without it.");
        }
        let parts = [self.args.prompt.as_str(), piped];
        let text = parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n");
        if text.is_empty() {
            self.host.say("You must provide a message or a command");
            self.state = State::Leaves(1);
            return;
        }
        if self.args.listens
            && let Ok(listening) = listen(os, &self.args, &self.host.engine.release)
        {
            let directory = os.cwd().unwrap_or_else(|| render::DIRECTORY.to_owned());
            self.server = Some(Server::new(listening.socket, &[], None, &directory));
            self.host.say(&listening.line);
            self.state = State::Listens(text, os.now() + Span(LISTENS_MS));
            return;
        }
        self.start(os, &text);
    }

    fn start(&mut self, os: &mut dyn Os, text: &str) {
        self.state = State::Runs;
        self.host.boot(os, self.args.attach.is_none(), self.server.is_some());
        let now = os.now();
        self.root = self.host.engine.create_session(now, "New session", DENIES);
        self.host.engine.prompt(now, self.root, text, None, None);
    }

    fn hear(&mut self, now: VTime, event: Event) {
        for passed in self.faults.pass(now, event) {
            match passed {
                Passed::Event(event) if self.hears => self.take(now, &event),
                Passed::Event(_) => {}
                // Its stream is not opened again.
                Passed::Cut | Passed::Mute => self.hears = false,
            }
        }
    }

    /// Handles an event of its own stream.
    fn take(&mut self, now: VTime, event: &Event) {
        if matches!(self.state, State::Leaves(_)) {
            return;
        }
        let Some(session) = event.session else { return };
        let mine = session == self.root;
        match &event.about {
            About::Part(message, part, true) if mine => self.part(now, *message, *part),
            About::Error(name, text) if mine => {
                self.errors.push(text.clone());
                if self.args.json {
                    let mut error = String::from(",\"error\":");
                    render::error(&mut error, name, text);
                    self.line(now, "error", &error);
                } else {
                    self.host.say(&format!("Error: {text}"));
                }
            }
            About::Permission { id, permission, patterns } if mine || self.follows(session) => {
                self.permission(id, permission, &patterns.join(", "));
            }
            About::Status(false) if mine => self.state = State::Leaves(u8::from(!self.errors.is_empty())),
            _ => {}
        }
    }

    /// Whether a session is a child session whose asks this release handles.
    fn follows(&self, session: usize) -> bool {
        self.host.engine.release.run_follows_children && self.host.engine.sessions()[session].parent.is_some()
    }

    fn part(&mut self, now: VTime, message: usize, part: usize) {
        let session = &self.host.engine.sessions()[self.root];
        let (of, part) = (&session.messages[message], &session.messages[message].parts[part]);
        let kind = match &part.body {
            Body::Text { end_ms: Some(_), .. } => "text",
            Body::StepStart => "step_start",
            Body::StepFinish { .. } => "step_finish",
            Body::Tool(tool) if matches!(tool.state, ToolState::Completed { .. } | ToolState::Error { .. }) => {
                "tool_use"
            }
            _ => return,
        };
        if self.args.json {
            let mut data = String::from(",\"part\":");
            render::part(&mut data, &session.id, &of.id, part);
            self.line(now, kind, &data);
            return;
        }
        let text = match &part.body {
            Body::Text { text, .. } => text.trim().to_owned(),
            Body::Tool(tool) => match &tool.state {
                ToolState::Error { error, .. } => {
                    let (name, error) = (tool.name.clone(), error.clone());
                    self.greet();
                    self.host.say(&format!("✗ {name} failed"));
                    self.host.say(&format!("Error: {error}"));
                    return;
                }
                _ => {
                    let line = format!("| {} {}", tool.name, tool.title);
                    self.greet();
                    self.host.say(&line);
                    return;
                }
            },
            _ => {
                self.greet();
                return;
            }
        };
        if !text.is_empty() {
            self.out.push(text.as_bytes());
            self.out.push(b"\n");
        }
    }

    fn greet(&mut self) {
        if !std::mem::replace(&mut self.greeted, true) {
            let model = self.host.engine.sessions()[self.root].model.clone().unwrap_or_default();
            self.host.say(&format!("> build · {}", model.id));
        }
    }

    fn permission(&mut self, id: &str, permission: &str, patterns: &str) {
        let by = By { who: "agent".to_owned(), cause: Cause::Policy };
        let old = self.host.engine.release.dialect == Dialect::V1_0;
        if self.args.auto && !old {
            let _ = self.host.engine.reply_permission(id, Permit::Once, &by);
        } else if self.host.engine.release.run_rejects_permissions {
            self.host.say(&format!("! permission requested: {permission} ({patterns}); auto-rejecting"));
            let _ = self.host.engine.reply_permission(id, Permit::Reject, &by);
        } else {
            // 1.0.185 draws a menu among the lines of JSON, which nobody answers without a terminal.
            let menu = "│  ● Allow once\n│  ○ Always allow\n│  ○ Reject\n└\n";
            self.out.push(format!("\x1b[?25l│\n◆  Permission required to run: {patterns}\n{menu}").as_bytes());
        }
    }

    fn line(&mut self, now: VTime, kind: &str, data: &str) {
        let mut line = String::with_capacity(data.len() + 80);
        line.push_str("{\"type\":\"");
        line.push_str(kind);
        line.push_str("\",\"timestamp\":");
        number(&mut line, self.host.engine.stamp(now));
        next_field!(&mut line, "sessionID", &self.host.engine.sessions()[self.root].id);
        line.push_str(data);
        line.push_str("}\n");
        self.out.push(line.as_bytes());
    }

    fn step(&mut self, os: &mut dyn Os) -> bool {
        match &mut self.state {
            State::New => {
                self.begin(os);
                true
            }
            State::Reads(stdin) => match stdin.poll(os) {
                Some((piped, gave_up)) => {
                    self.prompt(os, &piped, gave_up);
                    true
                }
                None => false,
            },
            State::Listens(text, until) if *until <= os.now() => {
                let text = std::mem::take(text);
                self.start(os, &text);
                true
            }
            State::Listens(..) => {
                let _ = self.host.flush(os);
                self.server.as_mut().is_some_and(|server| server.poll(os, &mut self.host))
            }
            State::Leaves(_) => false,
            State::Runs => {
                let worked = self.server.as_mut().is_some_and(|server| server.poll(os, &mut self.host));
                let mut said = Vec::new();
                self.host.pump(os, &mut said);
                let silent = said.is_empty();
                for out in said {
                    match out {
                        Out::Event(event) => {
                            if let Some(server) = &mut self.server {
                                server.event(os, event.clone());
                            }
                            self.hear(os.now(), event);
                        }
                        Out::Respond(answer) => {
                            if let Some(server) = &mut self.server {
                                server.answer(&answer);
                            }
                        }
                        Out::Fact(_) | Out::Effect(_) => {}
                    }
                }
                if let Some(server) = &mut self.server {
                    server.flush(os);
                }
                if !silent || worked || self.host.engine.has_news() {
                    return true;
                }
                if let Some(server) = &mut self.server {
                    server.clock(os, &mut self.host);
                }
                let late = self.faults.due(self.host.due_by(os.now()));
                for event in &late {
                    if self.hears {
                        self.take(os.now(), event);
                    }
                }
                !late.is_empty()
            }
        }
    }
}

impl Program for Run {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        self.host.resumed();
        while self.step(os) {}
        // A run does not fail because its reader is gone: the lines are lost.
        let _ = self.out.flush(os, STDOUT);
        let mut wait = Wait::default();
        if !self.out.is_empty() {
            wait.write.push(STDOUT);
        }
        match &self.state {
            State::Leaves(code) => {
                let _ = self.host.flush(os);
                if self.out.is_empty() && self.host.silent() {
                    return Next::Exit(*code);
                }
                wait.on = "stdout";
                self.host.wait_stderr(&mut wait);
            }
            State::Reads(stdin) => {
                wait.read.push(rehang_os::os::STDIN);
                wait.until = stdin.deadline();
                wait.on = "stdin";
            }
            State::New | State::Listens(..) | State::Runs => {
                if let Some(server) = &self.server {
                    server.wait(&mut wait);
                }
                self.host.wait(os.now(), &mut wait);
                let begins = if let State::Listens(_, until) = self.state { Some(until) } else { None };
                wait.until = wait.until.into_iter().chain(self.faults.deadline()).chain(begins).min();
                if wait.on.is_empty() {
                    wait.on = "event";
                }
            }
        }
        Next::Wait(wait)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            host,
            args: _, // not compared: they never change
            state,
            server,
            faults,
            out,
            hears,
            root,
            errors,
            greeted,
        } = self;
        match state {
            State::New => {
                canon.num(0);
            }
            State::Reads(stdin) => stdin.canon(canon.num(1)),
            State::Runs => {
                canon.num(2);
            }
            State::Listens(text, until) => {
                canon.num(4).text(text).deadline(Some(*until));
            }
            State::Leaves(code) => {
                canon.num(3).num((*code).into());
            }
        }
        host.canon(canon);
        faults.canon(canon);
        out.canon(canon);
        // Of the errors, which are printed when they come, only whether there was one matters.
        canon.flag(*hears).num(*root as u64).flag(errors.is_empty()).flag(*greeted).flag(server.is_some());
        if let Some(server) = server {
            server.canon(|ticket| host.engine.place_of_ticket(ticket), canon);
        }
    }
}
