//! The client that drives a server over HTTP: it makes a session, sends the prompt, and waits for its end.
//!
//! Invariant: it does what a plain client does and nothing else: it waits for ever.

use crate::{Actor, Input, Output, PROMPT};
use rehang_scenario::{Canon, Client, EventDoes, Fault, Span, VTime};
use rehang_trace::{Json, RunEnd};
use rehang_wire::opencode::{Ask, MakeSession, Prompt, Route, Status, kind};
use serde_json::Value;

/// How long a client waits before it opens the event stream again, after a cut for which the scenario gives no time.
const RECONNECT: Span = Span::secs(1);

/// How long a client waits after a cut before it opens its event stream again, under these faults.
pub fn reconnect(faults: &[Fault]) -> Span {
    let cut = faults.iter().find_map(|fault| match fault {
        Fault::Event(event) => match event.does {
            EventDoes::Cut(after) => Some(after),
            _ => None,
        },
        _ => None,
    });
    cut.unwrap_or(RECONNECT)
}

/// The port of the address that follows these words of a server; `None` if there is none yet.
pub fn port_after(words: &str, text: &str) -> Option<u16> {
    let (_, address) = text.split_once(words)?;
    let (_, port) = address.split_whitespace().next()?.rsplit_once(':')?;
    port.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|port| *port != 0)
}

/// The client of a server.
#[derive(Debug)]
pub struct SessionClient {
    kind: Client,
    title: String,
    reconnect: Span,
    /// Whether it sends the prompt; otherwise a strategy does.
    sends: bool,
    state: State,
    requests: u32,
    session: String,
    reopen: Option<VTime>,
    /// Whether the event stream that was asked for is not the first.
    again: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It waits for the server to listen.
    Waits,
    /// It waits for the session, which it asked for with this request.
    Creates(u32),
    /// It waits for the reply to the prompt, or for the session to become idle.
    Prompted(u32),
    /// A strategy sends the prompt.
    HandedOver,
    /// It waits for the status after a reconnect.
    Asks(u32),
    /// It waits for the messages, when the session is idle.
    Fetches(u32),
}

impl SessionClient {
    /// A client of this kind. The session is made with the title; one that `sends` no prompt leaves that to a strategy.
    pub fn new(kind: Client, title: &str, reconnect: Span, sends: bool) -> SessionClient {
        SessionClient {
            kind,
            title: title.to_owned(),
            reconnect,
            sends,
            state: State::Waits,
            requests: 0,
            session: String::new(),
            reopen: None,
            again: false,
        }
    }

    /// The same, with a session that exists already.
    pub fn in_session(self, session: &str) -> SessionClient {
        SessionClient { session: session.to_owned(), ..self }
    }

