//! opencode's HTTP exchanges: the same requests get the same answers and cause the same events.
//!
//! The exchanges of one release are played in order on one engine, so a later one sees what an earlier one left. The
//! recorded requests are sent at the recorded points, the model says what it said then, and the answers and the events
//! that come out are compared with the recorded ones after ids, instants and folders are named. What is left out on
//! purpose is in [`left_out`] and [`in_lanes`], each with its reason, and nowhere else.

use crate::Compared;
use rehang_fakes::agent_host::AgentHost;
use rehang_fakes::opencode::BashEnd;
use rehang_fakes::opencode::engine::{Effect, Engine, Out, Setup};
use rehang_fakes::opencode::release::Release;
use rehang_scenario::turns::Response;
use rehang_scenario::{Span, VTime};
use rehang_wire::model::ModelEvent;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Events that the fake leaves out on purpose, and why.
fn left_out(event: &Value, known: &[String]) -> bool {
    let kind = event["type"].as_str().unwrap_or_default();
    // They come by the clock, whatever the exchange; `heartbeats` in the persona's own tests looks at them.
    kind == "server.heartbeat"
        // The catalogue of references and integrations is loaded in the background; no client of a session reads it.
        || matches!(kind, "reference.updated" | "integration.updated")
        // Recording 11, which is not among the files, still runs while 13 is recorded.
        || session_of(event).is_some_and(|session| !known.contains(&session))
}

/// The order that a recording holds by chance is not compared.
///  - The summary of a session's diffs is made in the background (`session/summary.ts`): its events are a lane of
///    their own for each session, compared in their own order.
///  - Two such summaries of one session, after two steps, may overlap (1.2.15, 01): which of their `session.diff` comes
///    before the other's `session.updated` is chance, so the diffs are a lane of their own too.
///  - The ask and the part of its call that says `running` are published by two fibers: the ask is put first.
///  - 1.18.33 publishes some events by reference and writes them later, so the first word of a reply may show its end
///    (13): of a reply's first event only the id is compared. A session's tokens in a summary are as late (13).
///  - 1.0.185 asks for a permission while it still reads the stream that called the tool: where the ask comes among the
///    first parts of its step is chance, so its asks are a lane of their own.
///  - 1.0.185 asks its model for the title of a message, by a request that the fake does not make: the title is left
///    out, and so is the event that brings it.
///  - The calls of one response go on at the same time: those after the first are each a lane of their own.
///  - 1.18.33 sends a `task` part twice (13): of equal events of such a part in a row one is kept.
fn in_lanes(events: Vec<Value>) -> BTreeMap<String, Vec<Value>> {
    let mut lanes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut begun: Vec<String> = Vec::new();
    let mut titled: Vec<String> = Vec::new();
    let mut first_calls: BTreeMap<String, Value> = BTreeMap::new();
    for mut event in events {
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let summary = !event["properties"]["info"]["summary"].is_null();
        let info_role = event["properties"]["info"]["role"].as_str().unwrap_or_default().to_owned();
        let background = matches!(kind.as_str(), "session.created" | "session.updated" | "session.diff")
            || (kind == "message.updated" && info_role == "user" && summary);
        if let Some(Value::Object(info)) = event.pointer_mut("/properties/info") {
            if kind == "session.updated" {
                info.remove("tokens");
            }
            if kind == "message.updated" && info_role == "assistant" {
                let id = info["id"].as_str().unwrap_or_default().to_owned();
                if !begun.contains(&id) {
                    *info = Map::from_iter([("id".to_owned(), json!(id.clone()))]);
                    begun.push(id);
                }
            }
        }
        if let Some(Value::Object(summary)) = event.pointer_mut("/properties/info/summary")
            && summary.remove("title").is_some()
        {
            let id = event["properties"]["info"]["id"].as_str().unwrap_or_default().to_owned();
            if !titled.contains(&id) {
                titled.push(id);
                continue;
            }
        }
        let session = session_of(&event).unwrap_or_default();
        let part = &event["properties"]["part"];
        let message = part["messageID"].as_str().filter(|_| part["type"] == "tool");
        let later = message.is_some_and(|message| {
            *first_calls.entry(message.to_owned()).or_insert_with(|| part["callID"].clone()) != part["callID"]
        });
        let lane = match (background, kind.as_str()) {
            _ if later => format!("call {}", part["callID"]),
            (true, "session.diff") => format!("diffs of {session}"),
            (true, _) => format!("background of {session}"),
            (false, "permission.updated") => format!("asks of {session}"),
            (false, _) => "turn".to_owned(),
        };
        let lane = lanes.entry(lane).or_default();
        let task = event["properties"]["part"]["tool"] == "task";
        let last = lane.iter().rev().map(|e| &e["properties"]["part"]).find(|part| part["tool"] == "task");
        if task && last == Some(&event["properties"]["part"]) {
            continue;
        }
        let asked = kind.ends_with(".asked");
        let call = event["properties"]["tool"]["callID"].clone();
        let runs = |e: &Value| {
            let part = &e["properties"]["part"];
            part["state"]["status"] == "running" && part["callID"] == call
        };
        match lane.iter().rposition(runs).filter(|_| asked && !call.is_null()) {
            Some(at) => lane.insert(at, event),
            None => lane.push(event),
        }
    }
    lanes
}

