//! The host that drives Claude Code over its stdin: writes the prompt, closes stdin after the result.
//!
//! Invariant: it does what a plain host does and nothing else: it answers nothing, and waits for ever.

use crate::{Actor, Exit, Input, Output};
use rehang_scenario::{Canon, VTime};
use rehang_trace::RunEnd;
use rehang_wire::claude::{self, FromAgent, Lines};

/// The driver of a stream-json agent.
#[derive(Debug)]
pub struct Driver {
    /// What it writes at the start, line by line, without newlines.
    says: Vec<String>,
    lines: Lines,
    result: Option<(bool, String)>,
}

impl Driver {
    /// A driver that begins with these lines.
    pub fn new(says: Vec<String>) -> Driver {
        Driver { says, lines: Lines::default(), result: None }
    }

    /// A driver that begins with this prompt alone.
    pub fn with_prompt(prompt: &str) -> Driver {
        Driver::new(vec![claude::user(prompt).to_string()])
    }
}

impl Actor for Driver {
    fn deadline(&self) -> Option<VTime> {
        None
    }

    fn on(&mut self, _: VTime, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Begin => out.extend(self.says.iter().map(|line| Output::Write(format!("{line}\n").into_bytes()))),
            Input::Output(bytes) => {
                self.lines.push(&bytes);
                while let Some(line) = self.lines.next_line() {
                    if let Some(FromAgent::Result { subtype, is_error, text }) = claude::from_agent(&line) {
                        // After an interrupt `is_error` is false, though the subtype is `error_during_execution`
                        // (2.0.77).
                        self.result = Some((is_error || subtype != "success", text));
                        out.push(Output::CloseStdin);
                    }
                }
            }
            Input::Over(exit) => {
                let (outcome, cause, text) = match (&self.result, exit) {
                    (Some((false, text)), Exit::Code(0)) => (RunEnd::Completed, String::new(), text.as_str()),
                    (Some((true, text)), _) => (RunEnd::Failed, "error result".to_owned(), text.as_str()),
                    (_, Exit::Code(0)) => (RunEnd::Failed, "no result".to_owned(), ""),
                    (_, exit) => (RunEnd::Failed, exit.to_string(), ""),
                };
                out.push(Output::Settle { outcome, cause, text: text.to_owned() });
            }
            _ => {}
        }
    }

    fn tick(&mut self, _: VTime, _: &mut Vec<Output>) {}

    fn canon(&self, _: &dyn Fn(u32) -> u64, canon: &mut Canon) {
        let Driver {
            says: _, // not compared: it never changes
            lines,
            result,
        } = self;
        canon.bytes(lines.held()).flag(result.is_some());
        if let Some((error, text)) = result {
            canon.flag(*error).text(text);
        }
    }

    fn waits_for(&self) -> Option<&'static str> {
        Some(if self.result.is_some() { "exit" } else { "result" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stdin_is_closed_after_the_result_and_the_exit_is_the_end() {
        let mut driver = Driver::with_prompt("go");
        let mut out = Vec::new();
        driver.on(VTime(0), Input::Begin, &mut out);
        assert!(matches!(&out[..], [Output::Write(line)] if line.ends_with(b"\n")), "{out:?}");
        let line = br#"{"type":"result","subtype":"success","is_error":false,"result":"Done."}"#;
        out.clear();
        driver.on(VTime(1), Input::Output(line[..20].to_vec()), &mut out);
        driver.on(VTime(1), Input::Output([&line[20..], b"\n"].concat()), &mut out);
        assert_eq!(out, [Output::CloseStdin]);
        driver.on(VTime(2), Input::Over(Exit::Code(0)), &mut out);
        let end = Output::Settle { outcome: RunEnd::Completed, cause: String::new(), text: "Done.".to_owned() };
        assert_eq!(out[1], end);
    }

    #[test]
    fn an_exit_without_a_result_is_a_failure() {
        for (exit, cause) in
            [(Exit::Code(0), "no result"), (Exit::Code(3), "exit code 3"), (Exit::Signal("TERM"), "SIGTERM")]
        {
            let mut out = Vec::new();
            Driver::with_prompt("go").on(VTime(2), Input::Over(exit), &mut out);
            let text = String::new();
            assert_eq!(out, [Output::Settle { outcome: RunEnd::Failed, cause: cause.to_owned(), text }]);
        }
    }
}
