//! What the releases say, key by key and in their order.
//!
//! Invariant: a shape is as recorded (tests/golden/codex-app-server-VERSION); ids, instants and paths are the fake's own.

use super::super::release::{Protocol, Release, SHOWN_AFTER, TOKENS};
use super::super::shell::Report;
use super::asked::Ends;
use rehang_scenario::turns::{Choice, Question};
use serde_json::{Value, json};

/// How many tokens the model takes (95 % of what it is said to take).
const CONTEXT_WINDOW: u64 = 258_400;

/// An id: of a thread (kind 0), a turn (1), a prompt (2), as the `n`-th of a thread. A version 7 UUID, without an instant and
/// without chance.
pub(in crate::codex) fn id(kind: u64, thread: u64, n: u64) -> String {
    format!("00000000-0000-7000-8{kind:03x}-{thread:04x}{n:08x}")
}

fn is_timed(release: &Release) -> bool {
    release.server == Protocol::Timed
}

/// The answer to `initialize`, for a client of this name and version.
pub(in crate::codex) fn initialized(release: &Release, client: &Value, home: &str) -> Value {
    let word = |key: &str| client[key].as_str().unwrap_or_default().to_owned();
    let (name, version) = (word("name"), word("version"));
    if release.server < Protocol::Threads {
        let agent = format!("codex_cli_rs/{} (Linux n/a; x86_64) xterm-256color ({name}; {version})", release.version);
        return json!({"userAgent": agent});
    }
    let agent = format!("{name}/{} (Linux Unknown; x86_64) xterm-256color ({name}; {version})", release.version);
    match is_timed(release) {
        true => json!({"userAgent": agent, "codexHome": home, "platformFamily": "unix", "platformOs": "linux"}),
        false => json!({"userAgent": agent, "platformFamily": "unix", "platformOs": "linux"}),
    }
}

/// What follows that answer on a machine without bubblewrap, as the sandbox of the recordings is.
pub(in crate::codex) fn greeting(release: &Release, client: &str) -> Vec<(&'static str, Value)> {
    if release.server < Protocol::Threads {
        return Vec::new();
    }
    let summary = match is_timed(release) {
        true => {
            "Codex could not find bubblewrap on PATH. Install bubblewrap with your OS package manager. See the sandbox \
             prerequisites: https://developers.openai.com/codex/concepts/sandboxing#prerequisites. Codex will use the bundled \
             bubblewrap in the meantime."
        }
        false => {
            "Codex could not find system bubblewrap at /usr/bin/bwrap. Please install bubblewrap with your package manager. \
             Codex will use the vendored bubblewrap in the meantime."
        }
    };
    let mut all = vec![("configWarning", json!({"summary": summary, "details": null}))];
    if is_timed(release) {
        let status = json!({"status": "disabled", "serverName": client, "installationId": id(3, 0, 1),
            "environmentId": null});
        all.push(("remoteControl/status/changed", status));
    }
    all
}

/// A thread, as it is told.
pub(in crate::codex) struct Threaded<'t> {
    pub id: &'t str,
    pub cwd: &'t str,
    /// The name of the client that began it.
    pub client: &'t str,
    /// Its first prompt.
    pub preview: &'t str,
    pub name: Option<&'t str>,
    /// The file that a release keeps it in.
    pub path: &'t str,
    /// The instants of its beginning and its last change, in seconds since 1970.
    pub at: (u64, u64),
    pub status: Value,
    /// Whether it is told in a list.
    pub listed: bool,
    pub turns: Vec<Value>,
}

/// A thread.
pub(in crate::codex) fn thread(release: &Release, of: &Threaded<'_>) -> Value {
    let Threaded { id, cwd, client, preview, name, path, at: (created, updated), status, listed, turns } = of;
    if release.server < Protocol::Threads {
        return json!({"id": id, "preview": preview, "modelProvider": "fake", "createdAt": created, "path": path});
    }
    if !is_timed(release) {
        return json!({"id": id, "preview": preview, "ephemeral": false, "modelProvider": "fake", "createdAt": created,
            "updatedAt": updated, "status": status, "path": path, "cwd": cwd, "cliVersion": release.version,
            "source": "vscode", "agentNickname": null, "agentRole": null, "gitInfo": null, "name": name, "turns": turns});
    }
    let environments = json!([{"environmentId": "local", "cwd": cwd, "runtimeWorkspaceRoots": [cwd]}]);
    json!({"id": id, "environments": environments, "extra": null, "sessionId": id, "forkedFromId": null,
        "attachedToThreadId": null, "parentThreadId": null, "preview": preview, "ephemeral": false, "section": null,
        "sectionEnteredAt": null, "projectId": null, "historyMode": "paginated", "modelProvider": "fake", "model": "gpt-5",
        "reasoningEffort": null, "createdAt": created, "updatedAt": updated, "recencyAt": updated, "status": status,
        "path": path, "cwd": cwd, "cliVersion": release.version, "originator": client, "source": "vscode",
        "canAcceptDirectInput": (!listed).then_some(true), "threadSource": null, "agentNickname": null, "agentRole": null,
        "gitInfo": null, "name": name, "daybreakEnabled": null, "turns": turns})
}