/// What the model says to a request: the response's place in the plan, the response, and what the last tool call told
/// the model.
pub type Model<'a> = dyn FnMut(&str, &Response, &str) -> Vec<ModelEvent> + 'a;

/// The fake and the recordings, side by side.
pub struct Pair {
    engine: Engine,
    now: VTime,
    tickets: u32,
    events: Vec<Value>,
    answers: BTreeMap<u32, (u16, Value)>,
    recorded_names: Names,
    fake_names: Names,
    known: Vec<String>,
    compared: Compared,
    /// The provider and model of a prompt that names none: they come from the release's configuration, which the fake
    /// does not have.
    model: Option<(String, String)>,
}

/// Names for ids, in the order in which they are met.
#[derive(Default)]
struct Names {
    names: BTreeMap<String, String>,
    counts: BTreeMap<String, u32>,
}

impl Pair {
    /// A fake of this release; `None` if no fake plays it.
    pub fn new(version: &str, setup: Setup) -> Option<Pair> {
        Some(Pair {
            engine: Engine::new(Release::opencode(version).ok()?, setup, AgentHost::default()),
            now: VTime(1_000),
            tickets: 0,
            events: Vec::new(),
            answers: BTreeMap::new(),
            recorded_names: Names::default(),
            fake_names: Names::default(),
            known: Vec::new(),
            compared: Compared::default(),
            model: None,
        })
    }

    /// With this provider and model for a prompt that names none, as the release's configuration has them.
    #[must_use]
    pub fn with_model(mut self, provider: &str, model: &str) -> Pair {
        self.model = Some((provider.to_owned(), model.to_owned()));
        self
    }

    /// Plays an exchange and compares. `lines` are those of a recording: `{t, kind, …}`.
    pub fn play(&mut self, name: &str, lines: &[Value], model: &mut Model<'_>) -> Compared {
        let rests: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "rest").collect();
        let sse: Vec<Value> =
            lines.iter().filter(|line| line["kind"] == "sse:event").map(|line| line["ev"].clone()).collect();
        self.known.extend(sse.iter().filter(|e| e["type"] == "session.created").filter_map(session_of));
        let recorded: Vec<Value> = sse.into_iter().filter(|event| !left_out(event, &self.known)).collect();
        let mut chunks = bash_chunks(&recorded);

        let mut asked: Vec<(&Value, u32)> = Vec::new();
        for rest in in_the_order_sent(rests) {
            let Some(path) = self.fake_path(rest["path"].as_str().unwrap_or_default(), &recorded) else {
                self.compared.differ(format!("{name}: a request"), rest["path"].clone(), "has no such id yet");
                break;
            };
            let mut body = rest["body"].clone();
            if let (Some((provider, model)), true, true) =
                (&self.model, body["parts"].is_array(), body["model"].is_null())
            {
                body["model"] = json!({ "providerID": provider, "modelID": model });
            }
            let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
            self.tickets += 1;
            self.now = self.now + Span(1);
            self.engine.request(self.now, self.tickets, rest["method"].as_str().unwrap_or_default(), &path, &body);
            asked.push((rest, self.tickets));
            self.settle(&mut chunks, model);
            if path.ends_with("/abort") {
                self.now = self.now + Span(1_000);
                self.engine.tick(self.now);
                self.settle(&mut chunks, model);
            }
        }

