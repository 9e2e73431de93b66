//! What `fake-codex` says: events with `--json`, lines on stderr and the last message on stdout without it.
//!
//! Invariant: keys come in the release's order; the same turn gives the same items in both forms.

use super::release::{Kept, Release, RetryWords, Shell, TOKENS};
use super::shell::Report;
use super::voice::{Ended, Voice};
use crate::outgoing::Outgoing;
use rehang_scenario::{Canon, Span};
use serde_json::{Value, json};

/// The id of a session that is not kept: a version 7 UUID, without an instant and without chance.
pub(super) const THREAD: &str = "00000000-0000-7000-8000-000000000001";
/// The folder that it names if it runs on a stage, as recorded.
const CWD: &str = "/home/agent/proj";

/// Says what happens, in the form that was asked for.
pub(super) struct Writer {
    release: &'static Release,
    json: bool,
    thread: String,
    items: u32,
    responses: u32,
    /// What a client is told instead, if it is `app-server`.
    pub voice: Option<Box<Voice>>,
    pub out: Outgoing,
    pub err: Outgoing,
}

impl Writer {
    pub fn new(release: &'static Release, json: bool) -> Writer {
        let (out, err) = (Outgoing::default(), Outgoing::default());
        Writer { release, json, thread: THREAD.to_owned(), items: 0, responses: 0, voice: None, out, err }
    }

    /// The session has this id, and was charged for so many responses before.
    pub fn goes_on(&mut self, thread: &str, charged: u32) {
        thread.clone_into(&mut self.thread);
        self.responses = charged;
    }

    /// It reads what is piped in.
    pub fn reads_stdin(&mut self) {
        self.say("Reading additional input from stdin...");
    }

    /// The turn begins.
    pub fn started(&mut self, cwd: Option<String>, sandbox: &str, prompt: &str) {
        let release = self.release;
        if self.json {
            self.event(&json!({"type": "thread.started", "thread_id": self.thread}));
            if let Some(warning) = release.model_warning {
                let id = self.item();
                self.completed(&json!({"id": id, "type": "error", "message": warning}));
            }
            return self.event(&json!({"type": "turn.started"}));
        }
        let cwd = cwd.unwrap_or_else(|| CWD.to_owned());
        let Release { version, preview, summaries, .. } = release;
        let thread = &self.thread;
        self.say(&format!(
            "OpenAI Codex v{version}{preview}\n--------\nworkdir: {cwd}\nmodel: gpt-5\nprovider: fake\napproval: never\n\
             sandbox: {sandbox}\nreasoning effort: none\nreasoning summaries: {summaries}\nsession id: {thread}\n--------\n\
             user\n{prompt}"
        ));
        if let Some(warning) = release.model_warning {
            self.say(&format!("warning: {warning}"));
        }
        release.greeting.iter().for_each(|line| self.say(line));
    }

    /// The model is asked for the `n`-th time, from 1.
    pub fn asks(&mut self, n: u32) {
        if let Some(voice) = &mut self.voice {
            voice.asks_model(n);
        }
    }

    /// Something of the model's response has come.
    pub fn heard(&mut self) {
        if let Some(voice) = &mut self.voice {
            voice.heard();
        }
    }

    /// The model is saying this.
    pub fn delta(&mut self, text: &str) {
        if let Some(voice) = &mut self.voice {
            voice.delta(text);
        }
    }

    /// The model has said this.
    pub fn message(&mut self, text: &str) {
        if let Some(voice) = &mut self.voice {
            return voice.message(text);
        }
        let id = self.item();
        match self.json {
            true => self.completed(&json!({"id": id, "type": "agent_message", "text": text})),
            false => self.say(&format!("codex\n{text}")),
        }
    }

    /// A response is whole, and is charged.
    pub fn responded(&mut self) {
        self.responses += 1;
        if let Some(voice) = &mut self.voice {
            voice.responded();
        }
    }

    /// All calls of a response have ended.
    pub fn response_ends(&mut self) {
        if let Some(voice) = &mut self.voice {
            voice.response_ends();
        }
    }

    /// The command of this call begins; returns the item's id.
    pub fn command_begins(&mut self, call: &str, command: &str, cwd: Option<String>) -> String {
        if let Some(voice) = &mut self.voice {
            voice.command_begins(call, command);
            return call.to_owned();
        }
        let id = self.item();
        if self.json {
            let item = self.command(&id, command, "", None, "in_progress");
            self.event(&json!({"type": "item.started", "item": item}));
        } else {
            let cwd = cwd.unwrap_or_else(|| CWD.to_owned());
            let end = if self.release.breaks_command_line { "\n" } else { "" };
            self.err.push(&format!("exec\n{command} in {cwd}{end}"));
        }
        id
    }

    /// A command has ended.
    pub fn command_ends(&mut self, id: &str, command: &str, report: &Report) {
        if let Some(voice) = &mut self.voice {
            return voice.command_ends(id, command, report);
        }
        let code = report.code.unwrap_or_default();
        let output = report.output.as_str();
        if self.json {
            let status = if code == 0 { "completed" } else { "failed" };
            let item = self.command(id, command, output, Some(code), status);
            return self.completed(&item);
        }
        let how = if code == 0 { "succeeded".to_owned() } else { format!("exited {code}") };
        self.err.push(&format!(" {how} in {}ms:\n{output}", report.took.as_ms()));
        if !output.is_empty() && !output.ends_with('\n') {
            self.err.push("\n");
        }
    }

