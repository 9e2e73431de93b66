//! People: they see what their client shows them, think for a while, and act in the way that is open to them.
//!
//! Invariant: a person does not answer what they cannot see. What an ask is about is known from the wire by which they
//! see it; at a terminal, the question's text must be on the screen.

use crate::answer::{self, word};
use crate::sight::{Sight, asked_by};
use crate::{Actor, Input, Output};
use rehang_scenario::{Canon, Does, Person, Sees, Span, VTime, Via};
use rehang_trace::Json;
use rehang_wire::claude::{self, Lines};
use rehang_wire::opencode::{Ask, Route, kind};
use serde_json::Value;
use std::collections::VecDeque;

/// How long after an answer a person looks at a list again. They wait for it: if none comes, they don't ask again.
const LOOKS_EVERY: Span = Span::secs(2);

/// In a line that is typed to an agent's stdin: the id of the last control request of the agent, which no file can know.
const LAST_REQUEST: &str = "{request}";

/// A person who takes part.
#[derive(Debug)]
pub struct Someone {
    person: Person,
    sees: Sees,
    /// Whether they use a server's client: its restart begins nothing anew.
    serves: bool,
    acts_at: Option<VTime>,
    /// When they come back to the session that they left.
    comes_back: Option<VTime>,
    /// Asks that they have seen and will act on.
    seen: VecDeque<(VTime, Sight)>,
    known: Vec<String>,
    looks_at: Option<VTime>,
    /// The requests of a look that is under way.
    looks: Vec<u32>,
    requests: u32,
    session: String,
    lines: Lines,
    /// The id of the agent's last control request, if what they type names it.
    request_seen: String,
    /// How long after a cut their client opens its event stream again, and when it does.
    reconnect: Span,
    reopen: Option<VTime>,
    /// Whether the event stream that was asked for is not the first.
    again: bool,
    /// Whether their client has said what it saw last. If the server then says that it is connected, the client has
    /// missed too much, and looks at the lists.
    resumed: bool,
    done: bool,
}

impl Someone {
    /// A person of a scenario, at an agent that is a server or is not. Their client opens a stream that was cut again
    /// after `reconnect`.
    pub fn new(person: &Person, serves: bool, reconnect: Span) -> Someone {
        let sees = person.sees.unwrap_or(match person.via {
            _ if acts_by_clock(&person.does) => Sees::Clock,
            Via::Tty => Sees::Screen,
            Via::Http => Sees::Events,
            Via::Stdin => Sees::Messages,
            Via::Companion => Sees::Clock,
        });
        Someone {
            person: person.clone(),
            sees,
            serves,
            acts_at: None,
            comes_back: None,
            seen: VecDeque::new(),
            known: Vec::new(),
            looks_at: None,
            looks: Vec::new(),
            requests: 0,
            session: String::new(),
            lines: Lines::default(),
            request_seen: String::new(),
            reconnect,
            reopen: None,
            again: false,
            resumed: false,
            done: false,
        }
    }

    /// What their client shows them.
    pub fn sees(&self) -> Sees {
        self.sees
    }

    /// The way in which they act.
    pub fn via(&self) -> Via {
        self.person.via
    }

    fn sees_ask(&mut self, now: VTime, sight: Sight) {
        if self.known.contains(&sight.id) {
            return;
        }
        self.known.push(sight.id.clone());
        let nth = self.known.len() as u32;
        if self.person.ask == 0 || self.person.ask == nth {
            self.seen.push_back((now + self.person.after, sight));
        }
    }

    fn request(&mut self, method: &'static str, path: String, body: Value, out: &mut Vec<Output>) {
        self.requests = self.requests.wrapping_add(1);
        out.push(Output::Request { id: self.requests, method, path, body });
    }

    fn look(&mut self, out: &mut Vec<Output>) {
        let lists: &[Ask] = match self.sees {
            Sees::Blocker => &[Ask::Blocker],
            _ => &[Ask::Question, Ask::Permission],
        };
        for list in lists {
            let path = Route::Asks(*list).in_folder(self.person.directory.as_deref());
            self.request("GET", path, Value::Null, out);
            self.looks.push(self.requests);
        }
        self.looks_at = None;
    }