        let fake = std::mem::take(&mut self.events);
        // 1.18.33 answers some requests after the events that they caused; both sides are put into one order.
        let mut left = in_lanes(recorded);
        let mut right = in_lanes(fake);
        let turns = (left.remove("turn").unwrap_or_default(), right.remove("turn").unwrap_or_default());
        self.same(&format!("{name}: turn"), turns.0, turns.1);
        for (rest, ticket) in asked {
            let want = (rest["status"].as_u64().unwrap_or(0), self.without_strangers(&rest["response"]));
            let what = format!("{name}: {} {}", rest["method"], rest["path"]);
            match self.answers.remove(&ticket) {
                None if want.0 == 0 => {}
                None => self.compared.differ(what, want.0, "no answer"),
                Some((status, _)) if u64::from(status) != want.0 => self.compared.differ(what, want.0, status),
                Some((_, body)) => self.same(&what, vec![want.1], vec![body]),
            }
        }
        // The turn has named the sessions by now: lanes of one name belong together.
        let mut right: BTreeMap<String, Vec<Value>> =
            right.into_iter().map(|(lane, events)| (self.fake_names.text(&lane), events)).collect();
        for (lane, events) in left {
            let lane = self.recorded_names.text(&lane);
            let other = right.remove(&lane).unwrap_or_default();
            self.same(&format!("{name}: {lane}"), events, other);
        }
        for (lane, events) in right {
            self.same(&format!("{name}: {lane}, which is not recorded"), Vec::new(), events);
        }
        std::mem::take(&mut self.compared)
    }

    /// Does what the engine asks of its surroundings, as they did when it was recorded.
    fn settle(&mut self, chunks: &mut VecDeque<Vec<String>>, model: &mut Model<'_>) {
        loop {
            let out = self.engine.take();
            if out.is_empty() {
                return;
            }
            for out in out {
                match out {
                    Out::Event(event) => self.events.extend(serde_json::from_str(&event.json)),
                    Out::Respond(answer) => {
                        let body = serde_json::from_str(&answer.body).unwrap_or_default();
                        self.answers.insert(answer.ticket, (answer.status, body));
                    }
                    Out::Effect(Effect::AskModel { stream, path, response, answer }) => {
                        for event in model(&path, &response, &answer) {
                            self.engine.model_event(self.now, stream, event);
                        }
                        self.engine.model_ended(self.now, stream);
                    }
                    Out::Effect(Effect::Spawn { tool, .. }) => {
                        for chunk in chunks.pop_front().unwrap_or_default() {
                            self.engine.bash_output(self.now, tool, &chunk);
                        }
                        self.engine.bash_over(self.now, tool, BashEnd::Exit(Some(0)));
                    }
                    Out::Effect(_) | Out::Fact(_) => {}
                }
            }
        }
    }

    fn same(&mut self, at: &str, want: Vec<Value>, got: Vec<Value>) {
        let want: Vec<Value> = want.into_iter().map(|v| self.recorded_names.normal(v)).collect();
        let got: Vec<Value> = got.into_iter().map(|v| self.fake_names.normal(v)).collect();
        self.compared.lists(at, &want, &got);
    }

    /// A recorded path with the fake's ids.
    fn fake_path(&self, path: &str, recorded: &[Value]) -> Option<String> {
        let swap = |segment: &str| -> Option<String> {
            let order = |events: &[Value], key: &dyn Fn(&Value) -> Option<String>| -> Vec<String> {
                let mut all: Vec<String> = Vec::new();
                for id in events.iter().filter_map(key) {
                    if !all.contains(&id) {
                        all.push(id);
                    }
                }
                all
            };
            let created = |e: &Value| (e["type"] == "session.created").then(|| session_of(e)).flatten();
            let asked = |e: &Value| {
                let kind = e["type"].as_str()?;
                (kind.ends_with(".asked") || kind == "permission.updated")
                    .then(|| e["properties"]["id"].as_str().map(str::to_owned))
                    .flatten()
            };
            for key in [&created as &dyn Fn(&Value) -> Option<String>, &asked] {
                let (theirs, ours) = (order(recorded, key), order(&self.events, key));
                if let Some(at) = theirs.iter().position(|id| id == segment) {
                    return ours.get(at).cloned();
                }
            }
            Some(segment.to_owned())
        };
        Some(path.split('/').map(swap).collect::<Option<Vec<_>>>()?.join("/"))
    }

    /// A list of statuses without sessions of recordings that are not among the files.
    fn without_strangers(&self, response: &Value) -> Value {
        match response {
            Value::Object(fields) if fields.keys().any(|key| key.starts_with("ses_")) => {
                let own = fields.iter().filter(|(key, _)| self.known.contains(key));
                Value::Object(own.map(|(k, v)| (k.clone(), v.clone())).collect())
            }
            _ => response.clone(),
        }
    }
}

/// A tool's title: that of a bash tool is its description.
const TITLE: &str = "/part/state/title";

