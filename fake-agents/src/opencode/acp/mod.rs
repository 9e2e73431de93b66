//! `acp`: the agent of an editor, which speaks the Agent Client Protocol over stdin and stdout.
//!
//! As in the releases, it is a client of the engine's own events: what goes to the editor is made of them
//! ([`updates`]), what comes from it are requests of the engine ([`requests`]). Recorded of 1.0.185, 1.2.15, 1.3.2 and
//! 1.18.33 (tests/golden/opencode-acp-VERSION). Invariants: nothing here has a time limit, so a permission that the editor
//! never answers is waited for without end; within a tick, asks follow all updates.
//!
//! Not played: `session/list`, `session/fork`, `session/resume`, `session/close`, what `session/load` tells again of a
//! session that has messages, slash commands, the HTTP server that the releases open beside it, and the dumps of refused
//! requests on stderr.

mod requests;
mod shapes;
mod updates;

use super::engine::{Answer, Event, Out};
use super::host::{Host, Outgoing};
use super::release::{Dialect, Release};
use rehang_os::os::{CannotStart, Next, Os, Program, Read, STDERR, STDIN, STDOUT, Wait};
use rehang_scenario::{Canon, Span, VTime, plan::Plan};
use rehang_wire::claude::Lines;
use serde_json::{Value, json};
use updates::Asks;

/// How long a process lives on without its streams, if its stdin ends while a session is busy (recorded: 5.0 s in all
/// four releases).
const LEAVES_AFTER: Span = Span::secs(5);

/// The program `acp`.
pub struct Acp {
    host: Host,
    begun: bool,
    lines: Lines,
    out: Outgoing,
    /// The sessions that the editor has made or loaded, in that order. 1.0.185 tells each of them of all sessions.
    shown: Vec<Shown>,
    /// The prompts that are not answered yet.
    prompts: Vec<Prompt>,
    /// The permissions that the editor was asked for, by the id of the request.
    asks: Asks,
    tickets: u32,
    /// Whether stdin has ended.
    ended: bool,
    /// When the process ends, if its stdin has ended and a session was busy.
    leaves_at: Option<VTime>,
}

/// A session as the editor knows it.
struct Shown {
    /// Its index in the engine.
    session: usize,
    /// `build` or `plan`.
    mode: String,
}

/// A prompt that is not answered yet.
struct Prompt {
    /// Its turn.
    ticket: u32,
    /// The id of the editor's request.
    id: Value,
    session: usize,
    cancelled: bool,
    /// Whether its turn has not begun.
    is_new: bool,
}

impl Acp {
    /// A session of this plan that has not begun.
    ///
    /// # Errors
    /// An unknown strategy.
    pub fn new(release: Release, plan: &Plan) -> Result<Acp, CannotStart> {
        Ok(Acp {
            host: Host::new(release, plan, false)?,
            begun: false,
            lines: Lines::default(),
            out: Outgoing::default(),
            shown: Vec::new(),
            prompts: Vec::new(),
            asks: Asks::default(),
            tickets: 0,
            ended: false,
            leaves_at: None,
        })
    }

    fn begin(&mut self, os: &mut dyn Os) {
        self.begun = true;
        self.host.engine.live = true;
        self.host.boot(os, false, false);
        // the release calls its client `acp`, for which there is no question tool
        let enabled = os.env("OPENCODE_ENABLE_QUESTION_TOOL").is_some_and(|v| v == "1" || v == "true");
        self.host.engine.question_registered(enabled);
    }

    fn dialect(&self) -> Dialect {
        self.host.engine.release.dialect
    }

    /// Reads what the editor has written; returns whether there was anything.
    fn read(&mut self, os: &mut dyn Os) -> bool {
        if self.ended {
            return false;
        }
        match os.read(STDIN, crate::piped::READ_BYTES) {
            Read::Data(bytes) => {
                self.lines.push(&bytes);
                while let Some(line) = self.lines.next_line() {
                    self.hear(os, line.trim());
                }
                true
            }
            Read::Later => false,
            Read::Eof | Read::Failed(_) => {
                self.end(os);
                true
            }
        }
    }

    /// Its editor is gone: an idle process ends at once; of a busy one the streams close, its turns are aborted, and it
    /// ends later.
    fn end(&mut self, os: &mut dyn Os) {
        self.ended = true;
        let busy: Vec<usize> = (0..self.host.engine.sessions().len()).filter(|&at| self.host.engine.busy(at)).collect();
        if busy.is_empty() {
            return;
        }
        for session in busy {
            self.host.engine.abort(os.now(), session, None, false);
        }
        self.leaves_at = Some(os.now() + LEAVES_AFTER);
        self.out.clear();
        os.close(STDOUT);
        os.close(STDERR);
    }

