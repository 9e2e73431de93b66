//! The bash tool: what it asks for, what it starts, what its child says, how it ends.
//!
//! Invariants: it asks before it spawns, so a tool that waits for a permission has no child (#14473, #36804); streamed
//! output is in `metadata.output` and stops growing at its limit.

use super::engine::{Effect, Engine};
use super::json::{field, next_field, quoted, strings};
use super::release::{BASH_TIMEOUT_MS, Dialect, METADATA_MAX_BYTES};
use super::state::{Body, ToolState};
use super::tools::{BashEnd, Kind, Outcome, ToolRun};
use rehang_scenario::turns::Bash;
use serde::Deserialize;
use serde_json::Value;

/// The output of a command that has printed nothing, if something is said of its end.
const NO_OUTPUT: &str = "(no output)";

/// What of a call's input is shown as its title.
#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    description: Value,
    #[serde(default)]
    command: Value,
}

impl Engine {
    pub(super) fn start_bash(&mut self, id: u32, bash: Bash) {
        let Some(permission) = bash.asks.clone() else {
            self.show_running(id);
            self.spawn(id, bash);
            return;
        };
        let (patterns, always) = match permission.as_str() {
            "external_directory" => {
                let pattern = vec![outside(&bash.command)];
                (pattern.clone(), pattern)
            }
            _ => commands(&bash.command, self.release.dialect),
        };
        let metadata = match self.release.dialect {
            Dialect::V1_18 => format!("\"command\":{}", quoted(&bash.command)),
            Dialect::V1_2 => String::new(),
            Dialect::V1_0 => {
                let mut metadata = format!("\"command\":{},\"patterns\":", quoted(&bash.command));
                strings(&mut metadata, &always);
                metadata
            }
        };
        self.ask_permission(id, &permission, patterns, always, metadata);
    }

    pub(super) fn spawn(&mut self, id: u32, bash: Bash) {
        let metadata = self.bash_metadata(id, "");
        self.show_metadata(id, "", metadata);
        if let Some(ToolRun { kind: Kind::Bash { spawned, .. }, .. }) = self.tools.iter_mut().find(|t| t.id == id) {
            *spawned = true;
        }
        self.effect(Effect::Spawn { tool: id, bash });
    }

    /// A bash tool's child printed something.
    pub fn bash_output(&mut self, now: rehang_scenario::VTime, id: u32, text: &str) {
        self.now = now;
        let Some(ToolRun { kind: Kind::Bash { output, .. }, .. }) = self.tools.iter_mut().find(|t| t.id == id) else {
            return;
        };
        if output.len() > METADATA_MAX_BYTES {
            return;
        }
        output.push_str(text);
        let shown = cut(output);
        let metadata = self.bash_metadata(id, &shown);
        self.show_metadata(id, "", metadata);
    }

    /// A bash tool's child has ended.
    pub fn bash_over(&mut self, now: rehang_scenario::VTime, id: u32, end: BashEnd) {
        self.now = now;
        let Some(ToolRun { kind: Kind::Bash { bash, output, .. }, .. }) = self.tool(id) else { return };
        let (command, mut output) = (bash.command.clone(), output.clone());
        let mut metadata = self.bash_metadata(id, &cut(&output));
        let exit = match end {
            BashEnd::Exit(Some(code)) => code.to_string(),
            _ => "null".to_owned(),
        };
        metadata.push_str(",\"exit\":");
        metadata.push_str(&exit);
        match end {
            BashEnd::TimedOut(limit_ms) => {
                output.push_str(&timed_out(self.release.dialect, limit_ms));
                if self.release.dialect != Dialect::V1_18 {
                    metadata = format!("{},\"exit\":{exit}", self.bash_metadata(id, &cut(&output)));
                }
            }
            BashEnd::NotStarted => {
                self.tool_over(id, Outcome::Failed { error: "spawn failed".to_owned() });
                self.act();
                return;
            }
            BashEnd::Exit(_) => {}
        }
        let title = self.title_of(id).unwrap_or(command);
        self.tool_over(id, Outcome::Done { output, title, metadata });
        self.act();
    }