/// The answer to `thread/start` and `thread/resume`: a thread with its policy and its sandbox. `chosen`: the client has named
/// the sandbox; `resumes`: how many items there are of an earlier turn.
pub(in crate::codex) fn opened(
    release: &Release,
    thread: &Value,
    approval: &str,
    (sandbox, chosen): (&str, bool),
    resumes: Option<usize>,
) -> Value {
    if release.server < Protocol::Threads {
        return json!({"thread": thread});
    }
    let cwd = &thread["cwd"];
    let timed = is_timed(release);
    let mut opened = json!({"thread": thread, "model": "gpt-5", "modelProvider": "fake", "serviceTier": null});
    if timed {
        opened["disabledPluginIds"] = json!([]);
    }
    opened["cwd"] = json!(cwd);
    if timed {
        opened["runtimeWorkspaceRoots"] = json!([cwd]);
        opened["instructionSources"] = json!([]);
    }
    opened["approvalPolicy"] = json!(approval);
    opened["approvalsReviewer"] = json!("user");
    opened["sandbox"] = match (sandbox, timed) {
        ("danger-full-access", _) => json!({"type": "dangerFullAccess"}),
        ("read-only", false) => json!({"type": "readOnly", "access": {"type": "fullAccess"}, "networkAccess": false}),
        ("read-only", true) => json!({"type": "readOnly", "networkAccess": false}),
        (_, false) => json!({"type": "workspaceWrite", "writableRoots": [], "readOnlyAccess": {"type": "fullAccess"},
            "networkAccess": false, "excludeTmpdirEnvVar": false, "excludeSlashTmp": false}),
        (_, true) => json!({"type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": false}),
    };
    if timed {
        let profile = json!({"id": format!(":{sandbox}"), "extends": null});
        opened["activePermissionProfile"] = json!((!chosen).then_some(profile));
    }
    opened["reasoningEffort"] = Value::Null;
    if !timed {
        return opened;
    }
    if resumes.is_some() {
        let settings = json!({"model": "gpt-5", "reasoning_effort": null, "developer_instructions": null});
        opened["collaborationMode"] = json!({"mode": "default", "settings": settings});
    }
    opened["multiAgentMode"] = json!("explicitRequestOnly");
    if let Some(items) = resumes {
        let cursor = |ordinal: usize, kind: &str| {
            json!({"requestedThreadId": thread["id"], "rolloutOrdinal": ordinal, "includeAnchor": true,
                "scope": {"kind": kind}})
            .to_string()
        };
        opened["initialTurnsPage"] = Value::Null;
        opened["turnsBackwardsCursor"] = json!(cursor(1, "turns"));
        // the release counts the lines of its file
        opened["itemsBackwardsCursor"] = json!(cursor(items, "itemsByCreatedAtOrdinal"));
    }
    opened
}

/// A turn, as it is told.
pub(in crate::codex) struct Turned<'t> {
    pub id: &'t str,
    pub status: &'t str,
    pub error: Option<Value>,
    /// Its last message, at the end of a turn that is complete.
    pub last: Option<Value>,
    /// All its items, if they are told.
    pub items: Option<Vec<Value>>,
    /// The instants of its beginning and its end, in milliseconds since 1970.
    pub started: Option<u64>,
    pub completed: Option<u64>,
}

impl Turned<'_> {
    /// A turn that a client has asked for.
    pub fn asked(id: &str) -> Turned<'_> {
        Turned { id, status: "inProgress", error: None, last: None, items: None, started: None, completed: None }
    }
}

/// A turn.
pub(in crate::codex) fn turn(release: &Release, of: &Turned<'_>) -> Value {
    let Turned { id, status, error, last, items, started, completed } = of;
    if !is_timed(release) {
        return json!({"id": id, "items": items.as_deref().unwrap_or_default(), "status": status, "error": error});
    }
    let (items, view) = match (items, last) {
        (Some(items), _) => (items.clone(), "full"),
        (None, Some(last)) => (vec![last.clone()], "summary"),
        (None, None) => (Vec::new(), "notLoaded"),
    };
    let took = started.zip(*completed).map(|(from, to)| to.saturating_sub(from));
    json!({"id": id, "rootTurnId": id, "items": items, "itemsView": view, "status": status, "error": error,
        "startedAt": started.map(|ms| ms / 1_000), "completedAt": completed.map(|ms| ms / 1_000), "durationMs": took})
}