/// What of a line of `run --format json` is not compared, and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("/part/state/input/description", "a scenario's bash turn has a command and no description of it"),
    ("/part/state/metadata/description", "the same"),
    (TITLE, "the same; only of a bash tool"),
    ("/part/state/input/prompt", "the model server marks a subagent's prompt, to know its requests again"),
    ("/part/state/metadata/model", "the release's file names a model, and the fake has no such file"),
];

/// Lines of `opencode run --format json`, with their ids named, their instants taken out and their folders made one.
pub(crate) fn normal(lines: &[Value]) -> Vec<Value> {
    let mut names = Names::default();
    let line = |line: &Value| {
        let mut line = line.clone();
        let is_bash = line.pointer("/part/tool").is_some_and(|tool| tool == "bash");
        for (place, _) in LEFT_OUT.iter().filter(|(place, _)| is_bash || *place != TITLE) {
            let (parent, key) = place.rsplit_once('/').unwrap_or_default();
            if let Some(Value::Object(fields)) = line.pointer_mut(parent) {
                fields.remove(key);
            }
        }
        names.normal(line)
    };
    lines.iter().map(line).collect()
}

impl Names {
    /// A value with its ids named, its instants and slugs taken out, its folders made one.
    fn normal(&mut self, value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                let mut out: Vec<(String, Value)> = Vec::new();
                let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                let event = fields.iter().any(|(k, _)| k == "properties");
                for (key, value) in fields {
                    let value = match key.as_str() {
                        "created" | "updated" | "completed" | "start" | "end" | "time" | "timestamp"
                            if value.is_number() =>
                        {
                            json!(0)
                        }
                        "slug" => json!("slug"),
                        "id" if event => json!("event"),
                        _ => self.normal(value),
                    };
                    out.push((self.text(&key), value));
                }
                Value::Object(out.into_iter().collect())
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.normal(item)).collect()),
            Value::String(text) => Value::String(self.text(&text)),
            other => other,
        }
    }

    fn text(&mut self, text: &str) -> String {
        let text = text.replace("/home/agent/proj", "/project");
        let begins = ["ses_", "msg_", "prt_", "que_", "per_", "call_"];
        let Some(at) = begins.iter().filter_map(|begin| text.find(begin)).min() else { return text };
        let id: String = text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let kind = id[..3].to_owned();
        let name = match self.names.get(&id) {
            Some(name) => name.clone(),
            None => {
                let count = self.counts.entry(kind.clone()).or_default();
                *count += 1;
                let name = format!("<{kind} {count}>");
                self.names.insert(id.clone(), name.clone());
                name
            }
        };
        text.replace(&id, &name)
    }
}

/// A prompt's POST is sent after the request that made its session; it is recorded when it is answered, which is later.
fn in_the_order_sent(mut rests: Vec<&Value>) -> Vec<&Value> {
    let is_prompt =
        |rest: &&Value| rest["path"].as_str().is_some_and(|p| p.ends_with("/message")) && rest["method"] == "POST";
    if let Some(prompt) = rests.iter().position(is_prompt) {
        let post = rests.remove(prompt);
        let made = rests.iter().position(|rest| rest["path"] == "/session" && rest["method"] == "POST");
        rests.insert(made.map_or(0, |at| at + 1), post);
    }
    rests
}

fn session_of(event: &Value) -> Option<String> {
    let properties = &event["properties"];
    let places = ["/sessionID", "/info/sessionID", "/part/sessionID", "/info/id"];
    places.iter().find_map(|place| properties.pointer(place)?.as_str()).map(str::to_owned)
}

/// What each recorded bash printed, chunk by chunk, in the order of the calls: it came in one or in two.
fn bash_chunks(events: &[Value]) -> VecDeque<Vec<String>> {
    let mut calls: Vec<(String, String, Vec<String>)> = Vec::new();
    for part in events.iter().map(|event| &event["properties"]["part"]) {
        let state = &part["state"];
        if part["tool"] != "bash" || state["status"] != "running" {
            continue;
        }
        let id = part["callID"].as_str().unwrap_or_default();
        let at = calls.iter().position(|(call, ..)| call == id).unwrap_or_else(|| {
            calls.push((id.to_owned(), String::new(), Vec::new()));
            calls.len() - 1
        });
        let (_, so_far, chunks) = &mut calls[at];
        if let Some(output) = state["metadata"]["output"].as_str()
            && let Some(more) = output.strip_prefix(so_far.as_str()).filter(|more| !more.is_empty())
        {
            chunks.push(more.to_owned());
            output.clone_into(so_far);
        }
    }
    // A call that was never allowed has printed nothing, and none of it is spawned.
    calls.into_iter().map(|(_, _, chunks)| chunks).filter(|chunks| !chunks.is_empty()).collect()
}