    /// One look is over, with an answer or without one: the next one is due when all are over.
    fn looked(&mut self, now: VTime, id: u32) {
        self.looks.retain(|look| *look != id);
        if self.looks.is_empty() && matches!(self.sees, Sees::List | Sees::Blocker) {
            self.looks_at = Some(now + LOOKS_EVERY);
        }
    }

    fn take_event(&mut self, now: VTime, event: &Json) {
        // For a run that listens, nothing says which session is the first.
        if self.session.is_empty() && event.kind() == kind::SESSION_CREATED {
            let made = &event["properties"]["info"];
            if made["parentID"].is_null() {
                self.session = made["id"].as_str().unwrap_or_default().to_owned();
            }
        }
        let Some(sight) = asked_by(event) else { return };
        let properties = &event["properties"];
        // 1.2's parts name their session themselves
        let session = properties["sessionID"].as_str().or_else(|| properties["part"]["sessionID"].as_str());
        let is_root = session.unwrap_or_default() == self.session;
        let is_own = sight.extra.is_null() || sight.session == self.session;
        if self.sees == Sees::Tree || (is_own && (is_root || self.sees != Sees::Events)) {
            self.sees_ask(now, sight);
        }
    }

    fn take_list(&mut self, now: VTime, body: &Value) {
        for entry in body.as_array().map_or(&[][..], Vec::as_slice) {
            let sight = Sight::listed(entry);
            if self.sees != Sees::Events || sight.session == self.session {
                self.sees_ask(now, sight);
            }
        }
    }

    fn take_output(&mut self, now: VTime, bytes: &[u8]) {
        self.lines.push(bytes);
        while let Some(line) = self.lines.next_line() {
            if let Some(id) = claude::request_id(&line).filter(|_| self.names_request()) {
                self.request_seen = id;
            }
            if self.sees != Sees::Messages {
                continue;
            }
            if let Some(sight) = claude::from_agent(&line).as_ref().and_then(Sight::control) {
                self.sees_ask(now, sight);
            }
        }
    }

    /// Whether what they type to the agent's stdin names its last request.
    fn names_request(&self) -> bool {
        let typed = matches!(&self.person.does, Does::Type(text) if text.contains(LAST_REQUEST));
        typed && self.person.via == Via::Stdin
    }

    fn act(&mut self, now: VTime, sight: Option<&Sight>, out: &mut Vec<Output>) {
        let does = self.person.does.clone();
        out.push(Output::Acts(word(&does)));
        match (self.person.via, &does) {
            (Via::Http, Does::Leave(away)) => {
                self.comes_back = Some(now + *away);
                out.push(Output::Leaves);
            }
            (Via::Http, Does::HangUp) => out.push(Output::HangUp),
            (Via::Http, does) => {
                if let Some((path, body)) = answer::request(does, &self.session, sight) {
                    self.request("POST", path, body, out);
                }
            }
            (Via::Stdin | Via::Tty, Does::HangUp) => out.push(Output::CloseStdin),
            (Via::Stdin, does) => {
                let line = answer::line(does, sight).map(|line| line.replace(LAST_REQUEST, &self.request_seen));
                out.extend(line.map(|line| Output::Write(format!("{line}\n").into_bytes())));
            }
            (Via::Tty, does) => out.extend(answer::keys(does, sight).map(Output::Type)),
            (Via::Companion, Does::Run(command)) => out.push(Output::Command(command.clone())),
            (Via::Companion, _) => {}
        }
    }
}

impl Actor for Someone {
    fn deadline(&self) -> Option<VTime> {
        if self.done {
            return self.comes_back;
        }
        let next = self.seen.front().map(|(at, _)| *at);
        [self.acts_at, next, self.looks_at, self.reopen].into_iter().flatten().min()
    }