/// A turn of 0.58.0, whose id is the number of what began it.
pub(in crate::codex) fn first_turn(number: u64, prompt: &str) -> Value {
    let (id, content) = (number.to_string(), json!([{"type": "text", "text": prompt}]));
    json!({"id": id, "items": [{"type": "userMessage", "id": id, "content": content}], "status": "inProgress", "error": null})
}

/// What the client has said.
pub(in crate::codex) fn user(release: &Release, id: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text, "text_elements": []}]);
    match is_timed(release) {
        true => json!({"type": "userMessage", "id": id, "clientId": null, "content": content}),
        false => json!({"type": "userMessage", "id": id, "content": content}),
    }
}

/// What the model has said.
pub(in crate::codex) fn message(release: &Release, id: &str, text: &str) -> Value {
    match is_timed(release) {
        true => json!({"type": "agentMessage", "moderation": null, "id": id, "text": text, "phase": null,
            "memoryCitation": null, "delivery": null, "questions": null}),
        false => json!({"type": "agentMessage", "id": id, "text": text, "phase": null, "memoryCitation": null}),
    }
}

/// A command: its line and its folder, whether it has a process, its status, and how it ended.
pub(in crate::codex) fn command(
    release: &Release,
    id: &str,
    (command, cwd): (&str, &str),
    runs: bool,
    status: &str,
    report: Option<&Report>,
) -> Value {
    let mut item = json!({"type": "commandExecution", "id": id});
    if is_timed(release) {
        item["pluginId"] = Value::Null;
        item["scriptPath"] = Value::Null;
    }
    item["command"] = json!(command);
    item["cwd"] = json!(cwd);
    item["processId"] = json!(runs.then_some("1"));
    if is_timed(release) {
        item["source"] = json!(if runs { "unifiedExecStartup" } else { "agent" });
    }
    item["status"] = json!(status);
    item["commandActions"] = json!([{"type": "unknown", "command": bare(command)}]);
    // 0.116.0 forgets what came before it said that the command runs
    let output = report.map(|report| match is_timed(release) || report.took < SHOWN_AFTER {
        true => report.output.as_str(),
        false => report.output.get(report.early..).unwrap_or_default(),
    });
    item["aggregatedOutput"] = json!(output.filter(|output| !output.is_empty()));
    item["exitCode"] = json!(report.and_then(|report| report.code));
    item["durationMs"] = json!(report.map(|report| report.took.as_ms()));
    item
}

/// A file that is changed: what it becomes is the fake's own.
pub(in crate::codex) fn file(id: &str, path: &str, status: &str) -> Value {
    let change = json!({"path": path, "kind": {"type": "add"}, "diff": CONTENT});
    json!({"type": "fileChange", "id": id, "changes": [change], "status": status})
}

/// What a file is that is changed.
const CONTENT: &str = "changed\n";

/// The change of a file, as a turn tells it.
pub(in crate::codex) fn diff(path: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{CONTENT}"
    )
}

/// A call of a tool server's tool, by the names of both.
pub(in crate::codex) fn server_call(
    release: &Release,
    id: &str,
    (server, tool): (&str, &str),
    read_only: Option<bool>,
    ends: &Ends<'_>,
) -> Value {
    let mut item = json!({"type": "mcpToolCall", "id": id, "server": server, "tool": tool, "status": ends.status,
        "arguments": {}});
    let ended = ends.status != "inProgress";
    if is_timed(release) {
        item["appContext"] = Value::Null;
        item["mcpAppUi"] = Value::Null;
        item["pluginId"] = Value::Null;
        item["readOnlyHint"] = json!(read_only);
    }
    item["result"] = match ends.result {
        Ok(text) if ended => {
            let mut result = json!({"content": [{"type": "text", "text": text}], "structuredContent": null});
            if is_timed(release) {
                result["_meta"] = Value::Null;
            }
            result
        }
        _ => Value::Null,
    };
    item["error"] = ends.result.err().map_or(Value::Null, |why| json!({"message": why}));
    item["durationMs"] = json!(ended.then_some(0));
    item
}

/// The method by which the client's own tool is called.
pub(in crate::codex) const CLIENT_CALL: &str = "item/tool/call";

