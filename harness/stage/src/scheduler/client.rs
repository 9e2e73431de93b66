//! The baseline clients: the one that drives a server over HTTP, and the one that drives a stream-json agent.
//!
//! Invariant: they do what a plain client does and no more: they wait for ever.

use super::Job;
use super::hub::{Actor, Hub, PROMPT};
use super::inbox::Input;
use rehang_os::{kernel::InternalError, os::Exit};
use rehang_scenario::{Canon, Client, EventDoes, Fault, Span, VTime};
use rehang_strategy::Stream;
use rehang_trace::{Json, RunEnd};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// How long after a cut that the scenario does not time a client opens the event stream again.
const RECONNECT: Span = Span::secs(1);

/// The port in a server's first words.
pub fn port_in(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("listening on http://127.0.0.1:")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The baseline client of this cell.
pub fn actor(job: &Job<'_>, sends_prompt: bool) -> Box<dyn Actor> {
    let agent = &job.scenario.agent;
    if agent.serves() {
        Box::new(http_client(job, sends_prompt))
    } else if agent.is_driven() {
        Box::new(Driver { line: Vec::new(), result: None })
    } else {
        Box::new(Nobody)
    }
}

/// How long after a cut of this scenario a client opens its event stream again.
pub fn reconnect(job: &Job<'_>) -> Span {
    let cut = job.scenario.faults.iter().find_map(|fault| match fault {
        Fault::Event(event) => match event.does {
            EventDoes::Cut(after) => Some(after),
            _ => None,
        },
        _ => None,
    });
    cut.unwrap_or(RECONNECT)
}

fn http_client(job: &Job<'_>, sends_prompt: bool) -> HttpClient {
    HttpClient {
        kind: job.scenario.agent.client().unwrap_or_default(),
        title: job.scenario.title.clone(),
        reconnect: reconnect(job),
        sends: !sends_prompt,
        state: State::Waits,
        session: String::new(),
        reopen: None,
    }
}

/// The baseline client of a further run: a server has its session already.
pub fn next(job: &Job<'_>, sends_prompt: bool, session: &str) -> Box<dyn Actor> {
    match job.scenario.agent.serves() {
        true => Box::new(HttpClient { session: session.to_owned(), ..http_client(job, sends_prompt) }),
        false => actor(job, sends_prompt),
    }
}

/// No client: the agent has its prompt on the command line.
struct Nobody;

impl Actor for Nobody {
    fn act(&mut self, _: &mut Hub<'_>, _: &str, _: VecDeque<Input>) -> Result<(), InternalError> {
        Ok(())
    }

    fn canon(&self, _: &Hub<'_>, _: &mut Canon) {
        let Nobody = self;
    }
}

/// The client of a server.
struct HttpClient {
    kind: Client,
    title: String,
    reconnect: Span,
    /// It sends the prompt; else a strategy does.
    sends: bool,
    state: State,
    session: String,
    reopen: Option<VTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// For the server to listen.
    Waits,
    /// For the session.
    Creates(u32),
    /// For the reply to the prompt, or for the session to become idle.
    Prompted(u32),
    /// A strategy has the prompt.
    HandedOver,
    /// For the status after a reconnect.
    Asks(u32),
    /// For the messages, when the session is idle.
    Fetches(u32),
}

impl HttpClient {
    fn prompt(&mut self, hub: &mut Hub<'_>, name: &str) -> Result<(), InternalError> {
        let body = json!({ "parts": [{ "type": "text", "text": PROMPT }] });
        let route = match self.kind {
            Client::Post => "message",
            Client::Events | Client::Resync => "prompt_async",
        };
        let path = format!("/session/{}/{route}", self.session);
        self.state = State::Prompted(hub.request(name, "POST", &path, &body, None)?);
        Ok(())
    }

    /// It has its session.
    fn begin(&mut self, hub: &mut Hub<'_>, name: &str) -> Result<(), InternalError> {
        if self.kind != Client::Post {
            hub.listen_to_events(name)?;
        }
        match self.sends {
            true => self.prompt(hub, name)?,
            false => self.state = State::HandedOver,
        }
        Ok(())
    }

    fn fetch(&mut self, hub: &mut Hub<'_>, name: &str) -> Result<(), InternalError> {
        let path = format!("/session/{}/message", self.session);
        self.state = State::Fetches(hub.request(name, "GET", &path, &Value::Null, None)?);
        Ok(())
    }

    fn responded(
        &mut self,
        hub: &mut Hub<'_>,
        name: &str,
        id: u32,
        status: u16,
        body: &Json,
    ) -> Result<(), InternalError> {
        match self.state {
            State::Creates(mine) if mine == id => {
                let made = body["id"].as_str().filter(|made| !made.is_empty() && (200..300).contains(&status));
                let Some(made) = made else {
                    // nothing can be prompted, by whomever
                    hub.settle(name, RunEnd::Failed, &format!("no session: HTTP {status}"), body.text());
                    return Ok(());
                };
                self.session = made.to_owned();
                hub.session.clone_from(&self.session);
                for seat in 0..hub.inboxes.len() {
                    if seat != hub.actor {
                        hub.deliver(seat, Input::SessionMade(self.session.clone()));
                    }
                }
                self.begin(hub, name)?;
            }
            State::Prompted(mine) if mine == id => match status {
                200..300 if self.kind == Client::Post => match error_in(&body["info"]) {
                    Some(error) => hub.settle(name, RunEnd::Failed, &error, &text_of(body)),
                    None => hub.settle(name, RunEnd::Completed, "", &text_of(body)),
                },
                200..300 => {}
                status => hub.settle(name, RunEnd::Failed, &format!("HTTP {status}"), body.text()),
            },
            State::Asks(mine) if mine == id => match body[&self.session]["type"].as_str() {
                Some("busy" | "retry") => self.state = State::Prompted(0),
                _ => self.fetch(hub, name)?,
            },
            State::Fetches(mine) if mine == id => {
                let last = body.last();
                match error_in(&last["info"]) {
                    Some(error) => hub.settle(name, RunEnd::Failed, &error, &text_of(&last)),
                    None => hub.settle(name, RunEnd::Completed, "", &text_of(&last)),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn saw(&mut self, hub: &mut Hub<'_>, name: &str, event: &Json) -> Result<(), InternalError> {
        let kind = event.kind();
        if !matches!(&*kind, "session.idle" | "session.status") {
            return Ok(());
        }
        let properties = &event["properties"];
        let mine = properties["sessionID"].as_str() == Some(&self.session);
        let idle = kind == "session.idle" || properties["status"]["type"] == "idle";
        if mine && idle && matches!(self.state, State::Prompted(_)) && self.kind != Client::Post {
            self.fetch(hub, name)?;
        }
        Ok(())
    }
}

impl Actor for HttpClient {
    fn deadline(&self) -> Option<VTime> {
        self.reopen
    }

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, inbox: VecDeque<Input>) -> Result<(), InternalError> {
        if self.reopen.is_some_and(|t| t <= hub.now) {
            self.reopen = None;
            match hub.listen_to_events(name)? {
                false if hub.agent_alive() => self.reopen = Some(hub.now + self.reconnect),
                true if self.kind == Client::Resync && matches!(self.state, State::Prompted(_)) => {
                    let id = hub.request(name, "GET", "/session/status", &Value::Null, None)?;
                    hub.request(name, "GET", "/question", &Value::Null, None)?;
                    hub.request(name, "GET", "/permission", &Value::Null, None)?;
                    self.state = State::Asks(id);
                }
                _ => {}
            }
        }
        for input in inbox {
            match input {
                Input::Listening if self.state == State::Waits && !self.session.is_empty() => self.begin(hub, name)?,
                Input::Listening if self.state == State::Waits => {
                    let body = json!({ "title": self.title });
                    self.state = State::Creates(hub.request(name, "POST", "/session", &body, None)?);
                }
                Input::Response { id, status, body } => self.responded(hub, name, id, status, &body)?,
                Input::Failed { id, why } => {
                    let expected = match self.state {
                        State::Creates(mine) | State::Prompted(mine) | State::Fetches(mine) => mine == id,
                        _ => false,
                    };
                    if expected {
                        hub.settle(name, RunEnd::Failed, &format!("connection {why}"), "");
                    }
                }
                Input::Event(event) => self.saw(hub, name, &event)?,
                Input::EventsEnd => self.reopen = Some(hub.now + self.reconnect),
                Input::Exited(exit) if self.state == State::Waits => {
                    hub.settle(name, RunEnd::Failed, &format!("the server ended ({exit:?})"), "");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn canon(&self, hub: &Hub<'_>, canon: &mut Canon) {
        let HttpClient {
            kind: _,      // not compared: it never changes
            title: _,     // not compared: it never changes
            reconnect: _, // not compared: it never changes
            sends: _,     // not compared: it never changes
            state,
            session,
            reopen,
        } = self;
        let (state, request) = match state {
            State::Waits => (0, 0),
            State::Creates(id) => (1, hub.net.place(*id)),
            State::Prompted(id) => (2, hub.net.place(*id)),
            State::HandedOver => (3, 0),
            State::Asks(id) => (4, hub.net.place(*id)),
            State::Fetches(id) => (5, hub.net.place(*id)),
        };
        canon.num(state).num(request).text(session).deadline(*reopen);
    }

    fn waits_for(&self) -> Option<&'static str> {
        match self.state {
            State::HandedOver => None,
            State::Prompted(_) if self.kind != Client::Post => Some("event"),
            _ => Some("post"),
        }
    }
}

/// The last text of a message.
fn text_of(message: &Value) -> String {
    let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let texts = parts.iter().rev().filter(|part| part["type"] == "text").find_map(|part| part["text"].as_str());
    texts.unwrap_or_default().to_owned()
}

fn error_in(info: &Value) -> Option<String> {
    let error = info.get("error").filter(|e| !e.is_null())?;
    let message = error["data"]["message"].as_str().or_else(|| error["name"].as_str());
    Some(message.unwrap_or("error").to_owned())
}

/// The driver of a stream-json agent: writes the prompt, closes stdin after the result.
struct Driver {
    line: Vec<u8>,
    result: Option<(bool, String)>,
}

impl Actor for Driver {
    fn act(&mut self, hub: &mut Hub<'_>, name: &str, inbox: VecDeque<Input>) -> Result<(), InternalError> {
        for input in inbox {
            match input {
                Input::Begin if hub.streams.stdin.is_some() => {
                    let message = json!({
                        "type": "user",
                        "message": { "role": "user", "content": [{ "type": "text", "text": PROMPT }] },
                        "parent_tool_use_id": null,
                        "session_id": "",
                    });
                    hub.write_stdin(name, format!("{message}\n").as_bytes())?;
                }
                Input::Output(Stream::Stdout, bytes) => {
                    self.line.extend_from_slice(&bytes);
                    while let Some(end) = self.line.iter().position(|b| *b == b'\n') {
                        let line: Vec<u8> = self.line.drain(..=end).collect();
                        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
                        if message["type"] == "result" {
                            let text = message["result"].as_str().unwrap_or_default().to_owned();
                            // An interrupt is no `is_error`, and `error_during_execution` all the same (2.0.77).
                            let error = message["is_error"] == true || message["subtype"] != "success";
                            self.result = Some((error, text));
                            hub.close_stdin(name)?;
                        }
                    }
                }
                _ => {}
            }
        }
        if let Some(exit) = hub.exit.filter(|_| hub.stream_open == [false; 2]) {
            match (&self.result, exit) {
                (Some((false, text)), Exit::Code(0)) => hub.settle(name, RunEnd::Completed, "", text),
                (Some((true, text)), _) => hub.settle(name, RunEnd::Failed, "error result", text),
                (_, Exit::Code(0)) => hub.settle(name, RunEnd::Failed, "no result", ""),
                (_, Exit::Code(code)) => hub.settle(name, RunEnd::Failed, &format!("exit code {code}"), ""),
                (_, Exit::Signal(sig)) => hub.settle(name, RunEnd::Failed, &format!("SIG{}", sig.name()), ""),
            }
        }
        Ok(())
    }

    fn canon(&self, _: &Hub<'_>, canon: &mut Canon) {
        let Driver { line, result } = self;
        canon.bytes(line).flag(result.is_some());
        if let Some((error, text)) = result {
            canon.flag(*error).text(text);
        }
    }

    fn waits_for(&self) -> Option<&'static str> {
        Some(if self.result.is_some() { "exit" } else { "result" })
    }
}
