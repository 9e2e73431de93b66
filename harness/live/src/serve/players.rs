//! A server's client and the people at other clients of it (`rehang_actors`), played at the wall clock.
//!
//! Invariant: they see the server only through the proxy, where the scenario's faults are. As in the scheduler, the
//! client is told that the server listens once the people's event streams are open.

use super::Wire;
use super::http::{CallError, Events, call};
use crate::input::Input as Told;
use crate::report::{Outcome, Via};
use crate::spec::PROXY_PORT;
use rehang_actors::{Actor, Input, Output, SessionClient, Someone, reconnect};
use rehang_scenario::{Does, VTime};
use rehang_trace::{Json, RunEnd};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The client's place among the players.
const CLIENT: usize = 0;

/// Somebody who is played.
struct Player {
    actor: Box<dyn Actor>,
    /// Their act stops the session.
    stops: bool,
    /// Their connections.
    tasks: Vec<JoinHandle<()>>,
    /// The last event that their client has seen, if events have ids.
    last_id: Option<String>,
    /// Their request to listen has not been answered yet.
    opening: bool,
}

/// What came for a player; an event with its id.
struct Came {
    to: usize,
    input: Input,
    event_id: Option<String>,
}

struct Players {
    wire: Wire,
    all: Vec<Player>,
    start: Instant,
    tell: mpsc::UnboundedSender<Came>,
    stopped: bool,
    end: Option<Outcome>,
}

/// Plays them until the client knows how it ended. The server listens; `began` says that the clock of the cell has begun.
pub async fn play(wire: Wire, mut began: watch::Receiver<bool>) -> Outcome {
    let (tell, mut inbox) = mpsc::unbounded_channel();
    let mut players = Players::new(wire, tell);
    for at in CLIENT + 1..players.all.len() {
        players.on(at, Input::Listening).await;
    }
    let (mut client_knows, mut clock_runs) = (false, false);
    loop {
        if !client_knows && players.all.iter().all(|player| !player.opening) {
            client_knows = true;
            players.on(CLIENT, Input::Listening).await;
        }
        players.tick().await;
        if let Some(end) = players.end.take() {
            return end;
        }
        let deadline = players.all.iter().filter_map(|player| player.actor.deadline()).min();
        let due = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(players.start + Duration::from_millis(at.0)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(Came { to, input, event_id }) = inbox.recv() => {
                let player = &mut players.all[to];
                player.last_id = event_id.or(player.last_id.take());
                player.opening &= !matches!(input, Input::Opened { .. } | Input::Refused { .. });
                players.on(to, input).await;
            }
            Ok(_) = began.wait_for(|began| *began), if !clock_runs => {
                clock_runs = true;
                for at in 0..players.all.len() {
                    players.on(at, Input::ClockBegins).await;
                }
            }
            () = due => {}
        }
    }
}

impl Players {
    fn new(wire: Wire, tell: mpsc::UnboundedSender<Came>) -> Players {
        let scenario = &wire.order.scenario;
        let reconnect = reconnect(&scenario.faults);
        let client = SessionClient::new(wire.order.client, &scenario.title, reconnect, true);
        let mut all = vec![Player::new(client, false)];
        for person in scenario.people.iter().filter(|person| person.via == rehang_scenario::Via::Http) {
            all.push(Player::new(Someone::new(person, true, reconnect), person.does == Does::Stop));
        }
        Players { wire, all, start: Instant::now(), tell, stopped: false, end: None }
    }

