//! What a release says of a subagent: its prompt, its tools, its report.
//!
//! 1.0.128 shows its tools alone; 2.0.77 its prompt too, and how it can be resumed; 2.1.329 calls it a task, names it in
//! each of its messages and frames its report (recorded: `subagent`, `subagent-ask`, `subagent-plain`, `subagent-two`).
//! Invariant: only messages of a subagent are changed here, and only those of 2.1.329.

use super::args::Mode;
use super::calls::Outcome;
use super::engine::{Conv, Effect, Engine};
use super::release::Release;
use super::texts;
use super::writer::Decision;
use serde_json::{Map, Value, json};

/// The only kind of subagent that a scenario starts.
const KIND: &str = "general-purpose";

impl Engine {
    /// A subagent begins.
    pub(super) fn begin_subagent(&mut self, call: &str, child: Conv, prompt: &str) {
        let release = self.config.release;
        if release == Release::V1_0_128 {
            return;
        }
        if release.tells_of_subagents() {
            self.counted.tasks += 1;
            let task = self.counted.tasks;
            if let Some(of) = self.calls.iter_mut().find(|of| of.id == call) {
                of.task = Some(task);
            }
            let message = self.writer.subagent_started(task, call, prompt, KIND);
            self.effects.push(Effect::Emit(message));
        }
        let message = self.writer.subagent_prompt(prompt, call);
        self.emit_under(child, message);
    }

    /// A message of a conversation, with what 2.1.329 says of the subagent whose it is.
    pub(super) fn emit_under(&mut self, conv: Conv, message: Value) {
        let message = match (&self.convs[conv.0].parent, message) {
            (Some(call), Value::Object(fields)) if self.config.release.tells_of_subagents() => {
                self.of_subagent(conv, call, fields)
            }
            (_, message) => message,
        };
        self.effects.push(Effect::Emit(message));
    }

    fn of_subagent(&self, conv: Conv, call: &str, fields: Map<String, Value>) -> Value {
        let of = self.calls.iter().find(|of| of.id == call);
        let description = of.map_or(Value::Null, |of| of.input["description"].clone());
        let mut all = Map::new();
        for (key, value) in fields {
            match key.as_str() {
                // the host is not shown what a subagent's tool returned apart from the message
                "tool_use_result" => {}
                "parent_tool_use_id" => {
                    all.insert(key, value);
                    all.insert("agent_id".to_owned(), json!(conv.agent_id(self.config.release)));
                }
                _ => drop(all.insert(key, value)),
            }
        }
        all.insert("subagent_type".to_owned(), json!(KIND));
        all.insert("task_description".to_owned(), description);
        Value::Object(all)
    }

    /// The task as which a release tells of the subagent of this call.
    fn task_of(&self, call: &str) -> Option<u32> {
        let task = self.calls.iter().find(|of| of.id == call)?.task;
        task.filter(|_| self.config.release.tells_of_subagents())
    }

    /// A subagent's model calls a tool.
    pub(super) fn subagent_calls(&mut self, conv: Conv, tool: &str, detail: &str) {
        let Some(call) = self.convs[conv.0].parent.clone() else { return };
        let Some(task) = self.task_of(&call) else { return };
        let message = self.writer.subagent_progress(task, &call, &format!("Running {detail}"), (KIND, tool));
        self.effects.push(Effect::Emit(message));
    }

    /// A subagent has ended; one that failed is told of as a command is, which is not recorded.
    pub(super) fn end_subagent(&mut self, call: &str, text: &str, failed: bool) {
        let Some(task) = self.task_of(call) else { return };
        let status = if failed { "failed" } else { "completed" };
        // a constant: the real time would make every state new
        let patch = self.writer.task_updated(task, &json!({"status": status, "end_time": 0}));
        let over = self.writer.subagent_over(task, call, status, text);
        self.effects.extend([Effect::Emit(patch), Effect::Emit(over)]);
    }

    /// What a subagent reports to its parent's model, and what the host is shown of it.
    pub(super) fn subagent_outcome(&self, conv: Conv, call: &str, text: &str) -> Outcome {
        let said = json!([{"type": "text", "text": text}]);
        let agent = conv.agent_id(self.config.release);
        let prompt = self.calls.iter().find(|c| c.id == call).map(|c| c.input["prompt"].clone());
        match self.config.release {
            Release::V1_0_128 => Outcome {
                content: said.clone(),
                text: text.to_owned(),
                is_error: None,
                shown: json!({"status": "completed", "content": said}),
                meta: None,
            },
            Release::V2_0_77 => {
                let resume = format!("agentId: {agent} (for resuming to continue this agent's work if needed)");
                // the release's own measures: their keys count
                let shown = json!({"status": "completed", "prompt": prompt, "agentId": agent, "content": said,
                    "totalDurationMs": 0, "totalTokens": 0, "totalToolUseCount": 0, "usage": {}});
                let content = json!([said[0], {"type": "text", "text": resume}]);
                Outcome { content, text: format!("{text}\n{resume}"), is_error: None, shown, meta: None }
            }
            Release::V2_1_329 => self.framed(&agent, prompt, text, conv),
        }
    }

    fn framed(&self, agent: &str, prompt: Option<Value>, text: &str, conv: Conv) -> Outcome {
        let used: Vec<&String> = self.convs[conv.0].called.iter().collect();
        let mut tools: Vec<&str> = Vec::new();
        for tool in used.iter().map(|tool| tool.as_str()) {
            if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        let note = (!tools.is_empty()).then(|| texts::tools_used(&tools));
        let framed = texts::handed_back(agent, note.as_deref(), text, used.len());
        let parts = note.iter().map(String::as_str).chain([text]);
        let said: Vec<Value> = parts.map(|text| json!({"type": "text", "text": text})).collect();
        let mut shown = json!({"status": "completed", "prompt": prompt, "agentId": agent, "agentType": KIND});
        if note.is_some() {
            shown["toolsUsed"] = json!(tools);
        }
        let commands = used.iter().filter(|tool| tool.as_str() == "Bash").count();
        let mut rest = json!({"harnessNoteCount": u32::from(note.is_some()), "harnessTailCount": 0, "harnessSectionHash": "",
            "content": said, "resolvedModel": self.writer.model(), "totalDurationMs": 0, "totalTokens": 0,
            "totalToolUseCount": used.len(), "usage": {}, "toolStats": {"readCount": 0, "searchCount": 0,
            "bashCount": commands, "editFileCount": 0, "linesAdded": 0, "linesRemoved": 0,
            "otherToolCount": used.len() - commands}, "canContinueAgent": true});
        if used.is_empty() {
            rest.as_object_mut().map(|rest| rest.shift_remove("toolStats"));
        }
        if let (Value::Object(shown), Value::Object(rest)) = (&mut shown, rest) {
            shown.extend(rest);
        }
        let content = json!([{"type": "text", "text": framed}]);
        let decision = if self.mode == Mode::Bypass { Decision::ByMode } else { Decision::ByItself };
        Outcome { content, text: framed, is_error: None, shown, meta: Some(decision) }
    }
}