    fn request(&mut self, (method, path): (&'static str, String), body: Value, out: &mut Vec<Output>) -> u32 {
        self.requests = self.requests.wrapping_add(1);
        out.push(Output::Request { id: self.requests, method, path, body });
        self.requests
    }

    fn get(&mut self, route: Route<'_>, out: &mut Vec<Output>) -> u32 {
        self.request(route.sent(), Value::Null, out)
    }

    /// Goes on once it has its session: opens the event stream, and sends the prompt if that is its part.
    fn begin(&mut self, out: &mut Vec<Output>) {
        if self.kind != Client::Post {
            self.again = false;
            out.push(Output::Listen);
        }
        if !self.sends {
            self.state = State::HandedOver;
            return;
        }
        let route = Route::Prompt { session: &self.session, waits: self.kind == Client::Post };
        self.state = State::Prompted(self.request(route.sent(), Prompt::new(PROMPT).body(), out));
    }

    fn fetch(&mut self, out: &mut Vec<Output>) {
        let route = Route::Messages { session: &self.session, limit: None };
        self.state = State::Fetches(self.request(route.sent(), Value::Null, out));
    }

    fn responded(&mut self, id: u32, status: u16, body: &Json, out: &mut Vec<Output>) {
        match self.state {
            State::Creates(mine) if mine == id => {
                let made = body["id"].as_str().filter(|made| !made.is_empty() && (200..300).contains(&status));
                let Some(made) = made else {
                    // nothing can be prompted, neither by this client nor by a strategy
                    return out.push(failed(format!("no session: HTTP {status}"), body.text()));
                };
                self.session = made.to_owned();
                out.push(Output::SessionMade(self.session.clone()));
                self.begin(out);
            }
            State::Prompted(mine) if mine == id => match status {
                200..300 if self.kind == Client::Post => out.push(end_of(body)),
                200..300 => {}
                status => out.push(failed(format!("HTTP {status}"), body.text())),
            },
            State::Asks(mine) if mine == id => match Status::of(&body[&self.session]) {
                Some(Status::Busy | Status::Retry) => self.state = State::Prompted(0),
                _ => self.fetch(out),
            },
            State::Fetches(mine) if mine == id => out.push(end_of(body.last())),
            _ => {}
        }
    }

    fn saw(&mut self, event: &Json, out: &mut Vec<Output>) {
        let kind = event.kind();
        if !matches!(kind, kind::SESSION_IDLE | kind::SESSION_STATUS) {
            return;
        }
        let properties = &event["properties"];
        let mine = properties["sessionID"].as_str() == Some(&self.session);
        let idle = kind == kind::SESSION_IDLE || Status::of(&properties["status"]) == Some(Status::Idle);
        if mine && idle && matches!(self.state, State::Prompted(_)) && self.kind != Client::Post {
            self.fetch(out);
        }
    }
}

impl Actor for SessionClient {
    fn deadline(&self) -> Option<VTime> {
        self.reopen
    }

    fn on(&mut self, now: VTime, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Listening if self.state == State::Waits && !self.session.is_empty() => self.begin(out),
            Input::Listening if self.state == State::Waits => {
                let body = MakeSession { title: self.title.clone() }.body();
                self.state = State::Creates(self.request(Route::MakeSession.sent(), body, out));
            }
            Input::Response { id, status, body } => self.responded(id, status, &body, out),
            Input::Failed { id, why } => {
                let expected = match self.state {
                    State::Creates(mine) | State::Prompted(mine) | State::Fetches(mine) => mine == id,
                    State::Waits | State::HandedOver | State::Asks(_) => false,
                };
                if expected {
                    out.push(failed(format!("connection {why}"), ""));
                }
            }
            Input::Opened { .. } if self.again => {
                self.again = false;
                if self.kind == Client::Resync && matches!(self.state, State::Prompted(_)) {
                    let id = self.get(Route::Status, out);
                    self.get(Route::Asks(Ask::Question), out);
                    self.get(Route::Asks(Ask::Permission), out);
                    self.state = State::Asks(id);
                }
            }
            Input::Refused { alive, .. } if self.again => {
                self.again = false;
                self.reopen = alive.then(|| now + self.reconnect);
            }
            Input::Event(event) => self.saw(&event, out),
            Input::EventsEnd { .. } => self.reopen = Some(now + self.reconnect),
            Input::Exited(exit) if self.state == State::Waits => {
                out.push(failed(format!("the server ended ({exit})"), ""));
            }
            _ => {}
        }
    }

    fn tick(&mut self, now: VTime, out: &mut Vec<Output>) {
        if self.reopen.is_some_and(|t| t <= now) {
            self.reopen = None;
            self.again = true;
            out.push(Output::Listen);
        }
    }

    fn canon(&self, place: &dyn Fn(u32) -> u64, canon: &mut Canon) {
        let SessionClient {
            kind: _,      // not compared: it never changes
            title: _,     // not compared: it never changes
            reconnect: _, // not compared: it never changes
            sends: _,     // not compared: it never changes
            state,
            requests: _, // not compared: numbers of requests are names, written as places
            session,
            reopen,
            again,
        } = self;
        let (state, request) = match state {
            State::Waits => (0, 0),
            State::Creates(id) => (1, place(*id)),
            State::Prompted(id) => (2, place(*id)),
            State::HandedOver => (3, 0),
            State::Asks(id) => (4, place(*id)),
            State::Fetches(id) => (5, place(*id)),
        };
        canon.num(state).num(request).text(session).deadline(*reopen).flag(*again);
    }