    fn hear(&mut self, os: &mut dyn Os, line: &str) {
        if line.is_empty() {
            return;
        }
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return self.host.say(&format!("Failed to parse JSON message: {line}"));
        };
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => {
                let answer = self.request(os, method, &message["params"], id);
                if let Some(answer) = answer {
                    self.answer(id, answer);
                }
            }
            (Some("session/cancel"), None) => self.cancel(os, &message["params"]),
            (Some(_), None) => {}
            (None, Some(id)) => self.decided(id, &message),
            (None, None) => self.host.say(&format!("Invalid message {message}")),
        }
    }

    fn answer(&mut self, id: &Value, answer: Result<Value, Value>) {
        let mut message = json!({"jsonrpc": "2.0", "id": id});
        match answer {
            Ok(result) => message["result"] = result,
            Err(error) => message["error"] = error,
        }
        self.write(&message);
    }

    fn notify(&mut self, session: usize, update: Value) {
        let session = &self.host.engine.sessions()[session].id;
        let params = json!({"sessionId": session, "update": update});
        self.write(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    fn write(&mut self, message: &Value) {
        if self.leaves_at.is_none() {
            self.out.push(format!("{message}\n").as_bytes());
        }
    }

    /// Tells the editor of an event; a permission is put off until all updates are out.
    fn event(&mut self, event: &Event) {
        let Some(session) = event.session else { return };
        // 1.0.185 tells of all sessions, in the name of each that was made or loaded; newer ones of those alone, so an ask
        // of a subagent reaches nobody
        let old = self.dialect() == Dialect::V1_0;
        let names: Vec<usize> = self.shown.iter().map(|shown| shown.session).collect();
        let event: Value = serde_json::from_str(&event.json).unwrap_or_default();
        for name in names.into_iter().filter(|&name| old || name == session) {
            let of = &self.host.engine.sessions()[session];
            if let Some(update) = updates::update(&self.host.engine.release, of, &event) {
                self.notify(name, update);
            }
            if let Some((ask, request)) = updates::permission(&self.host.engine.release, &event) {
                self.asks.wants(name, ask, request);
            }
        }
    }

    /// A turn is over, and so are its prompts.
    fn over(&mut self, answer: &Answer) {
        let mut over: Vec<Prompt> = self.prompts.extract_if(.., |prompt| prompt.ticket == answer.ticket).collect();
        if self.dialect() == Dialect::V1_2 {
            over.reverse();
        }
        let said: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        for prompt in over {
            let result = shapes::prompted(&self.host.engine.release, &said["info"]["tokens"], prompt.cancelled);
            self.answer(&prompt.id, Ok(result));
        }
    }

    fn step(&mut self, os: &mut dyn Os) -> bool {
        let read = self.read(os);
        if read {
            self.host.came_in();
        }
        let mut said = Vec::new();
        self.host.pump(os, &mut said);
        self.prompts.iter_mut().for_each(|prompt| prompt.is_new = false);
        let silent = said.is_empty();
        for out in said {
            match out {
                Out::Event(event) => self.event(&event),
                Out::Respond(answer) => self.over(&answer),
                Out::Fact(_) | Out::Effect(_) => {}
            }
        }
        for (session, id, mut request) in self.asks.due() {
            request["sessionId"] = json!(self.host.engine.sessions()[session].id);
            let message = shapes::request(id, "session/request_permission", request);
            self.write(&message);
        }
        read || !silent || self.host.engine.has_news()
    }
}

impl Program for Acp {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if !self.begun {
            self.begin(os);
        }
        self.host.resumed();
        while self.step(os) {}
        let mut wait = Wait::default();
        match self.leaves_at {
            Some(at) if at <= os.now() => return Next::Exit(0),
            Some(at) => wait.until = Some(at),
            None => {
                // An editor that reads no more is waited for; one that has closed its end is not.
                let _ = self.out.flush(os, STDOUT);
                let _ = self.host.flush(os);
                if self.ended && self.out.is_empty() {
                    return Next::Exit(0);
                }
            }
        }
        if !self.ended {
            wait.read.push(STDIN);
        }
        if !self.out.is_empty() {
            wait.write.push(STDOUT);
        }
        if self.leaves_at.is_none() {
            self.host.wait(os.now(), &mut wait);
        }
        if wait.on.is_empty() {
            wait.on = match () {
                () if !self.out.is_empty() => "stdout",
                () if self.ended => "exit",
                () => "client",
            };
        }
        Next::Wait(wait)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            host,
            begun,
            lines,
            out,
            shown,
            prompts,
            asks,
            tickets: _, // not compared: they only name prompts, which are told apart by their run
            ended,
            leaves_at,
        } = self;
        host.canon(canon);
        canon.flag(*begun).bytes(lines.held()).flag(*ended).deadline(*leaves_at);
        out.canon(canon);
        canon.list(shown, |canon, Shown { session, mode }| {
            canon.num(*session as u64).text(mode);
        });
        canon.list(prompts, |canon, prompt| {
            let Prompt {
                ticket,
                id,
                session,
                cancelled,
                is_new: _, // not compared: it is false between resumes
            } = prompt;
            let place = host.engine.place_of_ticket(*ticket);
            canon.num(place).text(&id.to_string()).num(*session as u64).flag(*cancelled);
        });
        asks.canon(canon);
    }
}