/// A call of the client's own tool.
pub(in crate::codex) fn client_call(release: &Release, id: &str, tool: &str, ends: &Ends<'_>) -> Value {
    let mut item = json!({"type": "dynamicToolCall", "id": id});
    if is_timed(release) {
        item["namespace"] = Value::Null;
    }
    item["tool"] = json!(tool);
    item["arguments"] = json!({});
    item["status"] = json!(ends.status);
    let ended = ends.status != "inProgress";
    let (Ok(text) | Err(text)) = ends.result;
    let content = if text.is_empty() { json!([]) } else { json!([{"type": "inputText", "text": text}]) };
    item["contentItems"] = if ended { content } else { Value::Null };
    item["success"] = json!(ended.then_some(ends.result.is_ok()));
    item["durationMs"] = json!(ended.then_some(0));
    item
}

/// A question, by its place from 0.
pub(in crate::codex) fn question(at: usize, of: &Question) -> Value {
    let header = if of.header.is_empty() { "Question" } else { &of.header };
    let option = |option: &Choice| json!({"label": option.label, "description": option.description});
    let options: Vec<Value> = of.options.iter().map(option).collect();
    json!({"id": format!("q{}", at + 1), "header": header, "question": of.question, "isOther": true, "isSecret": false,
        "options": options})
}

/// A command line without the shell that runs it.
pub(in crate::codex) fn bare(command: &str) -> String {
    let shells = ["/bin/sh -lc ", "bash -lc "];
    let line = shells.into_iter().find_map(|shell| command.strip_prefix(shell)).unwrap_or(command);
    let quoted = line.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    quoted.map_or_else(|| line.to_owned(), |line| line.replace(r"'\''", "'"))
}

/// The parameters of an ask for a command. `ids`: thread, turn, item; `now` in milliseconds since 1970; the command as the
/// release runs it, as the model wrote it, and its folder.
pub(in crate::codex) fn approval(
    release: &Release,
    (thread, turn, item): (String, String, String),
    now: u64,
    (command, line, cwd): (&str, &str, &str),
) -> Value {
    let mut params = json!({});
    if is_timed(release) {
        params["kind"] = json!("command");
    }
    params["threadId"] = json!(thread);
    params["turnId"] = json!(turn);
    params["itemId"] = json!(item);
    if is_timed(release) {
        params["startedAtMs"] = json!(now);
        params["environmentId"] = json!("local");
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    params["command"] = json!(command);
    params["cwd"] = json!(cwd);
    params["commandActions"] = json!([{"type": "unknown", "command": line}]);
    params["proposedExecpolicyAmendment"] = json!(words);
    let amended = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": words}});
    params["availableDecisions"] = json!(["accept", amended, "cancel"]);
    params
}

/// What was used after so many responses.
pub(in crate::codex) fn usage(release: &Release, responses: u32) -> Value {
    let of = |n: u32| {
        let (input, output) = (TOKENS.0 * n, TOKENS.1 * n);
        let mut usage = json!({"totalTokens": input + output, "inputTokens": input, "cachedInputTokens": 0});
        if is_timed(release) {
            usage["cacheWriteInputTokens"] = json!(0);
        }
        usage["outputTokens"] = json!(output);
        usage["reasoningOutputTokens"] = json!(0);
        usage
    };
    json!({"total": of(responses), "last": of(1), "modelContextWindow": CONTEXT_WINDOW})
}

/// What is left of an account's limits: nothing is known of them with a key.
pub(in crate::codex) fn limits(release: &Release) -> Value {
    match is_timed(release) {
        true => {
            json!({"limitId": "codex", "limitName": null, "normalModelSlug": null, "primary": null, "secondary": null,
            "credits": null, "individualLimit": null, "spendControlReached": null, "planType": null,
            "rateLimitReachedType": null})
        }
        false => json!({"limitId": "codex", "limitName": null, "primary": null, "secondary": null, "credits": null,
            "planType": null}),
    }
}

/// Why a turn failed or is tried again.
pub(in crate::codex) fn error(release: &Release, message: &str, info: &Value, details: Option<&str>) -> Value {
    let mut error = json!({"message": message, "codexErrorInfo": info, "additionalDetails": details});
    if is_timed(release) {
        error["misalignment"] = Value::Null;
    }
    error
}

/// The kind of a failure, by what is said of it.
pub(in crate::codex) fn cause(why: &str) -> Value {
    let status =
        why.split("last status: ").nth(1).and_then(|rest| rest.get(..3)).and_then(|code| code.parse::<u16>().ok());
    match status {
        Some(code) => json!({"responseTooManyFailedAttempts": {"httpStatusCode": code}}),
        None if why.ends_with("which may cause temporary errors.") => json!("internalServerError"),
        None => json!("other"),
    }
}
