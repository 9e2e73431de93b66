//! Which hooks there are: those of settings, on the command line or in files, and those of a host's `initialize`.
//!
//! Invariant: a command that is not `fake-tool --plays STEPS -- NAME` cannot be started on a stage, and is left out.

use crate::claude::args::Args;
use crate::claude::release::Release;
use rehang_os::os::Os;
use rehang_scenario::{Span, turns::Step};
use serde_json::Value;

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::claude) enum Event {
    /// Before the first turn.
    SessionStart,
    /// Before the model is asked about a prompt.
    UserPromptSubmit,
    /// Before a tool's permission is decided.
    PreToolUse,
    /// Before a call is refused since nobody can be asked about it; 2.1.329 alone.
    PermissionRequest,
    /// After a tool has run.
    PostToolUse,
    /// Before a turn ends.
    Stop,
    /// Before a subagent ends.
    SubagentStop,
    /// Before the process ends.
    SessionEnd,
    /// While the host leaves an ask unanswered; 2.1.329 alone.
    Notification,
}

impl Event {
    const ALL: [Event; 9] = [
        Event::SessionStart,
        Event::UserPromptSubmit,
        Event::PreToolUse,
        Event::PermissionRequest,
        Event::PostToolUse,
        Event::Stop,
        Event::SubagentStop,
        Event::SessionEnd,
        Event::Notification,
    ];

    /// Its name in settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Event::SessionStart => "SessionStart",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::PreToolUse => "PreToolUse",
            Event::PermissionRequest => "PermissionRequest",
            Event::PostToolUse => "PostToolUse",
            Event::Stop => "Stop",
            Event::SubagentStop => "SubagentStop",
            Event::SessionEnd => "SessionEnd",
            Event::Notification => "Notification",
        }
    }
}

/// A hook.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::claude) struct Hook {
    /// When it is run.
    pub event: Event,
    /// For which tools, or other subjects of the event: names between `|`; nothing or `*` is all.
    pub matcher: String,
    /// What is run.
    pub what: What,
    /// How long it may take; `None`: as long as the release gives each.
    pub limit: Option<Span>,
}

impl Hook {
    /// Whether this release ever runs it: of a host's callbacks at the session's end only 2.0.77 does (recorded). Those at its
    /// start are never run, since a host names them when it has begun.
    pub fn is_run_by(&self, release: Release) -> bool {
        let at_end = matches!(self.what, What::Callback(_)) && self.event == Event::SessionEnd;
        !at_end || release == Release::V2_0_77
    }

    /// Whether it is run at this event with this subject.
    pub fn is_for(&self, event: Event, subject: &str) -> bool {
        let all = matches!(self.matcher.as_str(), "" | "*" | ".*");
        self.event == event && (all || self.matcher.split('|').any(|name| name == subject))
    }
}

/// What a hook is.
#[derive(Debug, Clone, PartialEq, Hash)]
pub(in crate::claude) enum What {
    /// A command.
    Command(Command),
    /// A callback of the host, by its id.
    Callback(String),
}

/// A command of a settings file.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Command {
    /// As it is written.
    pub line: String,
    /// What it does.
    pub steps: Vec<Step>,
    /// What a process list shows of it.
    pub shown: String,
}

impl Command {
    fn parse(line: &str) -> Option<Command> {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["fake-tool", "--plays", plays, rest @ ..] = words.as_slice() else { return None };
        let shown = match rest {
            [] => String::new(),
            ["--", shown @ ..] => shown.join(" "),
            _ => return None,
        };
        Some(Command { line: line.to_owned(), steps: serde_json::from_str(plays).ok()?, shown })
    }
}

/// The hooks of a settings text.
pub(in crate::claude) fn of_settings(text: &str) -> Vec<Hook> {
    let settings: Value = serde_json::from_str(text).unwrap_or_default();
    if settings["disableAllHooks"] == true {
        return Vec::new();
    }
    hooks(&settings["hooks"], |group, add| {
        for hook in group["hooks"].as_array().into_iter().flatten().filter(|hook| hook["type"] == "command") {
            if let Some(command) = hook["command"].as_str().and_then(Command::parse) {
                add(What::Command(command), limit(&hook["timeout"]));
            }
        }
    })
}

