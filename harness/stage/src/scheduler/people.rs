//! People: they see what their client shows them, think for a while, and act by the way that they have.
//!
//! Invariant: nobody answers what they cannot see. What an ask is about is known from the wire by which they see
//! it; at a terminal, the question's text must stand on the screen.

mod sight;

use super::Job;
use super::client::reconnect;
use super::hub::{Actor, Hub};
use super::inbox::Input;
use rehang_os::kernel::InternalError;
use rehang_scenario::{Canon, Does, Malformed, Person, Sees, Span, VTime, Via};
use rehang_strategy::{
    Stream,
    pawwork::recovery::{COMES_BACK, LEAVES},
};
use rehang_trace::{AskKind, Json, What};
use serde_json::{Value, json};
use sight::{Sight, answers, external_in, external_reply, permission_in, question_in, questions_of};
use std::collections::VecDeque;

/// How long after an answer somebody looks at a list again. They wait for it: where none comes, they don't ask again.
const LOOKS_EVERY: Span = Span::secs(2);

/// Somebody.
pub struct Someone {
    person: Person,
    sees: Sees,
    seat: usize,
    /// opencode 1.0.185 has the legacy permission route alone.
    legacy: bool,
    acts_at: Option<VTime>,
    /// When they come back to the session that they left.
    comes_back: Option<VTime>,
    /// Asks that they have seen and will act on.
    seen: VecDeque<(VTime, Sight)>,
    known: Vec<String>,
    looks_at: Option<VTime>,
    looks: Vec<u32>,
    session: String,
    line: Vec<u8>,
    /// How long after a cut their client opens its event stream again, and when it does.
    reconnect: Span,
    reopen: Option<VTime>,
    /// It has said what it saw last: told that it is connected, it has missed too much, and looks at the lists.
    resumed: bool,
    done: bool,
}

impl Someone {
    /// A person of the scenario.
    pub fn new(person: &Person, seat: usize, _name: &str, job: &Job<'_>) -> Someone {
        let by_clock = matches!(
            person.does,
            Does::Stop
                | Does::SoftStop
                | Does::Dispose
                | Does::Leave(_)
                | Does::HangUp
                | Does::Prompt(_)
                | Does::Run(_)
                | Does::Type(_)
        );
        let sees = person.sees.unwrap_or(match person.via {
            _ if by_clock => Sees::Clock,
            Via::Tty => Sees::Screen,
            Via::Http => Sees::Events,
            Via::Stdin => Sees::Messages,
            Via::Companion => Sees::Clock,
        });
        let legacy = job.scenario.agent.has_legacy_replies();
        Someone {
            person: person.clone(),
            sees,
            seat,
            legacy,
            acts_at: (sees == Sees::Clock).then(|| job.begin + person.after),
            comes_back: None,
            seen: VecDeque::new(),
            known: Vec::new(),
            looks_at: None,
            looks: Vec::new(),
            session: String::new(),
            line: Vec::new(),
            reconnect: reconnect(job),
            reopen: None,
            resumed: false,
            done: false,
        }
    }

    fn sees_ask(&mut self, hub: &Hub<'_>, sight: Sight) {
        if self.known.contains(&sight.id) {
            return;
        }
        self.known.push(sight.id.clone());
        let nth = self.known.len() as u32;
        if self.person.ask == 0 || self.person.ask == nth {
            self.seen.push_back((hub.now + self.person.after, sight));
        }
    }

    fn look(&mut self, hub: &mut Hub<'_>, name: &str) -> Result<(), InternalError> {
        let paths: &[&str] = match self.sees {
            Sees::Blocker => &["/blocker"],
            _ => &["/question", "/permission"],
        };
        for path in paths {
            let path = self.person.directory.as_ref().map_or((*path).to_owned(), |of| format!("{path}?directory={of}"));
            self.looks.push(hub.request(name, "GET", &path, &Value::Null, None)?);
        }
        self.looks_at = None;
        Ok(())
    }

    /// One look is over, be it by an answer or without one: the next one is due when all are.
    fn looked(&mut self, hub: &Hub<'_>, id: u32) {
        self.looks.retain(|look| *look != id);
        if self.looks.is_empty() && matches!(self.sees, Sees::List | Sees::Blocker) {
            self.looks_at = Some(hub.now + LOOKS_EVERY);
        }
    }

    /// Opens the event stream again.
    fn listen_again(&mut self, hub: &mut Hub<'_>, name: &str) -> Result<(), InternalError> {
        self.reopen = None;
        self.resumed = hub.has_seen_events();
        if !hub.listen_to_events(name)? && hub.agent_alive() {
            self.reopen = Some(hub.now + self.reconnect);
        }
        Ok(())
    }

