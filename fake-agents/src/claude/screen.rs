//! A session on a terminal: plain text, numbered menus, lines that the kernel edits.
//!
//! It is far plainer than the real one, which draws with Ink in raw mode; what a person can do is the same: answer,
//! answer in their own words, skip, turn down, interrupt, leave. Invariant: one menu is open at a time, further asks
//! wait after it.

use rehang_scenario::turns::Question;
use serde_json::Value;
use std::collections::VecDeque;

/// What a person at the terminal decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Answers to a question's parts; an empty list is skipped.
    Answer(Vec<Vec<String>>),
    /// A tool may run; `true`: also from now on.
    Permit(bool),
    /// The ask is turned down.
    TurnDown,
}

/// The meaning of a typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// It decides this ask.
    Decides(String, Choice),
    /// It does not decide, or not yet: this is drawn.
    Draws(String),
}

/// The state of the screen.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Screen {
    /// Who asks, in a permission's menu.
    title: &'static str,
    menus: VecDeque<Menu>,
}

#[derive(Debug, Clone, PartialEq, Hash)]
struct Menu {
    id: String,
    title: &'static str,
    questions: Vec<Question>,
    permission: String,
    answers: Vec<Vec<String>>,
}

/// The text where the next prompt is typed.
pub(crate) const PROMPT: &str = "> ";

impl Screen {
    /// The empty screen of this agent.
    pub fn of(title: &'static str) -> Screen {
        Screen { title, menus: VecDeque::new() }
    }

    /// A message of the session, as a person sees it.
    pub fn message(message: &Value) -> String {
        let mut out = String::new();
        for block in message["message"]["content"].as_array().into_iter().flatten() {
            let line = match block["type"].as_str() {
                Some("text") => format!("* {}\n", block["text"].as_str().unwrap_or_default()),
                Some("tool_use") if block["name"] == "AskUserQuestion" => String::new(),
                Some("tool_use") => {
                    let input = &block["input"];
                    let detail =
                        ["command", "description", "file_path", "url"].into_iter().find_map(|k| input[k].as_str());
                    format!("* {}({})\n", block["name"].as_str().unwrap_or_default(), detail.unwrap_or_default())
                }
                Some("tool_result") => {
                    let text = block["content"].as_str().or_else(|| block["content"][0]["text"].as_str());
                    format!("  => {}\n", text.unwrap_or_default().replace('\n', "\n     "))
                }
                _ => String::new(),
            };
            out.push_str(&line);
        }
        out
    }

    /// A new ask; returns what to draw now.
    pub fn show(&mut self, id: String, questions: Vec<Question>, permission: String) -> String {
        self.menus.push_back(Menu { id, title: self.title, questions, permission, answers: Vec::new() });
        if self.menus.len() == 1 { self.redraw() } else { String::new() }
    }

    /// An ask has ended; returns what to draw now.
    pub fn hide(&mut self, id: &str) -> String {
        let first = self.menus.front().is_some_and(|menu| menu.id == id);
        self.menus.retain(|menu| menu.id != id);
        if first { self.redraw() } else { String::new() }
    }

    /// Whether an ask is on screen.
    pub fn asks(&self) -> bool {
        !self.menus.is_empty()
    }

    /// The id of the ask on screen.
    pub fn first(&self) -> Option<String> {
        self.menus.front().map(|menu| menu.id.clone())
    }

    /// Draws the open menu again.
    pub fn redraw(&self) -> String {
        self.menus.front().map_or_else(String::new, Menu::draw)
    }

    /// A line was typed into the open menu.
    pub fn typed(&mut self, line: &str) -> Typed {
        let Some(menu) = self.menus.front_mut() else { return Typed::Draws(String::new()) };
        match menu.typed(line.trim_end_matches(['\r', '\n'])) {
            Some(choice) => Typed::Decides(menu.id.clone(), choice),
            None => Typed::Draws(menu.draw()),
        }
    }
}

impl Menu {
    fn draw(&self) -> String {
        let Some(question) = self.questions.get(self.answers.len()) else {
            return format!(
                "{} wants to use {}\n  1. Yes\n  2. Yes, and don't ask again for this tool\n  3. No\nNumber: ",
                self.title, self.permission
            );
        };
        let head = if question.header.is_empty() { String::new() } else { format!("[{}] ", question.header) };
        let mut out = format!("{head}{}\n", question.question);
        for (n, option) in question.options.iter().enumerate() {
            let gap = if option.description.is_empty() { "" } else { " - " };
            out.push_str(&format!("  {}. {}{gap}{}\n", n + 1, option.label, option.description));
        }
        let what = if question.multiple { "Numbers, by commas" } else { "Number" };
        let own = if question.custom.unwrap_or(true) { ", or your own answer" } else { "" };
        out.push_str(&format!("{what}{own}: "));
        out
    }

    /// The decision, once the last part is answered; `None` if the answer did not fit, or another part follows.
    fn typed(&mut self, line: &str) -> Option<Choice> {
        if line.starts_with('\x1b') {
            return Some(Choice::TurnDown);
        }
        let Some(question) = self.questions.get(self.answers.len()) else {
            return match line.trim() {
                "1" | "y" | "yes" => Some(Choice::Permit(false)),
                "2" => Some(Choice::Permit(true)),
                "3" | "n" | "no" => Some(Choice::TurnDown),
                _ => None,
            };
        };
        self.answers.push(chosen(question, line.trim())?);
        (self.answers.len() == self.questions.len()).then(|| Choice::Answer(self.answers.clone()))
    }
}

/// What a line chooses of a question; `None` if it does not fit.
fn chosen(question: &Question, line: &str) -> Option<Vec<String>> {
    if line.is_empty() {
        return Some(Vec::new());
    }
    let words: Vec<&str> = line.split(',').map(str::trim).collect();
    let numbers: Option<Vec<usize>> = words.iter().map(|word| word.parse().ok()).collect();
    match numbers {
        Some(numbers) if question.multiple || numbers.len() == 1 => {
            let label = |n: usize| Some(question.options.get(n.checked_sub(1)?)?.label.clone());
            numbers.into_iter().map(label).collect()
        }
        Some(_) => None,
        None => question.custom.unwrap_or(true).then(|| vec![line.to_owned()]),
    }
}