    fn on(&mut self, now: VTime, input: Input, out: &mut Vec<Output>) {
        match input {
            // A new agent counts its asks from the start.
            Input::Begin if !self.serves => {
                self.known.clear();
                self.seen.clear();
                self.lines = Lines::default();
            }
            Input::ClockBegins => self.acts_at = (self.sees == Sees::Clock).then(|| now + self.person.after),
            Input::SessionMade(session) => self.session = session,
            Input::Listening => match self.sees {
                Sees::Events | Sees::Tree => {
                    self.again = false;
                    out.push(Output::Listen);
                }
                Sees::List | Sees::Blocker if self.looks.is_empty() => self.looks_at = Some(now + LOOKS_EVERY),
                Sees::List | Sees::Blocker => {}
                Sees::Screen | Sees::Messages | Sees::Clock => {}
            },
            Input::Opened { resumes } if self.again => self.resumed = resumes,
            Input::Refused { resumes, alive } if self.again => {
                self.resumed = resumes;
                self.reopen = alive.then(|| now + self.reconnect);
            }
            Input::Event(event) if self.resumed && event.kind() == "server.connected" => {
                self.resumed = false;
                self.look(out);
            }
            Input::Event(event) => self.take_event(now, &event),
            Input::EventsEnd { alive } => self.reopen = alive.then(|| now + self.reconnect),
            Input::Response { id, body, .. } if self.looks.contains(&id) => {
                self.looked(now, id);
                self.take_list(now, &body);
            }
            Input::Failed { id, .. } if self.looks.contains(&id) => self.looked(now, id),
            Input::Output(bytes) if self.sees == Sees::Messages || self.names_request() => {
                self.take_output(now, &bytes)
            }
            Input::Screen(asks) if self.sees == Sees::Screen => {
                for sight in asks {
                    self.sees_ask(now, sight);
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self, now: VTime, out: &mut Vec<Output>) {
        if self.comes_back.is_some_and(|t| t <= now) {
            self.comes_back = None;
            out.extend([Output::Acts("come-back"), Output::ComesBack]);
            return;
        }
        if self.acts_at.is_some_and(|t| t <= now) {
            self.acts_at = None;
            self.done = true;
            return self.act(now, None, out);
        }
        while self.seen.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, sight)) = self.seen.pop_front() {
                self.act(now, Some(&sight), out);
            }
        }
        if self.looks_at.is_some_and(|t| t <= now) {
            self.look(out);
        }
        if self.reopen.is_some_and(|t| t <= now) {
            self.reopen = None;
            self.again = true;
            out.push(Output::Listen);
        }
    }

    fn canon(&self, place: &dyn Fn(u32) -> u64, canon: &mut Canon) {
        let Someone {
            person: _, // not compared: it never changes
            sees: _,   // not compared: it never changes
            serves: _, // not compared: it never changes
            acts_at,
            comes_back,
            seen,
            known,
            looks_at,
            looks,
            requests: _, // not compared: numbers of requests are names, written as places
            session,
            lines,
            request_seen,
            reconnect: _, // not compared: it never changes
            reopen,
            again,
            resumed,
            done,
        } = self;
        canon.flag(*done).flag(*resumed).flag(*again).text(session).bytes(lines.held()).text(request_seen);
        for at in [reopen, comes_back, acts_at, looks_at] {
            canon.deadline(*at);
        }
        canon.list(known, |canon, id| {
            canon.text(id);
        });
        canon.list(looks, |canon, look| {
            canon.num(place(*look));
        });
        canon.num(seen.len() as u64);
        for (at, sight) in seen {
            canon.deadline(Some(*at));
            sight.canon(canon);
        }
    }
}

