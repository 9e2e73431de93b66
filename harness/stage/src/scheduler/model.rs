//! The model's server on loopback: if a fault touches the model's stream, the model is a participant.
//!
//! Invariant: it says what the scenario's turns say, chunk by chunk and in virtual time, and counts its responses
//! over all sessions from 1, as the scenario's faults do.

use super::hub::{Actor, Hub};
use super::inbox::Input;
use super::model_net::Connection;
use rehang_os::{
    kernel::{Handle, InternalError},
    os::{Read, Write},
};
use rehang_scenario::{Canon, Canonical, Scenario, VTime, turns::Turn};
use rehang_trace::What;
use rehang_wire::{
    http::RequestReader,
    model::{
        ModelEvent,
        reply::{Asked, Reply, Sent},
        script::{Item, ModelScript},
    },
};
use std::collections::VecDeque;

/// Takes new connections and reads requests.
pub fn drain(hub: &mut Hub<'_>) -> Result<(), InternalError> {
    let Some(listener) = hub.model_listener else { return Ok(()) };
    while let Some(handle) = hub.kernel.accept(listener)? {
        let reader = RequestReader::new();
        hub.model.open.push(Connection {
            handle,
            reader,
            asked: None,
            answered: false,
            over: false,
            unsent: Vec::new(),
            closes: None,
        });
    }
    let mut news = false;
    for at in 0..hub.model.open.len() {
        let handle = hub.model.open[at].handle;
        while !hub.model.open[at].over {
            let connection = &mut hub.model.open[at];
            match hub.kernel.read(handle, 65_536)? {
                Read::Data(bytes) => connection.reader.feed(&bytes),
                Read::Later => break,
                Read::Eof | Read::Failed(_) => {
                    connection.over = true;
                    news = true;
                }
            }
        }
        let connection = &mut hub.model.open[at];
        if connection.asked.is_none()
            && let Ok(Some(request)) = connection.reader.next_message()
        {
            connection.asked = Some(Asked::of(&request.head));
            // an agent sends all that was said with each request: an agent that never rests grows with the square of
            // its steps
            hub.text_bytes += request.body.len();
            news = true;
        }
    }
    if news {
        hub.deliver(MODEL_SEAT, Input::Model);
    }
    flush(hub)
}

/// Sends as much as there is room for, and closes what is wholly sent.
fn flush(hub: &mut Hub<'_>) -> Result<(), InternalError> {
    let mut at = 0;
    while let Some(connection) = hub.model.open.get_mut(at) {
        while !connection.unsent.is_empty() {
            match hub.kernel.write(connection.handle, &connection.unsent)? {
                Write::Took(n) => drop(connection.unsent.drain(..n)),
                Write::Later => break,
                // there is no reader any more; that the other end is closed is seen by a read
                Write::Failed(_) => connection.unsent.clear(),
            }
        }
        match connection.closes {
            Some(reset) if connection.unsent.is_empty() => {
                let gone = hub.model.open.remove(at);
                hub.kernel.close(gone.handle, reset)?;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

/// The model's place among the actors: after wrapper, client and faults.
const MODEL_SEAT: usize = 3;

/// The model, with the responses that it has open.
pub struct Model {
    turns: Vec<Turn>,
    script: ModelScript,
    open: Vec<(Handle, Reply)>,
}

impl Model {
    /// The model that a scenario describes.
    pub fn new(scenario: &Scenario) -> Model {
        let script = ModelScript::new(&scenario.faults);
        Model { turns: scenario.turns.clone(), script, open: Vec::new() }
    }
}

impl Actor for Model {
    fn deadline(&self) -> Option<VTime> {
        self.open.iter().filter_map(|(_, reply)| reply.deadline()).min()
    }

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, _: VecDeque<Input>) -> Result<(), InternalError> {
        let gone: Vec<Handle> = hub.model.open.iter().filter(|c| c.over).map(|c| c.handle).collect();
        for handle in gone {
            hub.kernel.close(handle, true)?;
            hub.model.open.retain(|c| c.handle != handle);
            self.open.retain(|(of, _)| *of != handle);
        }
        for connection in hub.model.open.iter_mut().filter(|c| !c.answered) {
            if let Some(asked) = &connection.asked {
                connection.answered = true;
                let reply = Reply::begin(&mut self.script, &self.turns, asked, hub.now);
                self.open.push((connection.handle, reply));
            }
        }
        let mut over = Vec::new();
        for (handle, reply) in &mut self.open {
            for Sent { item, bytes, closes } in reply.poll(hub.now) {
                let does = match &item {
                    Item::Event(ModelEvent::Start) => Some("begins".to_owned()),
                    Item::Reset => Some("is reset".to_owned()),
                    Item::Status(status) => Some(format!("is {status}")),
                    Item::Ended { .. } => Some("ends".to_owned()),
                    _ => None,
                };
                if let Some(does) = does {
                    hub.record(name, What::Says(format!("response {} {does}", reply.number())));
                }
                hub.model.send(*handle, &bytes);
                if let Some(reset) = closes {
                    hub.model.close(*handle, reset);
                    over.push(*handle);
                }
            }
        }
        self.open.retain(|(handle, _)| !over.contains(handle));
        Ok(())
    }

    fn canon(&self, hub: &Hub<'_>, canon: &mut Canon) {
        let Model {
            turns: _, // not compared: they never change
            script,
            open,
        } = self;
        script.canon(canon);
        canon.list(open, |canon, (handle, reply)| {
            canon.num(hub.model.place(*handle));
            reply.canon(canon);
        });
    }
}
