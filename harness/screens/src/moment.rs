//! The moments: each a scenario, and an instant at which it is looked at.
//!
//! Invariant: at its instant a moment is either reached, by what the scripted model and the process table saw, or it is not
//! recorded.

use crate::label::{Label, Response, Seen};
use rehang_scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// It has started, without a prompt.
    Started,
    /// Somebody has typed a text, and not pressed Enter.
    Typing,
    /// Its tool server, which it has started, says nothing; its model has not been asked yet.
    McpStarts,
    /// The model was asked and has not begun to answer; it will.
    NoFirstByte,
    /// The answer streams, a chunk each second.
    Streaming,
    /// The stream pauses after its first chunk, and will go on.
    StreamPaused,
    /// A command runs and prints a line each second.
    ToolPrints,
    /// A command runs and prints nothing for five minutes.
    ToolSilent,
    /// A command waits for a permission.
    Permission,
    /// The model has asked the user a question.
    Question,
    /// The model answers each request with status 429; the next try is due.
    Retrying429,
    /// The model resets each connection; the next try is due.
    RetryingReset,
    /// The turn is over.
    Finished,
    /// The turn is over, and its last words are a question.
    FinishedAsking,
    /// Somebody has interrupted the turn.
    Interrupted,
    /// The model has refused the request for good, with status 400.
    Failed,
    /// A command opens a FIFO that nobody will ever write to.
    StuckTool,
    /// The stream has stopped after its first chunk, and will never go on.
    StuckStream,
}

use Moment as M;

/// Many words, a chunk each.
const WORDS: &str = "{ say = \"One \" }, { say = \"two \" }, { say = \"three \" }, { say = \"four \" }, \
    { say = \"five \" }, { say = \"six \" }, { say = \"seven \" }, { say = \"eight \" }, { say = \"nine \" }, \
    { say = \"ten \" }, { say = \"eleven \" }, { say = \"twelve \" }, { say = \"thirteen \" }, { say = \"fourteen \" }, \
    { say = \"fifteen \" }, { say = \"sixteen \" }, { say = \"seventeen \" }, { say = \"eighteen \" }, \
    { say = \"nineteen \" }, { say = \"twenty.\" }";
const HALF: &str = "{ say = \"Half of \" }, { say = \"what there is to say.\" }";