    fn take_event(&mut self, hub: &Hub<'_>, event: &Json) {
        let kind = event.kind();
        let tells = match &*kind {
            "message.part.updated" => event.text().contains("externalResultReady"),
            "session.created" | "question.asked" | "session.blocker.upserted" => true,
            _ => kind.starts_with("permission."),
        };
        if !tells {
            return;
        }
        let properties = &event["properties"];
        // 1.2's parts name their session themselves
        let session = properties["sessionID"].as_str().or_else(|| properties["part"]["sessionID"].as_str());
        let session = session.unwrap_or_default();
        // Of a run that listens, nobody says which session is the first.
        let made = &properties["info"];
        if kind == "session.created" && self.session.is_empty() && made["parentID"].is_null() {
            self.session = made["id"].as_str().unwrap_or_default().to_owned();
        }
        if self.sees == Sees::Events && session != self.session {
            return;
        }
        match &*kind {
            "question.asked" => self.sees_ask(hub, question_in(properties)),
            "permission.asked" | "permission.updated" => self.sees_ask(hub, permission_in(properties)),
            "session.blocker.upserted" => self.sees_ask(hub, question_in(&properties["request"])),
            "message.part.updated" => {
                let part = &properties["part"];
                let ready = part["state"]["metadata"]["externalResultReady"] == true;
                if ready && part["state"]["status"] == "running" {
                    let own = part["sessionID"].as_str().unwrap_or_default();
                    if self.sees == Sees::Tree || own == self.session {
                        self.sees_ask(hub, external_in(part));
                    }
                }
            }
            _ => {}
        }
    }

    fn take_list(&mut self, hub: &Hub<'_>, body: &Value) {
        for entry in body.as_array().map_or(&[][..], Vec::as_slice) {
            let sight = if entry.get("questions").is_some() {
                question_in(entry)
            } else if entry.get("request").is_some() {
                question_in(&entry["request"])
            } else {
                permission_in(entry)
            };
            if self.sees != Sees::Events || sight.session == self.session {
                self.sees_ask(hub, sight);
            }
        }
    }