    fn waits_for(&self) -> Option<&'static str> {
        match self.state {
            State::HandedOver => None,
            State::Prompted(_) if self.kind != Client::Post => Some("event"),
            _ => Some("post"),
        }
    }
}

/// The end that a message stands for: its error, or its last text.
fn end_of(message: &Value) -> Output {
    let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let text = parts.iter().rev().filter(|part| part["type"] == "text").find_map(|part| part["text"].as_str());
    let text = text.unwrap_or_default();
    let error = &message["info"]["error"];
    if error.is_null() {
        return Output::Settle { outcome: RunEnd::Completed, cause: String::new(), text: text.to_owned() };
    }
    let why = error["data"]["message"].as_str().or_else(|| error["name"].as_str());
    failed(why.unwrap_or("error").to_owned(), text)
}

fn failed(cause: String, text: &str) -> Output {
    Output::Settle { outcome: RunEnd::Failed, cause, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn client(kind: Client) -> SessionClient {
        let mut client = SessionClient::new(kind, "a title", Span::secs(1), true);
        let mut out = Vec::new();
        client.on(VTime(0), Input::Listening, &mut out);
        client.on(VTime(0), Input::Response { id: 1, status: 200, body: json!({ "id": "s1" }).into() }, &mut out);
        client
    }

    fn after(client: &mut SessionClient, now: VTime, inputs: impl IntoIterator<Item = Input>) -> Vec<Output> {
        let mut out = Vec::new();
        client.tick(now, &mut out);
        for input in inputs {
            client.on(now, input, &mut out);
        }
        out
    }

    fn idle() -> Input {
        let properties = json!({ "sessionID": "s1" });
        Input::Event(json!({ "type": "session.idle", "properties": properties }).into())
    }

    fn requested(out: Vec<Output>) -> Vec<String> {
        let path = |out| match out {
            Output::Request { path, .. } => Some(path),
            _ => None,
        };
        out.into_iter().filter_map(path).collect()
    }

    #[test]
    fn a_post_is_waited_for_and_its_message_is_the_end() {
        let mut client = client(Client::Post);
        assert_eq!(after(&mut client, VTime(1), [idle()]), [], "it does not look at events");
        let body = json!({ "info": {}, "parts": [{ "type": "text", "text": "Done." }] });
        let end = Output::Settle { outcome: RunEnd::Completed, cause: String::new(), text: "Done.".to_owned() };
        assert_eq!(after(&mut client, VTime(2), [Input::Response { id: 2, status: 200, body: body.into() }]), [end]);
    }

    #[test]
    fn an_idle_session_is_the_end_of_a_client_of_events() {
        let mut client = client(Client::Events);
        assert_eq!(requested(after(&mut client, VTime(1), [idle()])), ["/session/s1/message"]);
        assert_eq!(after(&mut client, VTime(2), [idle()]), [], "it fetches the messages once");
        let body = json!([{ "info": { "error": { "name": "Aborted" } }, "parts": [] }]);
        let end = Output::Settle { outcome: RunEnd::Failed, cause: "Aborted".to_owned(), text: String::new() };
        assert_eq!(after(&mut client, VTime(3), [Input::Response { id: 3, status: 200, body: body.into() }]), [end]);
    }

    #[test]
    fn only_a_client_that_resyncs_asks_how_things_are_after_a_cut() {
        for (kind, asks) in [(Client::Events, 0), (Client::Resync, 3)] {
            let mut client = client(kind);
            assert_eq!(after(&mut client, VTime(5), [Input::EventsEnd { alive: true }]), []);
            assert_eq!(after(&mut client, VTime(1_005), []), [Output::Listen]);
            let opened = Input::Opened { resumes: false };
            assert_eq!(requested(after(&mut client, VTime(1_005), [opened])).len(), asks, "{kind:?}");
        }
    }

    #[test]
    fn the_port_comes_after_the_words() {
        let line = "opencode server listening on http://127.0.0.1:4097";
        assert_eq!(port_after("listening on", line), Some(4_097));
        assert_eq!(port_after("listening on", "listening on http://[::1]:80/ now"), Some(80));
        assert_eq!(port_after("listening on", "Warning: no password"), None);
        assert_eq!(port_after("listening on", "listening on a socket"), None);
    }
}