impl Moment {
    /// All, in the order of the tables.
    pub const ALL: [Moment; 18] = [
        M::Started,
        M::Typing,
        M::McpStarts,
        M::NoFirstByte,
        M::Streaming,
        M::StreamPaused,
        M::ToolPrints,
        M::ToolSilent,
        M::Permission,
        M::Question,
        M::Retrying429,
        M::RetryingReset,
        M::Finished,
        M::FinishedAsking,
        M::Interrupted,
        M::Failed,
        M::StuckTool,
        M::StuckStream,
    ];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            M::Started => "started",
            M::Typing => "typing",
            M::McpStarts => "mcp-starts",
            M::NoFirstByte => "no-first-byte",
            M::Streaming => "streaming",
            M::StreamPaused => "stream-paused",
            M::ToolPrints => "tool-prints",
            M::ToolSilent => "tool-silent",
            M::Permission => "permission",
            M::Question => "question",
            M::Retrying429 => "retrying429",
            M::RetryingReset => "retrying-reset",
            M::Finished => "finished",
            M::FinishedAsking => "finished-asking",
            M::Interrupted => "interrupted",
            M::Failed => "failed",
            M::StuckTool => "stuck-tool",
            M::StuckStream => "stuck-stream",
        }
    }

    /// The moment of this name.
    pub fn named(name: &str) -> Option<Moment> {
        M::ALL.into_iter().find(|moment| moment.name() == name)
    }

    /// What an agent is doing at it.
    pub fn label(self) -> Label {
        match self {
            M::Started | M::Typing | M::Finished | M::FinishedAsking | M::Interrupted | M::Failed => Label::Waiting,
            M::McpStarts | M::NoFirstByte | M::Streaming | M::StreamPaused | M::ToolPrints | M::ToolSilent => {
                Label::Working
            }
            M::Retrying429 | M::RetryingReset => Label::Working,
            M::Permission | M::Question => Label::Asking,
            M::StuckTool | M::StuckStream => Label::Stuck,
        }
    }

    /// Whether the agent is given a prompt when it is started.
    pub fn is_prompted(self) -> bool {
        !matches!(self, M::Started | M::Typing)
    }

    /// Whether it lies between two tries of a request.
    pub fn is_between_tries(self) -> bool {
        matches!(self, M::Retrying429 | M::RetryingReset)
    }

    /// When it is looked at: so long after the model was first asked, or, if it is not, after the start.
    pub fn at(self) -> (bool, Duration) {
        // what somebody has typed is there for longer than any detector waits
        match self {
            M::Started | M::McpStarts | M::Typing | M::Interrupted => (false, Duration::from_secs(60)),
            _ => (true, Duration::from_millis(3_500)),
        }
    }

    /// Whether this is what is to be seen at it, beside the label.
    pub fn is_reached(self, seen: &Seen) -> bool {
        let asked = matches!(seen.response, Response::Whole) && seen.requests == 1;
        match self {
            M::Started | M::Typing | M::McpStarts => seen.response == Response::None,
            M::NoFirstByte => seen.response == Response::Silent,
            M::Streaming => matches!(seen.response, Response::Open(2..)),
            M::StreamPaused | M::StuckStream => matches!(seen.response, Response::Open(1)),
            M::ToolPrints | M::ToolSilent | M::StuckTool => asked && seen.tool_runs,
            M::Permission | M::Question => asked && !seen.tool_runs,
            M::Retrying429 | M::RetryingReset => seen.response == Response::Failed && seen.tries_again,
            M::Finished | M::FinishedAsking => asked && !seen.tool_runs,
            M::Interrupted => seen.response == Response::Left,
            M::Failed => seen.response == Response::Failed && !seen.tries_again,
        }
    }

    /// The scenario, as a file has it; `escapes` says how often Esc must be pressed to interrupt this agent.
    pub fn scenario_text(self, escapes: usize) -> String {
        let bash =
            |bash: &str| format!("turns = [{{ bash = {{ command = \"make\", {bash} }} }}, {{ say = \"Done.\" }}]");
        let model = |turns: &str, fault: &str| format!("turns = [{turns}]\nfaults = [{{ model = {{ {fault} }} }}]");
        let types = |after: &str, text: &str| {
            format!("{{ via = \"tty\", sees = \"clock\", after = \"{after}\", does = {{ type = \"{text}\" }} }}")
        };
        let what = match self {
            M::Started => "turns = [{ say = \"Hello.\" }]".to_owned(),
            M::Typing => {
                format!("turns = [{{ say = \"Hello.\" }}]\npeople = [{}]", types("50s", "Explain this folder"))
            }
            M::McpStarts => "turns = [{ say = \"Hello.\" }]\n\
                tool-server = { over = \"stdio\", fault = { at = \"initialize\", does = \"mute\" } }"
                .to_owned(),
            M::NoFirstByte => model("{ say = \"Hello.\" }", "does = { pause = \"1h\" }"),
            M::Streaming => model(WORDS, "does = { slow = \"1s\" }"),
            M::StreamPaused => model(HALF, "after = 1, does = { pause = \"1h\" }"),
            M::StuckStream => model(HALF, "after = 1, does = \"stall\""),
            M::ToolPrints => bash("does = [{ every = { every = \"1s\", print = \"one more\", times = 300 } }]"),
            M::ToolSilent => bash("does = [{ sleep = \"5m\" }]"),
            M::StuckTool => bash("does = [{ open-fifo = {} }]"),
            M::Permission => bash("asks = \"bash\", does = [{ print = \"made\" }]"),
            M::Question => "turns = [{ ask = [{ question = \"Which database?\", header = \"Database\", \
                options = [{ label = \"sqlite\" }, { label = \"postgres\" }] }] }, { say = \"Done.\" }]"
                .to_owned(),
            M::Retrying429 => model("{ say = \"Hello.\" }", "response = 0, does = { status = 429 }"),
            M::RetryingReset => model("{ say = \"Hello.\" }", "response = 0, does = \"reset\""),
            M::Failed => model("{ say = \"Hello.\" }", "response = 0, does = { status = 400 }"),
            M::Finished => "turns = [{ say = \"All is done.\" }]".to_owned(),
            M::FinishedAsking => "turns = [{ say = \"I can go on with the tests. Shall I do that?\" }]".to_owned(),
            M::Interrupted => {
                let people: Vec<String> =
                    (0..escapes).map(|n| types(&format!("{}ms", 50_000 + n * 1_000), "\\u001b")).collect();
                let fault = model("{ say = \"Hello.\" }", "does = { pause = \"1h\" }");
                format!("{fault}\npeople = [{}]", people.join(", "))
            }
        };
        // who plays it is the release's recipe
        format!(
            "title = \"{}\"\nmechanism = \"F1\"\n\
             agent = {{ opencode = {{ as = \"1.18.33\", mode = \"interactive\" }} }}\nterminals = [\"tty\"]\n\
             stages = {{ only = [\"live\"], because = \"the screen is the release's own\" }}\n{what}\n",
            self.name()
        )
    }

    /// The scenario; `escapes` says how often Esc must be pressed to interrupt this agent.
    ///
    /// # Errors
    /// What is wrong with its text.
    pub fn scenario(self, escapes: usize) -> Result<Scenario, String> {
        let text = self.scenario_text(escapes);
        let family = rehang_scenario::load(self.name(), text.as_bytes()).into_result();
        let mut family = family.map_err(|problems| problems.to_string())?;
        match family.variants.len() {
            1 => Ok(family.variants.remove(0).scenario),
            count => Err(format!("{}: {count} variants", self.name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_moment_has_a_scenario_that_loads() {
        for moment in Moment::ALL {
            let scenario = moment.scenario(2).unwrap_or_else(|why| panic!("{}: {why}", moment.name()));
            assert_eq!(scenario.title, moment.name());
            assert_eq!(Moment::named(moment.name()), Some(moment));
            assert_eq!(serde_json::to_value(moment).unwrap(), moment.name());
        }
    }
}