/// The hooks of a host's `initialize`.
pub(in crate::claude) fn named_by_host(request: &Value) -> Vec<Hook> {
    hooks(&request["hooks"], |group, add| {
        for id in group["hookCallbackIds"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            add(What::Callback(id.to_owned()), limit(&group["timeout"]));
        }
    })
}

/// The settings of files: that of `--settings`, and those of the user, the project and the machine's own that are not
/// left out by `--setting-sources`. A stage has no files. Of the user's own only that of `CLAUDE_CONFIG_DIR` is read,
/// so that a fake does not depend on how its user has set up the real one.
///
/// # Errors
/// What is said of a file that is not there.
pub(in crate::claude) fn of_files(os: &dyn Os, args: &Args, release: Release) -> Result<Vec<Hook>, String> {
    let Some(folder) = os.cwd() else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    let user = os.env("CLAUDE_CONFIG_DIR").map(|config| format!("{config}/settings.json"));
    let project = |name: &str| Some(format!("{folder}/.claude/{name}"));
    for (source, path) in
        [("user", user), ("project", project("settings.json")), ("local", project("settings.local.json"))]
    {
        let is_read = args.sources.as_ref().is_none_or(|sources| sources.iter().any(|named| named == source));
        let text = path.filter(|_| is_read).and_then(|path| os.file(&path));
        all.extend(text.map(|text| of_settings(&text)).unwrap_or_default());
    }
    let Some(named) = args.settings.as_deref().filter(|text| !is_object(text)) else { return Ok(all) };
    let path = if named.starts_with('/') { named.to_owned() } else { format!("{folder}/{named}") };
    let shown = if release == Release::V2_1_329 { &path } else { named };
    let text = os.file(&path).ok_or_else(|| format!("Error: Settings file not found: {shown}"))?;
    all.extend(of_settings(&text));
    Ok(all)
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}

fn hooks(of: &Value, each: impl Fn(&Value, &mut dyn FnMut(What, Option<Span>))) -> Vec<Hook> {
    let mut all = Vec::new();
    for event in Event::ALL {
        for group in of[event.name()].as_array().into_iter().flatten() {
            let matcher = group["matcher"].as_str().unwrap_or_default().to_owned();
            let mut add = |what, limit| all.push(Hook { event, matcher: matcher.clone(), what, limit });
            each(group, &mut add);
        }
    }
    all
}

/// A limit in seconds, which may have a fraction.
fn limit(seconds: &Value) -> Option<Span> {
    seconds.as_f64().filter(|seconds| *seconds > 0.0).map(|seconds| Span::ms((seconds * 1_000.0) as u64))
}

/// The words of a command line as a shell reads them: single and double quotes, no expansion.
fn words(line: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => all.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_read_from_settings_and_from_a_host() {
        let text = r#"{"hooks":{
            "PreToolUse":[{"matcher":"Bash|Write","hooks":[
                {"type":"command","command":"fake-tool --plays '[{\"print\":\"a b\"}]' -- my hook","timeout":2.5},
                {"type":"command","command":"echo no"},{"type":"prompt","prompt":"no"}]}],
            "Unknown":[{"hooks":[{"type":"command","command":"fake-tool --plays '[]'"}]}]}}"#;
        let hooks = of_settings(text);
        let [hook] = hooks.as_slice() else { panic!("{hooks:?}") };
        assert_eq!(hook.limit, Some(Span::ms(2_500)));
        assert!(hook.is_for(Event::PreToolUse, "Write") && !hook.is_for(Event::PreToolUse, "Read"));
        let What::Command(command) = &hook.what else { panic!("{hook:?}") };
        assert_eq!((command.steps.clone(), command.shown.as_str()), (vec![Step::Print("a b".to_owned())], "my hook"));
        assert!(of_settings(&text.replacen('{', r#"{"disableAllHooks":true,"#, 1)).is_empty());
        let request = serde_json::json!({"hooks": {"Stop": [{"matcher": null, "hookCallbackIds": ["a", "b"]}]}});
        let ids: Vec<What> = named_by_host(&request).into_iter().map(|hook| hook.what).collect();
        assert_eq!(ids, [What::Callback("a".to_owned()), What::Callback("b".to_owned())]);
        assert!(of_settings("settings.json").is_empty() && named_by_host(&Value::Null).is_empty());
    }
}