/// Whether a person who does this acts by the clock, and not on an ask that they see.
fn acts_by_clock(does: &Does) -> bool {
    matches!(
        does,
        Does::Stop
            | Does::SoftStop
            | Does::Dispose
            | Does::Leave(_)
            | Does::HangUp
            | Does::Prompt(_)
            | Does::Run(_)
            | Does::Type(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn someone(file: Value) -> Someone {
        Someone::new(&serde_json::from_value(file).unwrap(), true, Span::secs(1))
    }

    #[test]
    fn what_is_typed_can_name_the_agents_last_request() {
        let does = json!({ "type": "to {request}" });
        let mut person = someone(json!({ "via": "stdin", "sees": "clock", "after": "1s", "does": does }));
        let mut out = Vec::new();
        person.on(VTime(0), Input::ClockBegins, &mut out);
        for line in
            [r#"{"type":"control_request","request_id":"one"}"#, r#"{"type":"control_request","request_id":"two"}"#]
        {
            person.on(VTime(1), Input::Output(format!("{line}\n").into_bytes()), &mut out);
        }
        person.on(VTime(2), Input::Output(b"{\"type\":\"result\",\"request_id\":\"three\"}\n".to_vec()), &mut out);
        person.tick(VTime(1_000), &mut out);
        assert_eq!(out.last(), Some(&Output::Write(b"to two\n".to_vec())));
    }

    fn asked(id: &str, session: &str) -> Input {
        let options = json!([{ "label": "a" }, { "label": "b" }]);
        let questions = json!([{ "question": "Which?", "options": options }]);
        let properties = json!({ "id": id, "sessionID": session, "questions": questions });
        Input::Event(Json::from(json!({ "type": "question.asked", "properties": properties })))
    }

    fn all(someone: &mut Someone, now: VTime, inputs: impl IntoIterator<Item = Input>) -> Vec<Output> {
        let mut out = Vec::new();
        for input in inputs {
            someone.on(now, input, &mut out);
        }
        someone.tick(now, &mut out);
        out
    }

    #[test]
    fn an_answer_comes_so_long_after_the_ask_was_seen_and_once() {
        let mut ann = someone(json!({ "via": "http", "after": "2s", "does": { "answer": ["b"] } }));
        let begins = [Input::Listening, Input::SessionMade("s1".to_owned())];
        assert_eq!(all(&mut ann, VTime(0), begins), [Output::Listen]);
        assert_eq!(all(&mut ann, VTime(5), [asked("q0", "another"), asked("q1", "s1"), asked("q1", "s1")]), []);
        assert_eq!(ann.deadline(), Some(VTime(2_005)));
        let path = "/question/q1/reply".to_owned();
        let request = Output::Request { id: 1, method: "POST", path, body: json!({ "answers": [["b"]] }) };
        assert_eq!(all(&mut ann, VTime(2_005), []), [Output::Acts("answer"), request]);
        assert_eq!(ann.deadline(), None);
    }

    #[test]
    fn who_sees_the_tree_sees_the_asks_of_children() {
        let mut ann = someone(json!({ "via": "http", "sees": "tree", "does": { "answer": ["b"] } }));
        all(&mut ann, VTime(0), [Input::Listening, Input::SessionMade("s1".to_owned())]);
        assert_eq!(all(&mut ann, VTime(5), [asked("q0", "a child")]).len(), 2);
    }

    #[test]
    fn a_list_is_looked_at_again_after_its_answer_and_not_before() {
        let mut ann = someone(json!({ "via": "http", "sees": "list", "does": "dismiss" }));
        all(&mut ann, VTime(0), [Input::Listening]);
        assert_eq!(all(&mut ann, VTime(2_000), []).len(), 2);
        assert_eq!(ann.deadline(), None, "both answers are to come");
        let body = || Json::from(json!([]));
        all(&mut ann, VTime(2_100), [Input::Response { id: 1, status: 200, body: body() }]);
        assert_eq!(ann.deadline(), None, "one answer is to come");
        all(&mut ann, VTime(2_200), [Input::Failed { id: 2, why: "reset" }]);
        assert_eq!(ann.deadline(), Some(VTime(4_200)));
    }

    #[test]
    fn a_stream_that_was_cut_is_opened_again() {
        let mut ann = someone(json!({ "via": "http", "does": "dismiss" }));
        all(&mut ann, VTime(0), [Input::Listening]);
        all(&mut ann, VTime(10), [Input::EventsEnd { alive: true }]);
        assert_eq!(all(&mut ann, VTime(1_010), []), [Output::Listen]);
        all(&mut ann, VTime(1_010), [Input::Refused { resumes: false, alive: true }]);
        assert_eq!(ann.deadline(), Some(VTime(2_010)));
        all(&mut ann, VTime(1_500), [Input::EventsEnd { alive: false }]);
        assert_eq!(ann.deadline(), None, "nobody listens there any more");
    }

    #[test]
    fn who_acts_by_the_clock_waits_for_its_begin() {
        let mut ann = someone(json!({ "via": "stdin", "after": "3s", "does": "stop" }));
        assert_eq!(ann.deadline(), None);
        all(&mut ann, VTime(100), [Input::ClockBegins]);
        assert_eq!(ann.deadline(), Some(VTime(3_100)));
        let [Output::Acts("stop"), Output::Write(line)] = &all(&mut ann, VTime(3_100), [])[..] else { panic!() };
        assert!(line.ends_with(b"\n"));
    }
}
