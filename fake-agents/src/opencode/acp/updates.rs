//! Events of the engine as `session/update`, and permissions as requests to the editor.
//!
//! Invariant: an update is a function of the release, the session and the event alone, as recorded.

use super::super::release::{Dialect, Release};
use super::super::state::{Role, Session};
use super::shapes;
use rehang_scenario::Canon;
use serde_json::{Value, json};

/// The permissions that the editor was asked for.
#[derive(Default)]
pub(super) struct Asks {
    /// How many requests there were: their ids count from 0.
    next: u64,
    /// The ids of the requests that are open, and the ask that each is about.
    open: Vec<(u64, String)>,
    /// Those that are sent when all updates are out: the session, the id, the parameters.
    due: Vec<(usize, u64, Value)>,
}

impl Asks {
    /// The editor is to be asked, in the name of this session.
    pub(super) fn wants(&mut self, session: usize, ask: String, params: Value) {
        self.open.push((self.next, ask));
        self.due.push((session, self.next, params));
        self.next += 1;
    }

    /// The requests that are to be sent now.
    pub(super) fn due(&mut self) -> Vec<(usize, u64, Value)> {
        std::mem::take(&mut self.due)
    }

    /// The ask that this response is about.
    pub(super) fn answered(&mut self, id: u64) -> Option<String> {
        let at = self.open.iter().position(|(of, _)| *of == id)?;
        Some(self.open.remove(at).1)
    }

    /// Writes the state for the comparison of cycles.
    pub(super) fn canon(&self, canon: &mut Canon) {
        let Self { next, open, due } = self;
        canon.num(*next).num(due.len() as u64);
        canon.list(open, |canon, (id, ask)| {
            canon.num(*id).text(ask);
        });
    }
}

/// What the editor is told of an event; `None` if nothing.
pub(super) fn update(release: &Release, session: &Session, event: &Value) -> Option<Value> {
    let properties = &event["properties"];
    match event["type"].as_str()? {
        "message.part.delta" => chunk(release, properties["messageID"].as_str()?, properties["delta"].as_str()?),
        "message.part.updated" => {
            let part = &properties["part"];
            match part["type"].as_str()? {
                "tool" => tool(release, session, part),
                // 1.0.185 has no event of its own for what a text grows by
                "text" if is_said(session, part["messageID"].as_str()?) => {
                    chunk(release, part["messageID"].as_str()?, properties["delta"].as_str()?)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_said(session: &Session, message: &str) -> bool {
    session.messages.iter().any(|of| of.id == message && matches!(of.role, Role::Assistant(_)))
}

fn chunk(release: &Release, message: &str, text: &str) -> Option<Value> {
    let mut update = json!({"sessionUpdate": "agent_message_chunk"});
    if release.dialect == Dialect::V1_18 {
        update["messageId"] = json!(message);
    }
    update["content"] = json!({"type": "text", "text": text});
    Some(update)
}

/// A call of a tool, in the state that its part shows.
fn tool(release: &Release, session: &Session, part: &Value) -> Option<Value> {
    let (name, state) = (part["tool"].as_str()?, &part["state"]);
    let call = &part["callID"];
    let it = Call { dialect: release.dialect, name, state, directory: &session.directory };
    let update = |status: &str| json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status});
    Some(match state["status"].as_str()? {
        "pending" => {
            let mut update = json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": name,
                "kind": it.kind(), "status": "pending"});
            update["locations"] = it.locations();
            update["rawInput"] = it.input();
            update
        }
        "running" => {
            let mut update = update("in_progress");
            if it.dialect > Dialect::V1_0 {
                update["kind"] = json!(it.kind());
                update["title"] = it.title();
            }
            update["locations"] = it.locations();
            update["rawInput"] = it.input();
            let output = state["metadata"]["output"].as_str().filter(|output| !output.is_empty());
            if let Some(output) = output.filter(|_| it.dialect > Dialect::V1_0) {
                update["content"] = shapes::content(output);
            }
            update
        }
        "completed" => {
            let output = state["output"].as_str()?;
            let mut update = update("completed");
            if it.dialect < Dialect::V1_18 {
                update["kind"] = json!(it.kind());
                update["content"] = shapes::content(output);
                update["title"] = state["title"].clone();
            } else {
                update["title"] = if name == "bash" { it.title() } else { state["title"].clone() };
                update["content"] = shapes::content(output);
            }
            if it.dialect == Dialect::V1_2 {
                update["rawInput"] = it.input();
            }
            update["rawOutput"] = json!({"output": output, "metadata": state["metadata"]});
            update
        }
        "error" => {
            let error = state["error"].as_str()?;
            let mut update = update("failed");
            if it.dialect > Dialect::V1_0 {
                update["kind"] = json!(it.kind());
                update["title"] = it.title();
                if it.dialect == Dialect::V1_18 {
                    update["locations"] = it.locations();
                }
                update["rawInput"] = it.input();
            }
            update["content"] = shapes::content(error);
            update["rawOutput"] = json!({"error": error});
            if it.dialect > Dialect::V1_0 && state["metadata"].is_object() {
                update["rawOutput"]["metadata"] = state["metadata"].clone();
            }
            update
        }
        _ => return None,
    })
}

/// A call as its updates show it.
struct Call<'c> {
    dialect: Dialect,
    name: &'c str,
    state: &'c Value,
    directory: &'c str,
}