    fn take_output(&mut self, hub: &Hub<'_>, bytes: &[u8]) {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            let message: Value = serde_json::from_slice(&line).unwrap_or_default();
            let request = &message["request"];
            if message["type"] == "control_request" && request["subtype"] == "can_use_tool" {
                let is_question = request["tool_name"] == "AskUserQuestion";
                let questions = serde_json::from_value(request["input"]["questions"].clone());
                let sight = Sight {
                    id: message["request_id"].as_str().unwrap_or_default().to_owned(),
                    kind: if is_question { AskKind::Question } else { AskKind::Permission },
                    session: String::new(),
                    questions: questions.unwrap_or_else(|_| questions_of(&request["input"]["questions"])),
                    extra: request["input"].clone(),
                };
                self.sees_ask(hub, sight);
            }
        }
    }

    fn look_at_screen(&mut self, hub: &Hub<'_>) {
        for ask in &hub.asks {
            if !ask.shown.is_found() {
                continue;
            }
            let sight = Sight {
                id: ask.id.clone(),
                kind: ask.kind,
                session: String::new(),
                questions: ask.questions.clone(),
                extra: Value::Null,
            };
            self.sees_ask(hub, sight);
        }
    }

    fn acts(&mut self, hub: &mut Hub<'_>, name: &str, sight: Option<&Sight>) -> Result<(), InternalError> {
        hub.record(name, What::Acts(word(&self.person.does).to_owned()));
        hub.material += 1;
        match self.person.via {
            Via::Http => self.over_http(hub, name, sight),
            Via::Stdin => self.over_stdin(hub, name, sight),
            Via::Tty => self.at_the_terminal(hub, name, sight),
            Via::Companion => {
                if let Does::Run(command) = &self.person.does {
                    for seat in hub.strategies.clone() {
                        hub.deliver(seat, Input::Command(command.clone()));
                    }
                }
                Ok(())
            }
        }
    }

    /// The front end that they sit at is told where they go.
    fn moves(&self, hub: &mut Hub<'_>, word: &str) -> Result<(), InternalError> {
        for seat in hub.strategies.clone() {
            hub.deliver(seat, Input::Command(word.to_owned()));
        }
        Ok(())
    }

    fn over_http(&mut self, hub: &mut Hub<'_>, name: &str, sight: Option<&Sight>) -> Result<(), InternalError> {
        let (path, body) = match (&self.person.does, sight) {
            (Does::Stop, _) => (format!("/session/{}/abort", self.session), Value::Null),
            (Does::SoftStop, _) => (format!("/session/{}/abort?mode=soft", self.session), Value::Null),
            (Does::Dispose, _) => ("/instance/dispose".to_owned(), Value::Null),
            (Does::Leave(away), _) => {
                self.comes_back = Some(hub.now + *away);
                return self.moves(hub, LEAVES);
            }
            (Does::HangUp, _) => return hub.close_connections(self.seat),
            (Does::Prompt(text), _) => {
                let body = json!({ "parts": [{ "type": "text", "text": text }] });
                (format!("/session/{}/prompt_async", self.session), body)
            }
            (does, Some(sight)) if !sight.extra.is_null() => match external_reply(does, sight) {
                Some(body) => (format!("/session/{}/tool/respond", sight.session), body),
                None => return Ok(()),
            },
            (does, Some(sight)) if sight.kind == AskKind::Question => match answers(does, &sight.questions) {
                Some(answers) => (format!("/question/{}/reply", sight.id), json!({ "answers": answers })),
                None => (format!("/question/{}/reject", sight.id), Value::Null),
            },
            (does, Some(sight)) => {
                let word = match does {
                    Does::Always => "always",
                    Does::Allow | Does::Answer(_) => "once",
                    _ => "reject",
                };
                match self.legacy {
                    true => {
                        (format!("/session/{}/permissions/{}", sight.session, sight.id), json!({ "response": word }))
                    }
                    false => (format!("/permission/{}/reply", sight.id), json!({ "reply": word })),
                }
            }
            (_, None) => return Ok(()),
        };
        let body = match &self.person.does {
            Does::Malformed(Malformed::Syntax) => Value::String("{\"answers\":".to_owned()),
            _ => body,
        };
        hub.request(name, "POST", &path, &body, None)?;
        Ok(())
    }

    fn over_stdin(&mut self, hub: &mut Hub<'_>, name: &str, sight: Option<&Sight>) -> Result<(), InternalError> {
        let line = match (&self.person.does, sight) {
            (Does::Stop, _) => {
                json!({"type": "control_request", "request_id": "interrupt_1", "request": {"subtype": "interrupt"}})
                    .to_string()
            }
            (Does::HangUp, _) => return hub.close_stdin(name),
            (Does::Type(text), _) => text.clone(),
            (Does::Prompt(text), _) => {
                let content = json!([{ "type": "text", "text": text }]);
                let message = json!({ "role": "user", "content": content });
                json!({"type": "user", "message": message, "parent_tool_use_id": null, "session_id": ""}).to_string()
            }
            (Does::Malformed(Malformed::Syntax), _) => "{\"type\":\"control_response\",".to_owned(),
            (does, Some(sight)) => {
                let response = match does {
                    Does::Deny | Does::Dismiss => json!({ "behavior": "deny", "message": "The user said no." }),
                    Does::Skip | Does::Allow | Does::Always => {
                        json!({ "behavior": "allow", "updatedInput": sight.extra })
                    }
                    does => {
                        let mut input = sight.extra.clone();
                        let picked = answers(does, &sight.questions).unwrap_or_default();
                        let pairs = sight.questions.iter().zip(picked);
                        let map = pairs.map(|(q, labels)| (q.question.clone(), Value::String(labels.join(", "))));
                        if let Some(input) = input.as_object_mut() {
                            input.insert("answers".to_owned(), Value::Object(map.collect()));
                        }
                        json!({ "behavior": "allow", "updatedInput": input })
                    }
                };
                let response = json!({ "subtype": "success", "request_id": sight.id, "response": response });
                json!({ "type": "control_response", "response": response }).to_string()
            }
            (_, None) => return Ok(()),
        };
        let line = format!("{line}\n").into_bytes();
        match hub.relay {
            Some(seat) => hub.deliver(seat, Input::Typed(name.to_owned(), line)),
            None => hub.write_stdin(name, &line)?,
        }
        Ok(())
    }

    fn at_the_terminal(&mut self, hub: &mut Hub<'_>, name: &str, sight: Option<&Sight>) -> Result<(), InternalError> {
        let keys = match (&self.person.does, sight) {
            (Does::Stop, _) => "\x03".to_owned(),
            (Does::HangUp, _) => return hub.close_stdin(name),
            (Does::Type(text), _) => text.clone(),
            (Does::Prompt(text), _) => format!("{text}\n"),
            (Does::Skip, sight) => "\n".repeat(sight.map_or(1, |sight| sight.questions.len().max(1))),
            (Does::Dismiss, _) => "\x04".to_owned(),
            (Does::Allow, _) => "1\n".to_owned(),
            (Does::Always, _) => "2\n".to_owned(),
            (Does::Deny, _) => "3\n".to_owned(),
            (does, Some(sight)) => {
                let picked = answers(does, &sight.questions).unwrap_or_default();
                let lines = sight.questions.iter().zip(picked).map(|(question, labels)| {
                    let number = |label: &String| {
                        let at = question.options.iter().position(|o| o.label == *label);
                        at.map_or(label.clone(), |at| (at + 1).to_string())
                    };
                    labels.iter().map(number).collect::<Vec<_>>().join(",") + "\n"
                });
                lines.collect()
            }
            (_, None) => return Ok(()),
        };
        hub.write_stdin(name, keys.as_bytes())
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

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, inbox: VecDeque<Input>) -> Result<(), InternalError> {
        let mut screen = false;
        for input in inbox {
            match input {
                // A new agent counts its asks from the start.
                Input::Begin if !hub.serves => {
                    self.known.clear();
                    self.seen.clear();
                    self.line.clear();
                }
                Input::SessionMade(session) => self.session = session,
                Input::Listening => match self.sees {
                    Sees::Events | Sees::Tree => drop(hub.listen_to_events(name)?),
                    Sees::List | Sees::Blocker if self.looks.is_empty() => self.looks_at = Some(hub.now + LOOKS_EVERY),
                    Sees::List | Sees::Blocker => {}
                    Sees::Screen | Sees::Messages | Sees::Clock => {}
                },
                Input::Event(event) if self.resumed && event.kind() == "server.connected" => {
                    self.resumed = false;
                    self.look(hub, name)?;
                }
                Input::Event(event) => self.take_event(hub, &event),
                Input::EventsEnd => self.reopen = hub.agent_alive().then(|| hub.now + self.reconnect),
                Input::Response { id, body, .. } if self.looks.contains(&id) => {
                    self.looked(hub, id);
                    self.take_list(hub, &body);
                }
                Input::Failed { id, .. } if self.looks.contains(&id) => self.looked(hub, id),
                Input::Output(Stream::Stdout, bytes) => match self.sees {
                    Sees::Messages => self.take_output(hub, &bytes),
                    _ => screen = true,
                },
                Input::Asked => screen = true,
                _ => {}
            }
        }
        if screen && self.sees == Sees::Screen {
            self.look_at_screen(hub);
        }
        if self.comes_back.is_some_and(|t| t <= hub.now) {
            self.comes_back = None;
            hub.record(name, What::Acts("come-back".to_owned()));
            return self.moves(hub, COMES_BACK);
        }
        if self.acts_at.is_some_and(|t| t <= hub.now) {
            self.acts_at = None;
            self.done = true;
            return self.acts(hub, name, None);
        }
        while self.seen.front().is_some_and(|(at, _)| *at <= hub.now) {
            if let Some((_, sight)) = self.seen.pop_front() {
                self.acts(hub, name, Some(&sight))?;
            }
        }
        if self.looks_at.is_some_and(|t| t <= hub.now) {
            self.look(hub, name)?;
        }
        if self.reopen.is_some_and(|t| t <= hub.now) {
            self.listen_again(hub, name)?;
        }
        Ok(())
    }

    fn canon(&self, hub: &Hub<'_>, canon: &mut Canon) {
        let Someone {
            person: _, // not compared: it never changes
            sees: _,   // not compared: it never changes
            seat: _,   // not compared: it never changes
            legacy: _, // not compared: it never changes
            acts_at,
            comes_back,
            seen,
            known,
            looks_at,
            looks,
            session,
            line,
            reconnect: _, // not compared: it never changes
            reopen,
            resumed,
            done,
        } = self;
        canon.flag(*done).flag(*resumed).text(session).bytes(line);
        for at in [reopen, comes_back, acts_at, looks_at] {
            canon.deadline(*at);
        }
        canon.list(known, |canon, id| {
            canon.text(id);
        });
        canon.list(looks, |canon, look| {
            canon.num(hub.net.place(*look));
        });
        canon.num(seen.len() as u64);
        for (at, sight) in seen {
            canon.deadline(Some(*at));
            sight.canon(canon);
        }
    }
}

/// What somebody does, in the scenario's word.
fn word(does: &Does) -> &'static str {
    match does {
        Does::Answer(_) | Does::Answers(_) => "answer",
        Does::Allow => "allow",
        Does::Always => "always",
        Does::Deny => "deny",
        Does::Skip => "skip",
        Does::Dismiss => "dismiss",
        Does::Stop => "stop",
        Does::Dispose => "dispose",
        Does::Leave(_) => "leave",
        Does::SoftStop => "soft-stop",
        Does::HangUp => "hang-up",
        Does::Malformed(_) => "malformed",
        Does::Type(_) => "type",
        Does::Prompt(_) => "prompt",
        Does::Run(_) => "run",
    }
}
