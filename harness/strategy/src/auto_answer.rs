//! altimate-code's question auto-answer, in its three revisions, at its two places: the tool's entry and the ask layer.
//!
//! Invariant: an answer is one of the options' own labels or none; which one is a pure function of the questions and of
//! the environment at the start. R1 takes "no" inside "Snowflake" for a refusal; that is kept.

use crate::entry::Value;
use crate::{Act, Ask, Entry, Facts, InsideAct, InsideSeen, Param, Params, Seat, Seen, Strategy, Wire};
use rehang_words::attribution::ANSWERS_IN_MIND;
use rehang_words::{Canon, Policy, Span, VTime};
use rehang_words::{Choice, Question};

/// If set to `1`: nobody can answer.
pub const NON_INTERACTIVE: &str = "ALTIMATE_NON_INTERACTIVE";
/// If set to `1`: somebody can answer, whatever else says that nobody can.
pub const FORCE_INTERACTIVE: &str = "ALTIMATE_FORCE_INTERACTIVE";
/// What to answer: `first`, `last`, a label; with R1 `skip` too.
pub const AUTO_ANSWER: &str = "ALTIMATE_AUTO_ANSWER";

/// R1's keywords. They are looked for anywhere in a label or a description, not as words.
pub const KEYWORDS: [&str; 9] =
    ["skip", "cancel", "no", "abort", "profile only", "profile-only", "decline", "deny", "stop"];

const PREFIX_R1: &str = "Running in non-interactive mode (no TTY). Auto-answered with safe defaults: ";
const PREFIX_R2: &str = "Running in non-interactive mode (no TTY). No user was available to answer. Either pick a safe path from the \
     context of the action you were about to take, or report that user input is required to proceed. Result: ";
const PREFIX_R3: &str = "Running in non-interactive mode (no answer channel available). No user was available to answer. Either pick a safe path from the \
     context of the action you were about to take, or report that user input is required to proceed — the user can set ALTIMATE_AUTO_ANSWER=first|last|<exact option label> \
     to pre-answer questions in this mode. Result: ";

/// The three revisions, in two placements.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "auto-answer@r1",
        seat: Seat::Inside,
        origin: "AltimateAI/altimate-code a49442bf9 (never released)",
        summary: "no TTY: answers by keyword anywhere in an option, else the last option, and says so as \"safe defaults\"",
        speaks: &[Wire::InOpencode],
        params: &[AT],
        build: |params| Box::new(AutoAnswer::new(params, Revision::R1)),
    },
    Entry {
        name: "auto-answer@r2",
        seat: Seat::Inside,
        origin: "AltimateAI/altimate-code PR 937, second revision",
        summary: "no TTY: answers nothing unless told to, and tells the model to go on with the answers",
        speaks: &[Wire::InOpencode],
        params: &[AT],
        build: |params| Box::new(AutoAnswer::new(params, Revision::R2)),
    },
    Entry {
        name: "auto-answer@r3",
        seat: Seat::Inside,
        origin: "AltimateAI/altimate-code 9644a009b (merged 2026-06-18), 34438295e (v0.8.8)",
        summary: "opted in by the environment, which `run` sets: answers nothing unless told to, and says that no user was available",
        speaks: &[Wire::InOpencode],
        params: &[
            AT,
            Param {
                name: "unset",
                default: Value::Word(&["blank", "undefined"]),
                doc: "when `run` takes ALTIMATE_NON_INTERACTIVE as not set: also when blank (34438295e), or only when undefined (9644a009b)",
            },
        ],
        build: |params| {
            Box::new(AutoAnswer::new(params, Revision::R3 { blank_is_unset: params.word("unset") == "blank" }))
        },
    },
];

const AT: Param = Param {
    name: "at",
    default: Value::Word(&["tool", "ask"]),
    doc: "where it sits: at the question tool's entry, before an ask exists; or at the ask layer, where it replies to one",
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Revision {
    R1,
    R2,
    R3 { blank_is_unset: bool },
}

#[derive(Debug, Clone)]
struct AutoAnswer {
    revision: Revision,
    at_tool: bool,
    non_interactive: bool,
    /// The value of AUTO_ANSWER in lower case; empty if it is not set.
    mode: String,
}

/// One question's answer and the rule that chose it.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    labels: Vec<String>,
    rule: String,
}

impl AutoAnswer {
    fn new(params: &Params, revision: Revision) -> AutoAnswer {
        let at_tool = params.word("at") != "ask";
        AutoAnswer { revision, at_tool, non_interactive: false, mode: String::new() }
    }