    fn now(&self) -> VTime {
        VTime(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    async fn on(&mut self, at: usize, input: Input) {
        let mut out = Vec::new();
        let now = self.now();
        self.all[at].actor.on(now, input, &mut out);
        self.carry_out(at, out).await;
    }

    async fn tick(&mut self) {
        for at in 0..self.all.len() {
            let mut out = Vec::new();
            let now = self.now();
            self.all[at].actor.tick(now, &mut out);
            self.carry_out(at, out).await;
        }
    }

    async fn carry_out(&mut self, at: usize, out: Vec<Output>) {
        for output in out {
            match output {
                Output::Acts(word) => {
                    let _ = self.wire.tell.send(Told::Client(Via::Person, word.to_owned())).await;
                    if self.all[at].stops {
                        self.stopped = true;
                        let _ = self.wire.tell.send(Told::Stops("stop")).await;
                    }
                }
                Output::Request { id, method, path, body } => self.request(at, id, method, path, body),
                Output::Listen => self.listen(at),
                Output::HangUp => self.all[at].tasks.drain(..).for_each(|task| task.abort()),
                Output::SessionMade(session) => {
                    let now = self.now();
                    for (_, player) in self.all.iter_mut().enumerate().filter(|(other, _)| *other != at) {
                        // a player who is told of the session does nothing by that alone
                        player.actor.on(now, Input::SessionMade(session.clone()), &mut Vec::new());
                    }
                }
                Output::Settle { outcome, cause, .. } => {
                    let end = match outcome {
                        _ if self.stopped => Outcome::Stopped { cause: "stop".to_owned() },
                        RunEnd::Completed => Outcome::Completed,
                        RunEnd::Stopped => Outcome::Stopped { cause },
                        RunEnd::Failed => Outcome::Failed { reason: cause },
                    };
                    self.end.get_or_insert(end);
                }
                // none of these has the agent's stdin or terminal, and there is no companion and no front end
                Output::Write(_)
                | Output::Type(_)
                | Output::CloseStdin
                | Output::Command(_)
                | Output::Reads(_)
                | Output::Leaves
                | Output::ComesBack => {}
            }
        }
    }

    fn request(&mut self, at: usize, id: u32, method: &'static str, path: String, body: Value) {
        let (wire, tell) = (self.wire.clone(), self.tell.clone());
        // repeated looks at a list are not progress
        let is_told = at == CLIENT || method != "GET";
        let task = async move {
            let text = match &body {
                Value::Null => String::new(),
                Value::String(raw) => raw.clone(),
                body => body.to_string(),
            };
            let result = call(PROXY_PORT, method, &path, text.as_bytes()).await;
            let mut line = json!({ "method": method, "path": path, "body": body });
            let input = match result {
                Ok((status, text)) => {
                    let body = Json::of_text(&text);
                    line["status"] = json!(status);
                    line["response"] = body.clone_value();
                    Input::Response { id, status, body }
                }
                Err(error) => {
                    line["error"] = json!(error.to_string());
                    Input::Failed { id, why: error.word() }
                }
            };
            if is_told {
                let _ = wire.tell.send(Told::Client(Via::Http, line.to_string())).await;
            }
            let _ = tell.send(Came { to: at, input, event_id: None });
        };
        self.keep(at, task);
    }

    fn listen(&mut self, at: usize) {
        self.all[at].opening = true;
        let (tell, last_id) = (self.tell.clone(), self.all[at].last_id.clone());
        let task = async move {
            let say = |input, event_id| tell.send(Came { to: at, input, event_id });
            let resumes = last_id.is_some();
            let mut events = match Events::open(PROXY_PORT, last_id.as_deref()).await {
                Ok(events) => events,
                Err(CallError::Refused(_) | CallError::Broken(_)) => {
                    // the supervisor knows whether the agent lives, and ends the cell
                    let _ = say(Input::Refused { resumes, alive: true }, None);
                    return;
                }
            };
            let _ = say(Input::Opened { resumes }, None);
            while let Some(event) = events.next().await {
                let _ = say(Input::Event(Json::of_text(&event.data)), event.id);
            }
            let _ = say(Input::EventsEnd { alive: true }, None);
        };
        self.keep(at, task);
    }

    fn keep(&mut self, at: usize, task: impl Future<Output = ()> + 'static) {
        let tasks = &mut self.all[at].tasks;
        tasks.retain(|task| !task.is_finished());
        tasks.push(tokio::task::spawn_local(task));
    }
}

impl Player {
    fn new(actor: impl Actor + 'static, stops: bool) -> Player {
        Player { actor: Box::new(actor), stops, tasks: Vec::new(), last_id: None, opening: false }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
