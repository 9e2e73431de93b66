//! The task tool: a subagent in a session of its own.
//!
//! Invariants: what a subagent asks has the child's session id; the parent's tool waits only for the child's run.

use super::engine::{DEPTH_MAX, Engine, Origin};
use super::json::{field, next_field};
use super::release::Dialect;
use super::tools::{Kind, Outcome, ToolRun};
use rehang_scenario::turns::{self, responses};
use rehang_wire::model::ToolCall;

/// What a subagent's session may not do, before 1.18 (golden 13 of 1.2.15).
const CHILD_DENIES_OLD: &[&str] = &["todowrite", "todoread", "task"];
/// What a subagent's session may not do (golden 13 of 1.18.33).
const CHILD_DENIES: &[&str] = &["task"];

impl Engine {
    pub(super) fn start_task(&mut self, id: u32, call: &ToolCall, task: turns::Task, path: String) {
        let Some(tool) = self.tool(id) else { return };
        let parent = tool.session;
        if self.sessions[parent].depth >= DEPTH_MAX {
            self.show_running(id);
            self.tool_over(id, Outcome::Failed { error: "subagents nest too deep".to_owned() });
            return;
        }
        let newest = self.release.dialect == Dialect::V1_18;
        if !newest {
            self.show_running(id);
        }
        let title = format!("{} (@general subagent)", task.description);
        let denies = if newest { CHILD_DENIES } else { CHILD_DENIES_OLD };
        let child = self.new_session(title, Origin::Child(parent), "general", denies, responses(&task.turns), path);
        if let Some(ToolRun { kind: Kind::Task { child: it, .. }, .. }) = self.tools.iter_mut().find(|t| t.id == id) {
            *it = Some(child);
        }
        let metadata = self.task_metadata(parent, child);
        if newest {
            if let Some((.., shown)) = self.shown(id) {
                shown.title.clone_from(&task.description);
                shown.metadata.clone_from(&metadata);
            }
            self.show_running(id);
        } else {
            self.show_metadata(id, &task.description, metadata.clone());
        }
        let prompt = call.input.get("prompt").and_then(|p| p.as_str()).unwrap_or(&task.description).to_owned();
        let model = self.sessions[parent].model.clone();
        self.start_prompt(child, &prompt, model, None, Some(id));
    }

    /// A subagent's run has ended.
    pub(super) fn task_over(&mut self, id: u32, child: usize) {
        let Some(tool) = self.tool(id) else { return };
        let parent = tool.session;
        let Kind::Task { description, .. } = &tool.kind else { return };
        let title = description.clone();
        let session = &self.sessions[child];
        if self.release.dialect == Dialect::V1_18
            && let Some(error) = session.last_error()
        {
            let error = format!("Subagent failed (task_id: {}): {error}", session.id);
            return self.tool_over(id, Outcome::Failed { error });
        }
        let text = session.last_text();
        let output = if self.release.dialect == Dialect::V1_18 {
            format!("<task id=\"{}\" state=\"completed\">\n<task_result>\n{text}\n</task_result>\n</task>", session.id)
        } else {
            format!(
                "task_id: {} (for resuming to continue this task if needed)\n\n<task_result>\n{text}\n</task_result>",
                session.id
            )
        };
        let metadata = self.task_metadata(parent, child);
        self.tool_over(id, Outcome::Done { output, title, metadata });
    }

    fn task_metadata(&self, parent: usize, child: usize) -> String {
        let mut metadata = String::new();
        if self.release.dialect == Dialect::V1_18 {
            field!(&mut metadata, "parentSessionId", &self.sessions[parent].id);
            metadata.push(',');
        }
        field!(&mut metadata, "sessionId", &self.sessions[child].id);
        let model = self.sessions[parent].model.clone().unwrap_or_default();
        metadata.push_str(",\"model\":{");
        field!(&mut metadata, "modelID", &model.id);
        next_field!(&mut metadata, "providerID", &model.provider);
        metadata.push('}');
        metadata
    }
}
