//! What the releases answer, key by key and in their order.
//!
//! Invariant: everything here is recorded (tests/golden/opencode-acp-VERSION) but for the kinds of tools that no recording
//! has, which are read from `acp/agent.ts`.

use super::super::release::{Dialect, Release};
use super::super::state::Model;
use serde_json::{Value, json};

const BUILD: &str = "The default agent. Executes tools based on configured permissions.";
const PLAN: &str = "Plan mode. Disallows all edit tools.";
const REVIEW: &str = "review changes [commit|branch|pr], defaults to uncommitted";
const CUSTOMIZE: &str = "Use ONLY when the user is editing or creating opencode's own configuration: opencode.json, \
    opencode.jsonc, files under .opencode/, or files under ~/.config/opencode/. Also use when creating or fixing opencode \
    agents, subagents, skills, plugins, MCP servers, or permission rules. Do not use for the user's own application code, or \
    for any project that is not configuring opencode itself.";

/// A request to the editor.
pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// `initialize`.
pub(super) fn initialized(release: &Release) -> Value {
    let mut can = json!({"loadSession": true, "mcpCapabilities": {"http": true, "sse": true},
        "promptCapabilities": {"embeddedContext": true, "image": true}});
    match release.dialect {
        Dialect::V1_0 => {}
        Dialect::V1_2 => can["sessionCapabilities"] = json!({"fork": {}, "list": {}, "resume": {}}),
        Dialect::V1_18 => can["sessionCapabilities"] = json!({"close": {}, "fork": {}, "list": {}, "resume": {}}),
    }
    let login = json!({"description": "Run `opencode auth login` in the terminal", "name": "Login with opencode",
        "id": "opencode-login"});
    json!({"protocolVersion": 1, "agentCapabilities": can, "authMethods": [login],
        "agentInfo": {"name": "OpenCode", "version": release.version}})
}

/// `session/new` and `session/load`; only the newest release leaves the id out of a loaded one.
pub(super) fn session(release: &Release, id: Option<&str>, mode: &str) -> Value {
    let mut of = json!({});
    if let Some(id) = id {
        of["sessionId"] = json!(id);
    }
    if release.dialect == Dialect::V1_18 {
        of["configOptions"] = options_of(mode);
        return of;
    }
    let described = |id: &str, about: &str| match release.dialect {
        Dialect::V1_0 => json!({"id": id, "name": id}),
        _ => json!({"id": id, "name": id, "description": about}),
    };
    let model = model();
    of["models"] = json!({"currentModelId": model, "availableModels": [{"modelId": model, "name": model}]});
    of["modes"] =
        json!({"availableModes": [described("build", BUILD), described("plan", PLAN)], "currentModeId": mode});
    of["_meta"] = meta(release);
    of
}

/// The options of a session in the newest release.
pub(super) fn options_of(mode: &str) -> Value {
    let model = model();
    let choice = |id: &str, about: &str| json!({"value": id, "name": id, "description": about});
    json!([
        {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": model,
            "options": [{"value": model, "name": model}]},
        {"id": "mode", "name": "Session Mode", "category": "mode", "type": "select", "currentValue": mode,
            "options": [choice("build", BUILD), choice("plan", PLAN)]},
    ])
}

/// `_meta` of what has a model.
pub(super) fn meta(release: &Release) -> Value {
    match release.dialect {
        Dialect::V1_0 => json!({}),
        _ => json!({"opencode": {"modelId": model(), "variant": null, "availableVariants": []}}),
    }
}

fn model() -> String {
    let Model { provider, id } = Model::default();
    format!("{provider}/{id}")
}

/// The commands that a session is told to have.
pub(super) fn commands(release: &Release) -> Value {
    let command = |name: &str, about: &str| json!({"name": name, "description": about});
    let all = match release.dialect {
        Dialect::V1_18 => [
            command("customize-opencode", CUSTOMIZE),
            command("init", "guided AGENTS.md setup"),
            command("review", REVIEW),
        ],
        _ => [
            command("init", "create/update AGENTS.md"),
            command("review", REVIEW),
            command("compact", "compact the session"),
        ],
    };
    json!({"sessionUpdate": "available_commands_update", "availableCommands": all})
}

