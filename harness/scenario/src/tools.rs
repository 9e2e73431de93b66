//! A tool server of the Model Context Protocol beside the agent: how it is reached, what it offers, where it fails.
//!
//! Invariant: it is one server with one tool. What several servers, or several tools, would add is not modelled.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool server, a process of its own (`fake-mcp`). Its agent is told of it when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ToolServer {
    /// How it is reached. `http` by default.
    #[serde(default)]
    pub over: Transport,
    /// Its name in the agent's configuration: the model calls its tool as `mcp__NAME__TOOL` (Claude Code) or `NAME_TOOL`
    /// (opencode).
    #[serde(default = "db")]
    pub name: String,
    /// The name of its tool.
    #[serde(default = "query")]
    pub tool: String,
    /// The text that a call of its tool returns.
    #[serde(default)]
    pub output: String,
    /// How it answers a request over HTTP. `stream` by default, as the servers of the protocol's own SDKs do.
    #[serde(default)]
    pub answers: Answers,
    /// Where it fails, and how. By default it does not.
    #[serde(default)]
    pub fault: Option<ToolServerFault>,
}

/// How a tool server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// "Streamable HTTP" of the protocol, on loopback: it is no child of the agent, and runs before it begins.
    #[default]
    Http,
    /// The agent starts it, and both speak by lines over its stdin and stdout.
    Stdio,
}

/// How a tool server answers a request over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// By a stream of server-sent events, which ends after the response.
    #[default]
    Stream,
    /// By one JSON object.
    Json,
}

/// Where a tool server fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ToolServerFault {
    /// At which request.
    pub at: ToolRequest,
    /// What it does instead of answering.
    pub does: ToolServerDoes,
}

/// A request of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolRequest {
    /// `initialize`: the handshake.
    Initialize,
    /// `tools/list`.
    List,
    /// `tools/call`.
    Call,
}

/// What a tool server does instead of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolServerDoes {
    /// It takes the request and sends nothing, for ever.
    Mute,
    /// It begins its answer, and the stream is open and silent for ever. Over stdio, or where it answers by JSON: as `mute`.
    Stall,
    /// It begins its answer, and then only keep-alive comments come, one every so often, for ever. Over stdio, or where it
    /// answers by JSON: as `mute`.
    KeepAlive(Span),
    /// It begins its answer, and the stream ends in good order, without the response. Over stdio, or where it answers by
    /// JSON: as `mute`.
    Cut,
    /// It begins its answer, and the process ends.
    Dies,
    /// It answers after this span.
    Pause(Span),
}

fn db() -> String {
    "db".to_owned()
}

fn query() -> String {
    "query".to_owned()
}

#[cfg(test)]
mod tests {
    use crate::playable::impossible;
    use crate::{Scenario, load, to_toml};

    fn with(more: &str, agent: &str) -> Scenario {
        let text = format!(
            "title = \"t\"\nmechanism = \"X2\"\nagent = {agent}\nturns = [{{ say = \"x\" }}]\ntool-server = {{ {more} }}\n[[expect]]\noutcome = \"completed\"\n"
        );
        let family = load("x.toml", text.as_bytes()).into_result().unwrap_or_else(|e| panic!("{e}"));
        family.variants.into_iter().next().unwrap().scenario
    }

    const CLAUDE: &str = "{ claude = { as = \"2.0.77\", mode = \"json\" } }";

    #[test]
    fn a_tool_server_is_written_as_it_is_read() {
        for more in ["", "over = \"stdio\"", "output = \"a\", fault = { at = \"call\", does = { pause = \"3s\" } }"] {
            let scenario = with(more, CLAUDE);
            let again =
                load("x.toml", to_toml(&scenario, None).as_bytes()).into_result().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(again.variants[0].scenario.tool_server, scenario.tool_server, "{more}");
        }
    }

    #[test]
    fn what_no_server_can_be_is_refused() {
        let paths = |more: &str, agent: &str| -> Vec<String> {
            impossible(&with(more, agent)).into_iter().map(|thing| thing.path).collect()
        };
        let none: [&str; 0] = [];
        assert_eq!(paths("answers = \"json\"", CLAUDE), none);
        assert_eq!(paths("", "{ opencode = { as = \"1.2.15\", mode = \"run\" } }"), ["tool-server"]);
        assert_eq!(paths("name = \"a_b\"", CLAUDE), ["tool-server.name"]);
        assert_eq!(paths("tool = \"\"", CLAUDE), ["tool-server.tool"]);
        let fault = "fault = { at = \"call\", does = { keep-alive = \"0s\" } }";
        assert_eq!(paths(fault, CLAUDE), ["tool-server.fault.does"]);
        assert_eq!(paths(&format!("output = \"{}\"", "x".repeat(16_385)), CLAUDE), ["tool-server.output"]);
    }
}
