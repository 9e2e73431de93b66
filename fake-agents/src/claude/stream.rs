//! The contents of a model's stream: blocks, their messages, and what happens to a stream that ends badly.
//!
//! Invariant: a response is taken up once: as whole, as cut (dropped, or asked for again), or as failed (tried again or
//! given up).

use super::calls::tool_call;
use super::engine::{Conv, Effect, Engine, Phase};
use super::hooks::Gate;
use super::release::backoff;
use super::texts;
use rehang_scenario::{VTime, canon, turns::Finish};
use rehang_strategy::{InsideSeen, Seen};
use rehang_trace::Fact;
use rehang_wire::model::{Message, ModelEvent, Part, ToolCall, script::Item};
use serde_json::{Value, json};
use std::hash::{Hash, Hasher};

/// The part of a response that has come so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Spoken {
    id: String,
    /// The text block that is open.
    text: String,
    /// The last text block that is whole.
    last_text: String,
    /// The blocks that wait for the stop reason.
    held: Vec<Value>,
    calls: Vec<ToolCall>,
    parts: Vec<Part>,
    pub finish: Option<Finish>,
    compacting: bool,
}

impl Hash for Spoken {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Spoken { id, text, last_text, held, calls, parts, finish, compacting } = self;
        (id, text, last_text, calls, parts, finish, compacting).hash(hasher);
        canon::jsons(held, hasher);
    }
}