/// `session/prompt`: how the turn ended. Before 1.18 a cancelled turn has ended as any other.
pub(super) fn prompted(release: &Release, tokens: &Value, cancelled: bool) -> Value {
    let count = |key: &str| tokens[key].as_u64().unwrap_or(0);
    let (input, output) = (count("input"), count("output"));
    let total = input + output;
    let mut of = json!({"stopReason": "end_turn"});
    match release.dialect {
        Dialect::V1_0 => {}
        Dialect::V1_2 => of["usage"] = json!({"totalTokens": total, "inputTokens": input, "outputTokens": output}),
        Dialect::V1_18 => {
            if cancelled {
                of["stopReason"] = json!("cancelled");
            }
            of["usage"] = json!({"inputTokens": input, "outputTokens": output, "totalTokens": total});
        }
    }
    of["_meta"] = json!({});
    of
}

/// A text as the content of a call.
pub(super) fn content(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

/// The kind of a tool.
pub(super) fn kind(dialect: Dialect, tool: &str) -> &'static str {
    match tool {
        "bash" => "execute",
        "webfetch" => "fetch",
        "edit" | "patch" | "write" => "edit",
        "grep" | "glob" | "context7_resolve_library_id" | "context7_get_library_docs" => "search",
        "list" | "read" => "read",
        "task" if dialect == Dialect::V1_18 => "think",
        _ => "other",
    }
}

/// How a permission can be answered.
pub(super) fn options() -> Value {
    json!([
        {"optionId": "once", "kind": "allow_once", "name": "Allow once"},
        {"optionId": "always", "kind": "allow_always", "name": "Always allow"},
        {"optionId": "reject", "kind": "reject_once", "name": "Reject"},
    ])
}

/// A method that it does not have.
pub(super) fn no_method(method: &str) -> Value {
    json!({"code": -32601, "message": format!("\"Method not found\": {method}"), "data": {"method": method}})
}

/// Parameters that lack these keys; the words are those of the release's validator.
pub(super) fn lacks(release: &Release, missing: &[(&str, &str)]) -> Value {
    let mut data = json!({"_errors": []});
    for (key, kind) in missing {
        let why = match release.dialect {
            Dialect::V1_0 => "Required".to_owned(),
            _ => format!("Invalid input: expected {kind}, received undefined"),
        };
        data[*key] = json!({"_errors": [why]});
    }
    json!({"code": -32602, "message": "Invalid params", "data": data})
}

/// A prompt to a session that does not exist.
pub(super) fn no_session(release: &Release, id: &str) -> Value {
    match release.dialect {
        Dialect::V1_18 => {
            json!({"code": -32602, "message": format!("Invalid params: session not found: {id}"), "data": {"sessionId": id}})
        }
        _ => {
            let data = json!({"error": format!("Session not found: {id}")}).to_string();
            json!({"code": -32602, "message": "Invalid params", "data": data})
        }
    }
}

/// A prompt that is cancelled before its turn has begun.
pub(super) fn no_turn() -> Value {
    json!({"code": -32603, "message": "Internal error: Internal service failure"})
}

/// A session that cannot be loaded.
pub(super) fn not_loaded(release: &Release) -> Value {
    match release.dialect {
        Dialect::V1_18 => {
            json!({"code": -32603, "message": "Internal error: OpenCode service failure", "data": {"service": "session"}})
        }
        _ => json!({"code": -32603, "message": "Internal error", "data": {}}),
    }
}

/// `authenticate`: only the newest release has anything to answer.
pub(super) fn authenticated(release: &Release) -> Result<Value, Value> {
    match release.dialect {
        Dialect::V1_18 => Ok(json!({})),
        _ => Err(json!({"code": -32603, "message": "Internal error",
            "data": {"details": "Authentication not implemented"}})),
    }
}