impl Call<'_> {
    fn kind(&self) -> &'static str {
        shapes::kind(self.dialect, self.name)
    }

    /// Its title while it runs: the newest release has the command or the description in it.
    fn title(&self) -> Value {
        let key = match self.name {
            "bash" => "command",
            "task" => "description",
            _ => return json!(self.name),
        };
        let own = self.state["input"].get(key).filter(|_| self.dialect == Dialect::V1_18);
        own.cloned().unwrap_or_else(|| json!(self.name))
    }

    /// The newest release names the folder of a command.
    fn has_folder(&self) -> bool {
        self.dialect == Dialect::V1_18 && self.name == "bash"
    }

    fn locations(&self) -> Value {
        if self.has_folder() { json!([{"path": self.directory}]) } else { json!([]) }
    }

    fn input(&self) -> Value {
        let mut input = self.state["input"].clone();
        if self.has_folder() {
            input["cwd"] = json!(self.directory);
        }
        input
    }
}

/// The request for a permission, if the event asks for one: its id, and the parameters without the session.
pub(super) fn permission(release: &Release, event: &Value) -> Option<(String, Value)> {
    let (old, asked) = (release.dialect == Dialect::V1_0, &event["properties"]);
    if event["type"] != if old { "permission.updated" } else { "permission.asked" } {
        return None;
    }
    let name = asked[if old { "type" } else { "permission" }].as_str()?;
    let kind = shapes::kind(release.dialect, name);
    let input = &asked["metadata"];
    let call = if old { &asked["callID"] } else { &asked["tool"]["callID"] };
    let mut shown = match release.dialect {
        Dialect::V1_0 | Dialect::V1_2 => {
            let title = if old { asked["title"].clone() } else { json!(name) };
            json!({"toolCallId": call, "status": "pending", "title": title, "rawInput": input, "kind": kind})
        }
        Dialect::V1_18 => {
            let title = input.get("command").cloned().unwrap_or_else(|| json!(name));
            json!({"toolCallId": call, "title": title, "kind": kind, "status": "pending"})
        }
    };
    shown["locations"] = json!([]);
    if release.dialect == Dialect::V1_18 {
        shown["rawInput"] = input.clone();
    }
    let params = json!({"sessionId": "", "toolCall": shown, "options": shapes::options()});
    Some((asked["id"].as_str()?.to_owned(), params))
}