    fn boot(&mut self, env: &[(String, String)], stdin_tty: bool, run: bool, acts: &mut Vec<Act>) {
        let get = |name: &str| env.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let set = get(NON_INTERACTIVE);
        let opted_in = match self.revision {
            Revision::R1 | Revision::R2 => set == Some("1") || !stdin_tty,
            Revision::R3 { blank_is_unset } => {
                acts.push(Act::Inside(InsideAct::StripEnv(NON_INTERACTIVE)));
                let unset = set.is_none_or(|value| blank_is_unset && value.trim().is_empty());
                set == Some("1") || (run && unset)
            }
        };
        self.non_interactive = opted_in && get(FORCE_INTERACTIVE) != Some("1");
        self.mode = get(AUTO_ANSWER).unwrap_or_default().to_lowercase();
    }

    fn answer(&self, question: &Question) -> Answer {
        let options = &question.options;
        let one = |choice: Option<&Choice>, rule: &str| match choice {
            Some(choice) => Answer { labels: vec![choice.label.clone()], rule: rule.to_owned() },
            None => Answer { labels: Vec::new(), rule: "unanswered".to_owned() },
        };
        match (self.revision, self.mode.as_str()) {
            (Revision::R1, "skip") => Answer { labels: Vec::new(), rule: "skip".to_owned() },
            (Revision::R1, "" | "last") => match by_keyword(options) {
                Some((choice, keyword)) => one(Some(choice), &format!("keyword: {keyword}")),
                None => one(options.last(), "last"),
            },
            (_, "") => one(None, ""),
            (_, "first") => one(options.first(), "first"),
            (_, "last") => one(options.last(), "last"),
            (_, label) => one(options.iter().find(|choice| choice.label.to_lowercase() == label), "label"),
        }
    }

    fn text(&self, questions: &[Question], answers: &[Answer]) -> String {
        let pairs = questions.iter().zip(answers).map(|(question, answer)| {
            let said = if answer.labels.is_empty() { "Unanswered".to_owned() } else { answer.labels.join(", ") };
            format!("\"{}\"=\"{said}\"", question.question)
        });
        let list = pairs.collect::<Vec<_>>().join(", ");
        match self.revision {
            Revision::R1 => format!("{PREFIX_R1}{list}. {ANSWERS_IN_MIND}"),
            Revision::R2 => format!("{PREFIX_R2}{list}. {ANSWERS_IN_MIND}"),
            Revision::R3 { .. } => format!("{PREFIX_R3}{list}."),
        }
    }

    fn act(&self, ask: &Ask, acts: &mut Vec<Act>) {
        let answers: Vec<Answer> = ask.questions.iter().map(|question| self.answer(question)).collect();
        let labels: Vec<Vec<String>> = answers.iter().map(|answer| answer.labels.clone()).collect();
        let text = self.at_tool.then(|| self.text(&ask.questions, &answers));
        let mut rules: Vec<String> = answers.into_iter().map(|answer| answer.rule).collect();
        rules.dedup();
        acts.push(Act::Report(Policy {
            // R1 and R2 print "(no TTY)", even on a terminal if the environment said that nobody can answer.
            detected: Some(if matches!(self.revision, Revision::R3 { .. }) { "env" } else { "no-tty" }.to_owned()),
            answered: Some(labels.clone()),
            rule: Some(rules.join("; ")),
            text: text.clone(),
            ..Policy::default()
        }));
        acts.push(match text {
            Some(text) => Act::Inside(InsideAct::AnswerTool { answers: labels, text }),
            None => Act::Inside(InsideAct::Reply { id: ask.id.clone(), answers: labels }),
        });
    }
}

/// The first option, in the order of options, that contains a keyword; and the first keyword in it.
fn by_keyword(options: &[Choice]) -> Option<(&Choice, &'static str)> {
    options.iter().find_map(|choice| {
        let text = format!("{} {}", choice.label, choice.description).to_lowercase();
        KEYWORDS.iter().find(|keyword| text.contains(*keyword)).map(|keyword| (choice, *keyword))
    })
}

impl Strategy for AutoAnswer {
    fn on(&mut self, _: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        match seen {
            Seen::Inside(InsideSeen::Boot { env, stdin_tty, run, .. }) => self.boot(env, *stdin_tty, *run, acts),
            Seen::Inside(InsideSeen::ToolAsks(ask)) if self.at_tool && self.non_interactive => self.act(ask, acts),
            Seen::Inside(InsideSeen::Pending(ask))
                if !self.at_tool && self.non_interactive && ask.permission.is_empty() =>
            {
                self.act(ask, acts);
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<VTime> {
        None
    }

    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            revision: _, // not compared: it never changes after construction
            at_tool: _,  // not compared: it never changes after construction
            non_interactive,
            mode,
        } = self;
        canon.flag(*non_interactive).text(mode);
    }
}

#[cfg(test)]
mod tests;
