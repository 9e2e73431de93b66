//! What the client is told of threads.
//!
//! Invariant: a thread that is archived is in no list.

use super::super::release::Protocol;
use super::super::voice::Told;
use super::super::voice::shapes::{self, Threaded, Turned};
use super::{AppServer, Thread};
use rehang_scenario::time::instant;
use serde_json::{Value, json};

impl AppServer {
    pub(super) fn thread(&mut self, at: usize, listed: bool, turns: Vec<Value>) -> Value {
        let (release, client) = (self.release(), self.client.clone().unwrap_or_default());
        let thread = &mut self.threads[at];
        let id = thread.voice().thread_id();
        let status = thread.voice().status.clone();
        let Thread { name, preview, at, cwd, path, .. } = thread;
        let (name, at) = (name.as_deref(), *at);
        let of = Threaded { id: &id, cwd, client: &client, preview, name, path, at, status, listed, turns };
        shapes::thread(release, &of)
    }

    pub(super) fn opened(&mut self, at: usize, turns: Vec<Value>, resumes: Option<usize>) -> Value {
        let (release, thread) = (self.release(), self.thread(at, false, turns));
        let Thread { fake, chosen, .. } = &self.threads[at];
        shapes::opened(release, &thread, fake.args.approval.word(), (fake.args.sandbox, *chosen), resumes)
    }

    /// The turns of a thread with their items, of which a message that is being said is none; 0.116.0 numbers them anew, and
    /// forgets the commands of a turn that is over.
    pub(super) fn turns(&mut self, at: usize) -> Vec<Value> {
        let release = self.release();
        let mut number = 0;
        let running = self.threads[at].voice().running.clone();
        let tell = |told: &Told| {
            let mut items = told.items.clone();
            let ended = told.status != "inProgress";
            if !ended {
                items.extend(running.values().cloned());
            }
            if release.server != Protocol::Timed {
                items.retain(|item| !ended || item["type"] != "commandExecution");
                for item in items.iter_mut().filter(|item| item["type"] != "commandExecution") {
                    number += 1;
                    item["id"] = json!(format!("item-{number}"));
                }
            }
            let ends = ended.then_some(told.ended);
            let of = Turned { status: told.status, items: Some(items), ..Turned::asked(&told.id) };
            shapes::turn(release, &Turned { started: Some(told.began), completed: ends, ..of })
        };
        self.threads[at].voice().turns.iter().map(tell).collect()
    }

    pub(super) fn list(&mut self) -> Value {
        let kept = |thread: &Thread| !thread.archived && !thread.preview.is_empty();
        let mut listed: Vec<usize> = (0..self.threads.len()).filter(|at| kept(&self.threads[*at])).collect();
        listed.reverse();
        let data: Vec<Value> = listed.iter().map(|at| self.thread(*at, true, Vec::new())).collect();
        if self.release().server != Protocol::Timed {
            return json!({"data": data, "nextCursor": null});
        }
        let mut states = json!({});
        for at in &listed {
            let voice = self.threads[*at].voice();
            states[voice.thread_id()] = voice.read_state();
        }
        let newest = listed.first().map(|at| instant(self.threads[*at].at.1 * 1_000));
        json!({"data": data, "readStates": states, "nextCursor": null, "backwardsCursor": newest})
    }
}
