//! The seed's timings and its RAN defects (2.5), at decision level: exact virtual times against a scripted server.

pub(crate) mod fuzz;
mod heal;
mod monitor;
mod tables;
mod watcher;

use super::message::shapes;
use crate::{Act, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Settled};
use rehang_words::{Policy, VTime};
use serde_json::{Value as Json, json};

/// A status with its body, or why there was none.
type Posted = Result<(u16, Json), &'static str>;

/// What a strategy's environment answers, by the millisecond.
struct World {
    messages: Box<dyn Fn(u64) -> Result<Json, u16>>,
    /// When the prompt's POST ends, and how.
    post: Option<(u64, Posted)>,
    children: Box<dyn Fn(u64) -> Option<u32>>,
    pid: bool,
    worker_starts: bool,
    worker_dies: Option<u64>,
    commands: Vec<(u64, &'static str)>,
}

impl Default for World {
    fn default() -> World {
        World {
            messages: Box::new(|_| Ok(json!([]))),
            post: None,
            children: Box::new(|_| Some(0)),
            pid: true,
            worker_starts: true,
            worker_dies: None,
            commands: vec![],
        }
    }
}

/// What a run gave: each act with its time.
struct Story(Vec<(u64, Act)>);

impl Story {
    fn settled(&self) -> Option<(u64, Settled)> {
        self.0.iter().find_map(|(t, act)| match act {
            Act::Process(ProcessAct::Settle(settled)) => Some((*t, settled.clone())),
            _ => None,
        })
    }

    fn stopped(&self) -> (u64, String, String) {
        match self.settled() {
            Some((t, Settled::Stopped(cause, text))) => (t, cause, text),
            other => panic!("not stopped: {other:?}"),
        }
    }

    fn report(&self) -> Policy {
        let found = self.0.iter().rev().find_map(|(_, act)| match act {
            Act::Report(policy) => Some(policy.clone()),
            _ => None,
        });
        found.expect("a report")
    }

    fn says(&self) -> Vec<(u64, String)> {
        let says = self.0.iter().filter_map(|(t, act)| match act {
            Act::Say(text) => Some((*t, text.clone())),
            _ => None,
        });
        says.collect()
    }

    /// The only action of the heal that was commanded at `t`.
    fn action(&self, t: u64) -> (String, String) {
        let (_, said) = self.says().into_iter().find(|(at, _)| *at == t).expect("said");
        let said: Json = serde_json::from_str(&said).expect("JSON");
        let action = &said["actions"][0];
        (action["action"].as_str().unwrap_or("").to_owned(), action["details"].as_str().unwrap_or("").to_owned())
    }
}

/// Plays until it settles, or until `end` ms; with `on` beyond that, to see what comes after a settlement.
fn play(spec: &str, world: World, end: u64) -> Story {
    play_on(spec, world, end, false)
}

fn built(spec: &str) -> Box<dyn crate::Strategy> {
    crate::spec::Spec::parse(spec).and_then(|spec| spec.resolve()).map(|(e, p)| (e.build)(&p)).unwrap()
}

fn play_on(spec: &str, world: World, end: u64, on: bool) -> Story {
    let mut strategy = built(spec);
    let mut due: Vec<(u64, Seen)> =
        vec![(0, Seen::Process(ProcessSeen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() }))];
    due.extend(world.worker_dies.map(|t| (t, Seen::Protocol(ProtocolSeen::WorkerDied))));
    due.extend(
        world.commands.iter().map(|(t, command)| (*t, Seen::Protocol(ProtocolSeen::Command((*command).to_owned())))),
    );
    let mut story = Vec::new();
    let mut now = 0;
    for _ in 0..200_000 {
        due.sort_by_key(|(t, _)| *t);
        let tick = strategy.deadline().map(|at| at.0.max(now));
        let seen = match due.first() {
            Some((t, _)) if tick.is_none_or(|tick| *t <= tick) => due.remove(0),
            _ => match tick {
                Some(tick) => (tick, Seen::Tick),
                None => break,
            },
        };
        now = seen.0;
        if now > end {
            break;
        }
        let mut acts = Vec::new();
        strategy.on(VTime(now), &seen.1, &mut acts);
        let mut answers = Vec::new();
        for act in acts {
            match &act {
                Act::Protocol(ProtocolAct::Request { id, method: "POST", path, .. }) if path.ends_with("/message") => {
                    assert!(matches!(&act, Act::Protocol(ProtocolAct::Request { body, .. }) if body["parts"][0]["text"] == "go"));
                    if let Some((t, how)) = &world.post {
                        due.push((now + t, ended(*id, how)));
                    }
                }
                Act::Protocol(ProtocolAct::Request { id, path, .. }) if path.ends_with("?limit=1") => {
                    answers.push((
                        now,
                        match (world.messages)(now) {
                            Ok(body) => Seen::Protocol(ProtocolSeen::Response { id: *id, status: 200, body: body.into() }),
                            Err(0) => Seen::Protocol(ProtocolSeen::Failed { id: *id, why: "refused".to_owned() }),
                            Err(status) => Seen::Protocol(ProtocolSeen::Response { id: *id, status, body: Json::Null.into() }),
                        },
                    ));
                }
                Act::Protocol(ProtocolAct::Cancel { id }) => due.retain(|(_, seen)| {
                    !matches!(seen,
                    Seen::Protocol(ProtocolSeen::Response { id: own, .. }) | Seen::Protocol(ProtocolSeen::Failed { id: own, .. }) if own == id)
                }),
                Act::Protocol(ProtocolAct::FindPid) => answers.push((now, Seen::Protocol(ProtocolSeen::Pid(world.pid)))),
                Act::Protocol(ProtocolAct::CountChildren) => answers.push((now, Seen::Protocol(ProtocolSeen::Children((world.children)(now))))),
                Act::Protocol(ProtocolAct::LookAtWorker) => {
                    let alive = world.worker_starts && world.worker_dies.is_none_or(|t| now < t);
                    answers.push((now, Seen::Protocol(ProtocolSeen::Worker(alive))));
                }
                _ => {}
            }
            story.push((now, act));
        }
        answers.append(&mut due);
        due = answers;
        if !on && story.iter().any(|(_, act)| matches!(act, Act::Process(ProcessAct::Settle(_)))) {
            break;
        }
    }
    Story(story)
}

fn ended(id: u32, how: &Posted) -> Seen {
    match how {
        Ok((status, body)) => Seen::Protocol(ProtocolSeen::Response { id, status: *status, body: body.clone().into() }),
        Err(why) => Seen::Protocol(ProtocolSeen::Failed { id, why: (*why).to_owned() }),
    }
}

fn bash_from(start: u64) -> Box<dyn Fn(u64) -> Result<Json, u16>> {
    Box::new(move |now| Ok(if now < start { json!([]) } else { shapes::bash_running("") }))
}

const H4: u64 = 14_400_000;