impl Engine {
    /// Handles an item of the model's stream.
    pub fn model(&mut self, now: VTime, conv: Conv, item: Item) {
        let Conv(i) = conv;
        if self.convs.get(i).is_none_or(|talk| talk.phase != Phase::Model) {
            return;
        }
        let session = self.convs[i].session.clone();
        if std::mem::take(&mut self.convs[i].now.compacting) {
            let over = self.writer.compacting(true);
            self.emit(conv, over);
        }
        match item {
            Item::Event(ModelEvent::Start) => {
                self.counted.messages += 1;
                self.convs[i].now.id = format!("msg_{}", self.counted.messages);
                self.see(now, &Seen::Inside(InsideSeen::StreamMoved { session, progress: false }));
            }
            Item::Event(ModelEvent::TextDelta(text)) => {
                let text = text.replace("{answer}", &self.convs[i].answer);
                self.convs[i].now.text.push_str(&text);
                self.counted.streamed |= !self.convs[i].whole;
                self.note(Fact::ModelSaid { session: session.clone(), text });
                self.see(now, &Seen::Inside(InsideSeen::StreamMoved { session, progress: true }));
            }
            Item::Event(ModelEvent::ToolCall(mut call)) => {
                self.close_text(conv);
                self.counted.streamed |= !self.convs[i].whole;
                // A model server names tools as it likes; the tool that is called is the one in the script.
                let scripted = self.scripted(conv, self.convs[i].now.calls.len());
                if let Some(known) = scripted.and_then(|(_, turn)| tool_call(self.config.release, &turn, &call.id)) {
                    call = known;
                }
                if self.convs[i].parent.is_some() {
                    self.convs[i].called.push(call.name.clone());
                    self.subagent_calls(conv, &call.name, call.input["command"].as_str().unwrap_or_default());
                }
                let block = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input});
                self.block(conv, block);
                self.convs[i].now.parts.push(Part::Call(call.clone()));
                self.convs[i].now.calls.push(call);
                self.note(Fact::ModelSaid { session: session.clone(), text: String::new() });
                self.see(now, &Seen::Inside(InsideSeen::StreamMoved { session, progress: true }));
            }
            Item::Event(ModelEvent::Finish(finish)) => {
                self.close_text(conv);
                self.convs[i].now.finish = Some(finish);
                self.release_held(conv);
                self.see(now, &Seen::Inside(InsideSeen::StreamMoved { session, progress: true }));
            }
            Item::Event(ModelEvent::Error { status, .. }) => self.refused(now, conv, status.max(500)),
            Item::KeepAlive | Item::Event(ModelEvent::KeepAlive) => {
                self.see(now, &Seen::Inside(InsideSeen::StreamMoved { session, progress: false }));
            }
            Item::Compacting(_) => {
                let begins = self.writer.compacting(false);
                self.emit(conv, begins);
                self.convs[i].now.compacting = true;
            }
            Item::Ended { clean } => self.stream_ended(now, conv, clean),
            Item::Reset => self.stream_lost(now, conv),
            Item::Status(status) => self.refused(now, conv, status),
        }
    }

    /// The model's stream was silent for longer than the release waits.
    pub fn model_silent(&mut self, now: VTime, conv: Conv) {
        if self.convs.get(conv.0).is_none_or(|talk| talk.phase != Phase::Model) {
            return;
        }
        self.release_held(conv);
        let spoken = &self.convs[conv.0].now;
        let (whole, called) = (spoken.finish.is_some(), !spoken.calls.is_empty());
        if !self.config.release.keeps_silent_response() || !(whole || called) {
            return self.fall_back(now, conv);
        }
        if whole {
            return self.responded(now, conv);
        }
        self.tell_of_cut_call(conv, texts::SILENT, "stream_idle_timeout");
        self.responded(now, conv);
    }

    /// A stream that was given up is taken for a whole response.
    pub(super) fn drain(&mut self, now: VTime, conv: Conv) {
        self.close_text(conv);
        self.release_held(conv);
        self.responded(now, conv);
    }

    /// The text that the model had begun for the root when it was interrupted, if the release shows it.
    pub(super) fn show_cut_short(&mut self) {
        let spoken = &mut self.convs[0].now;
        let (id, text) = (spoken.id.clone(), std::mem::take(&mut spoken.text));
        if self.config.release.shows_cut_words() && !text.is_empty() {
            let message = self.writer.cut_short(&id, &text);
            self.effects.push(Effect::Emit(message));
        }
    }

    pub(super) fn stream_closed(&mut self, now: VTime, conv: Conv, finish: &str) {
        let session = self.convs[conv.0].session.clone();
        self.note(Fact::ModelDone { session: session.clone(), finish: finish.to_owned() });
        self.see(now, &Seen::Inside(InsideSeen::StreamClosed { session }));
    }

    fn stream_ended(&mut self, now: VTime, conv: Conv, clean: bool) {
        // a whole message has no block that could be open
        let is_cut = !clean && !self.convs[conv.0].whole && !self.convs[conv.0].now.text.is_empty();
        if is_cut && self.convs[conv.0].now.calls.is_empty() {
            return self.cut(now, conv);
        }
        self.close_text(conv);
        self.release_held(conv);
        let spoken = &self.convs[conv.0].now;
        if spoken.finish.is_none() && spoken.parts.is_empty() {
            return self.failed_try(now, conv, texts::NO_CONNECTION, "connection_failed", None);
        }
        if !clean && spoken.finish.is_none() {
            self.tell_of_cut_call(conv, texts::CUT, "connection_failed");
        }
        self.responded(now, conv);
    }

    /// The stream ended in the middle of a text, which is dropped. 1.0.128 and 2.0.77 end the turn; 2.1.329 asks again as
    /// after a failure, and the second time at once, as one whole message (recorded).
    fn cut(&mut self, now: VTime, conv: Conv) {
        if self.config.release.drops_cut_response() {
            self.stream_closed(now, conv, "none");
            return match self.convs[conv.0].parent {
                Some(_) => self.subagent_ended(now, conv, "", true),
                None => self.end_turn(now, None, None),
            };
        }
        match std::mem::replace(&mut self.convs[conv.0].cut, true) {
            false => self.failed_try(now, conv, texts::NO_CONNECTION, "connection_failed", None),
            true => self.fall_back(now, conv),
        }
    }

    /// What 2.1.329 says of a response that broke off after a call, which it runs.
    fn tell_of_cut_call(&mut self, conv: Conv, text: &str, word: &str) {
        if self.config.release.drops_cut_response() || self.convs[conv.0].now.calls.is_empty() {
            return;
        }
        let parent = self.convs[conv.0].parent.clone();
        let said = self.writer.synthetic(text, (word, None), Some("tool_use"), parent.as_deref());
        self.emit(conv, said);
    }

    fn stream_lost(&mut self, now: VTime, conv: Conv) {
        let spoken = &self.convs[conv.0].now;
        // what it has called by then is run, and the response is not asked for again
        if !spoken.calls.is_empty() {
            self.close_text(conv);
            self.release_held(conv);
            self.tell_of_cut_call(conv, texts::CUT, "connection_failed");
            return self.responded(now, conv);
        }
        if self.config.release.drops_cut_response() && !spoken.id.is_empty() {
            return self.fall_back(now, conv);
        }
        self.failed_try(now, conv, texts::NO_CONNECTION, "connection_failed", None);
    }

    /// A stream that broke is asked for again at once, as one whole message; what has come of it is dropped. If a whole
    /// message does not come, it is tried again as a request that failed.
    fn fall_back(&mut self, now: VTime, conv: Conv) {
        if std::mem::replace(&mut self.convs[conv.0].whole, true) {
            return self.failed_try(now, conv, texts::NO_CONNECTION, "connection_failed", None);
        }
        self.stream_closed(now, conv, "error");
        self.ask_model(now, conv);
    }

    fn refused(&mut self, now: VTime, conv: Conv, status: u16) {
        let (kind, message) = texts::api_error_kind(status);
        let text = texts::api_error(self.config.release, status, kind, message);
        // a stream that the server refuses is asked for at once as one whole message (recorded for 400, 429 and 500)
        let again = matches!(status, 408 | 409 | 429) || status >= 500;
        if (again || status == 400) && self.config.release.drops_cut_response() && !self.convs[conv.0].whole {
            return self.fall_back(now, conv);
        }
        if again {
            return self.failed_try(now, conv, &text, kind, Some(status));
        }
        self.stream_closed(now, conv, "error");
        self.give_up(now, conv, &text, kind, Some(status));
    }

    fn failed_try(&mut self, now: VTime, conv: Conv, text: &str, word: &str, status: Option<u16>) {
        self.stream_closed(now, conv, "error");
        let talk = &mut self.convs[conv.0];
        talk.tries += 1;
        let max = self.config.release.retries_max(talk.whole);
        if talk.tries > max {
            return self.give_up(now, conv, text, word, status);
        }
        let (tries, delay) = (talk.tries, backoff(talk.tries));
        talk.phase = Phase::Backoff;
        talk.until = Some(now + delay);
        if self.config.release.tells_of_retries() {
            let retry = self.writer.retry(tries, max, delay, status);
            self.emit(conv, retry);
        }
    }

    /// A response is whole, or is taken for whole.
    fn responded(&mut self, now: VTime, conv: Conv) {
        self.counted.responses += 1;
        let finish = self.convs[conv.0].now.finish;
        self.stream_closed(
            now,
            conv,
            match finish {
                Some(Finish::Stop) => "stop",
                Some(Finish::ToolCalls) => "tool-calls",
                Some(Finish::Unknown) => "unknown",
                Some(Finish::None) | None => "none",
            },
        );
        self.remember(conv);
        let talk = &mut self.convs[conv.0];
        (talk.tries, talk.cut, talk.whole) = (0, false, false);
        let calls = std::mem::take(&mut talk.now.calls);
        if !calls.is_empty() {
            talk.phase = Phase::Tools;
            return self.begin_calls(now, conv, calls);
        }
        let (text, parent) = (talk.now.last_text.clone(), talk.parent.is_some());
        self.next_response(conv);
        if !parent && std::mem::take(&mut self.owes_response) {
            return self.ask_model(now, conv);
        }
        match parent.then_some(()) {
            Some(_) if self.hooked(now, Gate::SubagentStop(conv, text.clone())) => {}
            Some(_) => self.subagent_ended(now, conv, &text, false),
            None if self.hooked(now, Gate::Stop(text.clone())) => {}
            None => self.end_turn(now, Some(&text), None),
        }
    }

    // --- blocks of a response ---

    fn close_text(&mut self, conv: Conv) {
        let text = std::mem::take(&mut self.convs[conv.0].now.text);
        if text.is_empty() {
            return;
        }
        self.convs[conv.0].now.parts.push(Part::Text(text.clone()));
        self.convs[conv.0].now.last_text.clone_from(&text);
        self.block(conv, json!({"type": "text", "text": text}));
    }

    fn block(&mut self, conv: Conv, block: Value) {
        if !self.convs[conv.0].whole {
            if !self.config.release.holds_last_block() {
                return self.emit_block(conv, &block, None);
            }
            self.release_held(conv);
        }
        self.convs[conv.0].now.held.push(block);
    }

    fn release_held(&mut self, conv: Conv) {
        let spoken = &mut self.convs[conv.0].now;
        let reason = spoken.finish.map(stop_reason);
        for block in std::mem::take(&mut spoken.held) {
            self.emit_block(conv, &block, reason);
        }
    }

    fn emit_block(&mut self, conv: Conv, block: &Value, reason: Option<&str>) {
        let talk = &self.convs[conv.0];
        // A subagent's texts are not shown; its tools are.
        if talk.parent.is_some() && block["type"] == "text" {
            return;
        }
        let (id, parent) = (talk.now.id.clone(), talk.parent.clone());
        let mut message = self.writer.assistant(&id, block, reason, parent.as_deref());
        let name = block["name"].as_str().unwrap_or_default();
        if let Some(Value::Object(meta)) = message.pointer_mut("/tool_use_meta/0")
            && self.own.as_ref().is_some_and(|own| own.has(name) && own.tools().all(|tool| tool != name))
        {
            meta.retain(|key, _| matches!(key.as_str(), "id" | "display_name"));
        }
        self.emit_under(conv, message);
        let counts = conv == Conv(0) && self.config.release.counts_assistant();
        self.counted.turns += u32::from(counts);
    }

    fn remember(&mut self, conv: Conv) {
        let parts = std::mem::take(&mut self.convs[conv.0].now.parts);
        self.convs[conv.0].messages.push(Message { role: "assistant".to_owned(), parts });
    }
}

/// The API's word for a finish.
pub(super) fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Unknown | Finish::None => "unknown",
    }
}
