//! The formats that are read.
//!
//! Invariant: each format has one word on a command line.

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Claude Code's `--output-format stream-json`, with its control protocol.
    Claude,
    /// A session transcript of Claude Code (JSONL below `projects/`).
    ClaudeTranscript,
    /// Messages of an agent SDK, logged by its host.
    Sdk,
    /// `/event` or `/global/event` of an opencode server: SSE text or NDJSON.
    OpencodeEvents,
    /// `opencode export`.
    OpencodeExport,
    /// `opencode run --format json`.
    OpencodeRun,
    /// `codex exec --json`.
    Codex,
    /// A recorded exchange, with both directions (`fake-agents/tests/golden`).
    Recording,
    /// asciicast v2 or v3.
    Asciicast,
    /// A timing file of `script`, with its typescript.
    Script,
    /// `amp --execute --stream-json`.
    Amp,
    /// `gemini -p --output-format stream-json`.
    Gemini,
    /// `pi --mode json`.
    Pi,
    /// Rows of the table `event` of opencode's database, as JSON.
    OpencodeRows,
    /// What `copilot -p` prints.
    Copilot,
    /// JSON lines of an agent that is not known: its events, or JSON-RPC.
    Events,
    /// Lines of text, with or without times.
    Plain,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 17] = [
        Format::Claude,
        Format::ClaudeTranscript,
        Format::Sdk,
        Format::OpencodeEvents,
        Format::OpencodeExport,
        Format::OpencodeRun,
        Format::Codex,
        Format::Recording,
        Format::Asciicast,
        Format::Script,
        Format::Amp,
        Format::Gemini,
        Format::Pi,
        Format::OpencodeRows,
        Format::Copilot,
        Format::Events,
        Format::Plain,
    ];

    /// Its word on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Claude => "claude",
            Format::ClaudeTranscript => "claude-transcript",
            Format::Sdk => "sdk",
            Format::OpencodeEvents => "opencode-events",
            Format::OpencodeExport => "opencode-export",
            Format::OpencodeRun => "opencode-run",
            Format::Codex => "codex",
            Format::Recording => "recording",
            Format::Asciicast => "asciicast",
            Format::Script => "script",
            Format::Amp => "amp",
            Format::Gemini => "gemini",
            Format::Pi => "pi",
            Format::OpencodeRows => "opencode-rows",
            Format::Copilot => "copilot",
            Format::Events => "events",
            Format::Plain => "plain",
        }
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// What it is, for people.
    pub fn about(self) -> &'static str {
        match self {
            Format::Claude => "Claude Code's stream-json output",
            Format::ClaudeTranscript => "a session transcript of Claude Code",
            Format::Sdk => "messages of an agent SDK",
            Format::OpencodeEvents => "events of an opencode server",
            Format::OpencodeExport => "an export of an opencode session",
            Format::OpencodeRun => "the output of `opencode run --format json`",
            Format::Codex => "the events of `codex exec --json`",
            Format::Recording => "a recorded exchange",
            Format::Asciicast => "an asciicast",
            Format::Script => "a timing file of `script`",
            Format::Amp => "Amp's stream-json output",
            Format::Gemini => "Gemini CLI's stream-json output",
            Format::Pi => "pi's events (`--mode json`)",
            Format::OpencodeRows => "stored events of opencode",
            Format::Copilot => "what `copilot -p` printed",
            Format::Events => "JSON lines of an agent",
            Format::Plain => "lines of text",
        }
    }
}