    /// A running command is aborted with its run: in the newest release that is a call that has completed. Returns what
    /// its model would be told; `None` if it is an aborted call, as any other.
    pub(super) fn told_of_abort(&mut self, tool: &ToolRun) -> Option<String> {
        let Kind::Bash { bash, spawned: true, output } = &tool.kind else { return None };
        if !self.release.aborted_command_completes {
            return None;
        }
        let output = if output.is_empty() { NO_OUTPUT } else { output };
        let text = format!("{output}\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>");
        let end_ms = self.now_ms();
        let part = &mut self.sessions[tool.session].messages[tool.message].parts[tool.part].body;
        if let Body::Tool(shown) = part {
            shown.metadata = format!("\"output\":{},\"exit\":null,\"truncated\":false", quoted(&cut(&text)));
            shown.title.clone_from(&bash.command);
            shown.state = ToolState::Completed { output: text.clone(), end_ms };
        }
        self.part_event(tool.session, tool.message, tool.part);
        Some(text)
    }

    /// The time limit of a bash call, in milliseconds.
    pub fn bash_limit_ms(bash: &Bash) -> u64 {
        bash.timeout.map_or(BASH_TIMEOUT_MS, |timeout| timeout.as_ms())
    }

    /// The description in the call's input, which 1.2 takes as the title; 1.18 takes the command.
    fn title_of(&mut self, id: u32) -> Option<String> {
        let (.., shown) = self.shown(id)?;
        let input: Input = serde_json::from_str(&shown.input).ok()?;
        let title = if self.release.dialect < Dialect::V1_18 { input.description } else { input.command };
        if let Value::String(title) = title { Some(title) } else { None }
    }

    fn bash_metadata(&mut self, id: u32, output: &str) -> String {
        let mut metadata = String::new();
        field!(&mut metadata, "output", output);
        if self.release.dialect < Dialect::V1_18 {
            let description = self.title_of(id).unwrap_or_default();
            next_field!(&mut metadata, "description", &description);
        }
        metadata
    }
}

/// What the model is told of a time limit, after the output: 1.0.185 cannot spell it.
fn timed_out(dialect: Dialect, limit_ms: u64) -> String {
    let (tool, command, advice) = match dialect {
        Dialect::V1_0 => ("bash", "commmand", ""),
        Dialect::V1_2 => ("bash", "command", ""),
        Dialect::V1_18 => (
            "shell",
            "command",
            ". If this command is expected to take longer and is not waiting for interactive input, retry with a larger \
             timeout value in milliseconds.",
        ),
    };
    format!(
        "\n\n<{tool}_metadata>\n{tool} tool terminated {command} after exceeding timeout {limit_ms} ms{advice}\n\
         </{tool}_metadata>"
    )
}

fn cut(output: &str) -> String {
    if output.len() <= METADATA_MAX_BYTES {
        return output.to_owned();
    }
    let end = (0..=METADATA_MAX_BYTES).rev().find(|&at| output.is_char_boundary(at)).unwrap_or(0);
    format!("{}\n\n...", &output[..end])
}

/// The simple commands of a command line, and the patterns that allow each for ever: the command's name and a star; in
/// 1.0.185 its first argument too that is no option (recorded).
fn commands(line: &str, dialect: Dialect) -> (Vec<String>, Vec<String>) {
    let mut patterns = Vec::new();
    let mut always: Vec<String> = Vec::new();
    for command in line.split(['\n', ';', '|', '&']).map(str::trim).filter(|command| !command.is_empty()) {
        patterns.push(command.to_owned());
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or(command);
        let rule = match words.find(|word| !word.starts_with('-')).filter(|_| dialect == Dialect::V1_0) {
            Some(argument) => format!("{name} {argument} *"),
            None => format!("{name} *"),
        };
        if !always.contains(&rule) {
            always.push(rule);
        }
    }
    (patterns, always)
}

/// What a command accesses outside the project: the folder of its first absolute path.
fn outside(line: &str) -> String {
    let path = line.split_whitespace().find(|word| word.starts_with('/')).unwrap_or("/");
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{folder}/*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_falls_into_its_commands() {
        let (patterns, always) = commands("echo BASH_RAN; pwd", Dialect::V1_2);
        assert_eq!(patterns, ["echo BASH_RAN", "pwd"]);
        assert_eq!(always, ["echo *", "pwd *"]);
        assert_eq!(commands("git -q push origin; pwd -P", Dialect::V1_0).1, ["git push *", "pwd *"]);
        assert_eq!(commands("a && b | c", Dialect::V1_18).0, ["a", "b", "c"]);
    }

    #[test]
    fn output_in_the_metadata_stops_growing() {
        let long = "ü".repeat(METADATA_MAX_BYTES);
        assert!(cut(&long).len() < METADATA_MAX_BYTES + 8);
        assert_eq!(cut("short"), "short");
    }
}