    /// A command runs on at the turn's end.
    pub fn command_runs_on(&mut self, id: &str, command: &str) {
        if self.json && self.release.completes_running {
            let item = self.command(id, command, "", None, "completed");
            self.completed(&item);
        }
    }

    /// A stream that broke is asked for again after this span.
    pub fn retries(&mut self, n: u32, max: u32, why: &str, after: Span) {
        let counted = format!("Reconnecting... {n}/{max}");
        let text = match self.release.retry_words {
            RetryWords::StreamError => {
                let after = std::time::Duration::from_millis(after.as_ms());
                format!("stream error: {why}; retrying {n}/{max} in {after:?}…")
            }
            RetryWords::Reconnecting => counted,
            RetryWords::Because => format!("{counted} ({why})"),
            RetryWords::Error if self.json => format!("{counted} ({why})"),
            RetryWords::Error => format!("ERROR: {counted}"),
        };
        match &mut self.voice {
            Some(voice) => voice.retries((n, max), why, &text),
            None if self.json => self.event(&json!({"type": "error", "message": text})),
            None => self.say(&text),
        }
    }

    /// The turn is complete; `last` is the model's last message.
    pub fn ended(&mut self, last: &str) {
        if let Some(voice) = &mut self.voice {
            return voice.turn_ends(&Ended::Completed);
        }
        let (input, output) = (TOKENS.0 * self.responses, TOKENS.1 * self.responses);
        if !self.json {
            self.say(&format!("tokens used\n{}", input + output));
            if !last.is_empty() {
                self.out.push(&format!("{last}\n"));
            }
            return;
        }
        let usage = match self.release.usage_is_long {
            true => json!({"input_tokens": input, "cached_input_tokens": 0, "cache_write_input_tokens": 0,
                "output_tokens": output, "reasoning_output_tokens": 0}),
            false => json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output}),
        };
        self.event(&json!({"type": "turn.completed", "usage": usage}));
    }

    /// The turn has failed.
    pub fn failed(&mut self, why: &str) {
        if let Some(voice) = &mut self.voice {
            return voice.turn_ends(&Ended::Failed(why));
        }
        if self.json {
            self.event(&json!({"type": "error", "message": why}));
            return self.event(&json!({"type": "turn.failed", "error": {"message": why}}));
        }
        for _ in 0..=u32::from(self.release.fails_twice) {
            self.say(&format!("ERROR: {why}"));
        }
    }

    /// A line on stderr.
    pub fn say(&mut self, line: &str) {
        self.err.push(line);
        self.err.push("\n");
    }

    pub fn canon(&self, canon: &mut Canon) {
        let Self {
            release: _, // not compared: it never changes
            json: _,    // not compared: it never changes
            thread: _,  // not compared: on a stage it never changes
            items,
            responses,
            voice,
            out,
            err,
        } = self;
        canon.num((*items).into()).num((*responses).into()).flag(voice.is_some());
        if let Some(voice) = voice {
            voice.canon(canon);
        }
        for stream in [out, err] {
            stream.canon(canon);
        }
    }

    fn item(&mut self) -> String {
        self.items += 1;
        format!("item_{}", self.items - 1)
    }

    fn command(&self, id: &str, command: &str, output: &str, code: Option<i32>, status: &str) -> Value {
        let mut item = json!({"id": id, "type": "command_execution", "command": command, "aggregated_output": output});
        if code.is_some() || self.release.starts_with_exit_code {
            item["exit_code"] = json!(code);
        }
        item["status"] = json!(status);
        item
    }

    fn completed(&mut self, item: &Value) {
        self.event(&json!({"type": "item.completed", "item": item}));
    }

    fn event(&mut self, event: &Value) {
        self.out.push(&format!("{event}\n"));
    }
}

/// What the model is told of a command.
pub(super) fn told(release: &Release, number: u32, command: &str, report: &Report) -> String {
    let Report { code, output, early: _, timed_out, took } = report;
    let seconds = took.as_ms() as f64 / 1_000.0;
    if let Shell::Waits(_) = release.shell {
        let output = match timed_out {
            true => format!("command timed out after {} milliseconds\n{output}", took.as_ms()),
            false => output.clone(),
        };
        let rounded = (seconds * 10.0).round() / 10.0;
        let code = code.unwrap_or_default();
        return json!({"output": output, "metadata": {"exit_code": code, "duration_seconds": rounded}}).to_string();
    }
    let again = if release.tells_command { format!("Command: {command}\n") } else { String::new() };
    let state = match code {
        Some(code) => format!("Process exited with code {code}"),
        None => format!("Process running with session ID {}", 1_000 + number),
    };
    let tokens = output.len().div_ceil(4);
    format!(
        "{again}Chunk ID: {number:06x}\nWall time: {seconds:.4} seconds\n{state}\nOriginal token count: {tokens}\n\
         Output:\n{output}"
    )
}

/// What is kept as the result of a command that an interrupt ended.
pub(super) fn aborted(release: &Release, took: Span) -> String {
    let seconds = took.as_ms() as f64 / 1_000.0;
    match release.kept {
        Kept::Items => format!("Wall time: {seconds:.1} seconds\naborted by user"),
        Kept::Kind | Kept::Images | Kept::Tasks => format!("aborted by user after {seconds:.1}s"),
    }
}
