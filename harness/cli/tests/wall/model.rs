//! The model's server, on the wall clock: the scenario's turns and the faults of the model's stream, as on the stages.
//!
//! Invariant: one thread and one wait; what it says and when follows from the scenario and its clock.

use crate::keeper::{Order, say};
use rehang_scenario::plan::{RESPONSE_HEADER, response_at};
use rehang_scenario::turns::{Finish, Response, Turn};
use rehang_wire::http::{RequestReader, chunk, response, streaming_head};
use rehang_wire::model::script::{Item, ModelScript, Stream, chunks};
use rehang_wire::model::{Api, Encoder, ModelEvent, ToolCall, error_body};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

struct Asked {
    socket: TcpStream,
    reader: RequestReader,
    says: Option<Says>,
}

struct Says {
    stream: Stream,
    encoder: Encoder,
    api: Api,
    headed: bool,
}

/// Plays the model; its port is the first line that it prints.
pub fn play(order: &Order, _: &[String]) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    say(&listener.local_addr()?.port().to_string());
    let mut script = ModelScript::new(&order.scenario.faults);
    let mut open: Vec<Asked> = Vec::new();
    loop {
        let deadline = open.iter().filter_map(|asked| asked.says.as_ref()?.stream.deadline()).min();
        let mut polled = vec![PollFd::new(&listener, PollFlags::IN)];
        polled.extend(open.iter().map(|asked| PollFd::new(&asked.socket, PollFlags::IN)));
        // interrupted or not: what has come is read
        let _ = poll(&mut polled, Some(&order.wait(deadline)));
        let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        for at in (0..open.len()).rev().filter(|at| ready[at + 1]) {
            if !open[at].hears(order, &mut script) {
                open.remove(at);
            }
        }
        if ready[0] {
            open.push(Asked { socket: listener.accept()?.0, reader: RequestReader::new(), says: None });
        }
        open.retain_mut(|asked| asked.speaks(order));
    }
}

impl Asked {
    /// Returns `false` if the other side is gone.
    fn hears(&mut self, order: &Order, script: &mut ModelScript) -> bool {
        let mut bytes = vec![0; 65_536];
        match self.socket.read(&mut bytes) {
            Ok(n @ 1..) => self.reader.feed(&bytes[..n]),
            Ok(0) | Err(_) => return false,
        }
        if self.says.is_none()
            && let Ok(Some(request)) = self.reader.next_message()
        {
            let api = Api::of_target(&request.head.target).unwrap_or(Api::OpenAiChat);
            let path = request.head.headers.get(RESPONSE_HEADER).unwrap_or("1");
            let number = script.begun() + 1;
            let parts = response_at(&order.scenario.turns, path);
            let parts = parts.unwrap_or_else(|| Response { parts: Vec::new(), finish: Finish::Stop });
            let mut calls = 0;
            let all = chunks(&parts, str::to_owned, |turn| {
                calls += 1;
                call(api, turn, &format!("call_{number}_{calls}"))
            });
            let stream = script.begin(all, order.now());
            let encoder = Encoder::new(api, &format!("response_{number}"), "scripted");
            self.says = Some(Says { stream, encoder, api, headed: false });
        }
        true
    }

    /// Says what is due; returns `false` if the connection is over.
    fn speaks(&mut self, order: &Order) -> bool {
        let Some(says) = &mut self.says else { return true };
        for item in says.stream.poll(order.now()) {
            let (bytes, over) = says.bytes(&item);
            if self.socket.write_all(&bytes).is_err() {
                return false;
            }
            if over {
                if item == Item::Reset {
                    // closed with what is unsent thrown away
                    let _ = rustix::net::sockopt::set_socket_linger(&self.socket, Some(std::time::Duration::ZERO));
                }
                return false;
            }
        }
        true
    }
}

impl Says {
    /// The bytes of an item, and whether the connection is over after it.
    fn bytes(&mut self, item: &Item) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        if !self.headed && !matches!(item, Item::Status(_) | Item::Reset) {
            self.headed = true;
            out.extend(streaming_head(200, &[("content-type", "text/event-stream")]));
        }
        match item {
            Item::Event(event) => out.extend(chunk(&self.encoder.event(event))),
            Item::KeepAlive => out.extend(chunk(&self.encoder.event(&ModelEvent::KeepAlive))),
            Item::Compacting(_) => {}
            Item::Ended { clean } => {
                let end = if *clean { self.encoder.end() } else { Vec::new() };
                if !end.is_empty() {
                    out.extend(chunk(&end));
                }
                out.extend(b"0\r\n\r\n");
                return (out, true);
            }
            Item::Reset => return (out, true),
            Item::Status(status) => {
                let body = error_body(self.api, *status, "scripted error").to_string();
                let after = self.stream.retry_after().map(|span| span.as_ms().div_ceil(1000).to_string());
                let mut headers = vec![("content-type", "application/json"), ("connection", "close")];
                headers.extend(after.as_deref().map(|seconds| ("retry-after", seconds)));
                out.extend(response(*status, &headers, body.as_bytes()));
                return (out, true);
            }
        }
        (out, false)
    }
}

/// A tool call in the agent's wire format.
fn call(api: Api, turn: &Turn, id: &str) -> Option<ToolCall> {
    let claude = api == Api::Anthropic;
    let (name, input) = match turn {
        Turn::Ask(questions) => {
            (if claude { "AskUserQuestion" } else { "question" }, json!({ "questions": questions }))
        }
        Turn::Bash(bash) => (if claude { "Bash" } else { "bash" }, json!({ "command": bash.command })),
        Turn::Task(task) => (if claude { "Task" } else { "task" }, json!({ "description": task.description })),
        Turn::Permit(permit) => (permit.tool.as_str(), json!({ "patterns": permit.patterns })),
        Turn::Say(_) | Turn::Think(_) | Turn::Together(_) | Turn::Compact(_) | Turn::Finish(_) => return None,
    };
    Some(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
}
