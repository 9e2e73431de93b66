//! Compares a tree of values with the shape of a file, and reports everything that does not fit.
//!
//! Invariant: a tree that passes deserialises. serde stops at its first error; this does not, and it knows what
//! was meant.

use super::shape::{Case, Field, Id, Marks, SHAPES, Shape, Shapes};
use super::tree::{Node, kind};
use crate::limits;
use crate::problem::{Problem, Sink, hidden, quoted, shown};
use crate::text::{did_you_mean, suggest};
use crate::time::Span;
use std::ops::Range;
use toml::de::{DeArray, DeTable, DeValue};

/// One walk over one tree.
pub(crate) struct Walk<'s> {
    pub(crate) text: &'s str,
    pub(crate) sink: &'s mut Sink,
    shapes: &'s Shapes,
    /// Keys of the whole file that its shape does not have.
    also: &'s [&'s str],
    turns: usize,
    path: Vec<String>,
}

impl<'s> Walk<'s> {
    /// A walk over a tree of this text.
    pub(crate) fn new(text: &'s str, sink: &'s mut Sink) -> Walk<'s> {
        Walk { text, sink, shapes: &SHAPES, also: &["control", "vary"], turns: 0, path: Vec::new() }
    }

    /// A walk over a tree of another kind of file.
    pub(crate) fn of(shapes: &'s Shapes, text: &'s str, sink: &'s mut Sink) -> Walk<'s> {
        Walk { text, sink, shapes, also: &[], turns: 0, path: Vec::new() }
    }

    /// Compares the value of a top-level key with a shape.
    pub(crate) fn at(&mut self, key: &str, node: &Node<'_>, shape: Id) {
        self.below(key, |walk| walk.value(node, shape));
    }

    /// Compares a value with a shape.
    fn value(&mut self, node: &Node<'_>, shape: Id) {
        if self.sink.is_full() {
            return;
        }
        if shape == self.shapes.turn {
            self.turns += 1;
            if self.turns == limits::TURNS + 1 {
                let problem = Problem::new(node.span(), format!("more than {} turns", limits::TURNS));
                self.sink
                    .push(problem.label("this is one too many").help("those of subagents and nested agents count too"));
                return;
            }
        }
        let span = node.span();
        match (self.shapes.get(shape), node.get_ref()) {
            (Shape::Any, _) => {}
            (Shape::Text(marks), DeValue::String(text)) => self.text(span, text, *marks),
            (Shape::Duration, DeValue::String(text)) => {
                if let Err(error) = Span::parse(text) {
                    self.say(span, format!("`{}` is no duration", shown(text)), shown(&error.to_string()), &[]);
                }
            }
            (Shape::Duration, DeValue::Integer(n)) => {
                let n = shown(n.as_str());
                let help = format!("write `\"{n}s\"` or `\"{n}ms\"`");
                self.say(span, format!("`{}` is a duration", self.here()), "a duration needs a unit", &[help]);
            }
            (Shape::Whole { min, max }, DeValue::Integer(n)) => {
                let number = i128::from_str_radix(n.as_str(), n.radix()).ok();
                if number.is_none_or(|n| n < i128::from(*min) || n > i128::from(*max)) {
                    let message = format!("`{}` is {}, out of range", self.here(), shown(n.as_str()));
                    self.say(span, message, format!("a whole number from {min} to {max}"), &[]);
                }
            }
            (Shape::Flag, DeValue::Boolean(_)) => {}
            (Shape::List { item, max }, DeValue::Array(list)) => self.list(span, list, *item, *max),
            (Shape::Map { value }, DeValue::Table(table)) => self.map(span, table, *value),
            (Shape::Struct(fields), DeValue::Table(table)) => self.table(span, table, fields),
            (Shape::Choice(cases), DeValue::String(word)) => self.word(span, word, cases),
            (Shape::Choice(cases), DeValue::Table(table)) => self.choice(span, table, cases),
            (wanted, found) => self.mismatch(span, wanted, found),
        }
    }

    /// Compares a table's keys with those that it may have.
    pub(crate) fn table(&mut self, span: Range<usize>, table: &DeTable<'_>, fields: &[Field]) {
        for (key, value) in table {
            match fields.iter().find(|f| f.key == *key.get_ref()) {
                Some(field) => self.below(key.get_ref(), |walk| walk.value(value, field.shape)),
                None => self.unknown_key(key.span(), key.get_ref(), fields),
            }
        }
        for field in fields.iter().filter(|f| f.required && !table.contains_key(f.key.as_str())) {
            let whose = if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.here()) };
            let doc = field.doc.trim_end_matches('.');
            let help = match doc {
                "" => format!("add `{} = …`", field.key),
                doc => format!("add `{} = …`: {doc}", field.key),
            };
            let problem = Problem::new(span.clone(), format!("`{}` is missing{whose}", field.key));
            self.sink.push(Problem { absence: true, ..problem.label("it belongs here").help(help) });
        }
    }

    fn unknown_key(&mut self, span: Range<usize>, key: &str, fields: &[Field]) {
        let whose = if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.here()) };
        let message = format!("unknown key `{}`{whose}", shown(key));
        let arms: &[&str] = if self.path.is_empty() { self.also } else { &[] };
        let keys = || fields.iter().map(|f| f.key.as_str()).chain(arms.iter().copied());
        match suggest(key, keys()) {
            Some(meant) => self.say(span, message, did_you_mean(meant), &[]),
            None => self.say(span, message, "no such key here", &[format!("there are {}", quoted(keys()))]),
        }
    }

    fn word(&mut self, span: Range<usize>, word: &str, cases: &[Case]) {
        match cases.iter().find(|c| c.word == word) {
            Some(Case { value: None, .. }) => {}
            Some(Case { word, value: Some(shape) }) => {
                let help = format!("write `{{ {word} = {} }}`", example(self.shapes.get(*shape)));
                self.say(span, format!("`{word}` needs a value"), "a word alone", &[help]);
            }
            None => self.unknown_word(span, word, cases),
        }
    }

    fn unknown_word(&mut self, span: Range<usize>, word: &str, cases: &[Case]) {
        let message = format!("`{}` cannot be `{}`", self.here(), shown(word));
        match suggest(word, cases.iter().map(|c| c.word.as_str())) {
            Some(meant) => self.say(span, message, did_you_mean(meant), &[]),
            None => {
                let all = quoted(cases.iter().map(|c| c.word.as_str()));
                self.say(span, message, "no such word here", &[format!("it can be {all}")]);
            }
        }
    }

    fn choice(&mut self, span: Range<usize>, table: &DeTable<'_>, cases: &[Case]) {
        let mut entries = table.iter();
        let Some((key, value)) = entries.next() else {
            let all = quoted(cases.iter().map(|c| c.word.as_str()));
            return self.say(span, format!("`{}` is empty", self.here()), "what is it?", &[format!("it can be {all}")]);
        };
        match cases.iter().find(|c| c.word == *key.get_ref()) {
            Some(Case { value: Some(shape), .. }) => self.below(key.get_ref(), |walk| walk.value(value, *shape)),
            Some(Case { word, value: None }) => {
                self.say(key.span(), format!("`{word}` takes no value"), "", &[format!("write `\"{word}\"` alone")]);
            }
            None => self.unknown_word(key.span(), key.get_ref(), cases),
        }
        if let Some((second, _)) = entries.next() {
            let message = format!("`{}` is one thing only", self.here());
            let label = format!("`{}` stands there already", shown(key.get_ref()));
            self.say(second.span(), message, label, &["put each into a table of its own".to_owned()]);
        }
    }

    fn list(&mut self, span: Range<usize>, list: &DeArray<'_>, item: Id, max: usize) {
        if list.len() > max {
            let place = list.get(max).map_or(span, |n| n.span());
            let message = format!("`{}` has {} elements, more than {max}", self.here(), list.len());
            return self.say(place, message, "this is one too many", &[]);
        }
        for (i, node) in list.iter().enumerate() {
            self.below(&i.to_string(), |walk| walk.value(node, item));
        }
    }

    fn map(&mut self, span: Range<usize>, table: &DeTable<'_>, shape: Id) {
        if table.len() > limits::LIST {
            let place = table.iter().nth(limits::LIST).map_or(span, |(key, _)| key.span());
            let message = format!("`{}` has {} keys, more than {}", self.here(), table.len(), limits::LIST);
            return self.say(place, message, "this is one too many", &[]);
        }
        for (key, node) in table {
            if key.get_ref().is_empty() || key.get_ref().contains(['=', '\0']) || key.get_ref().chars().any(hidden) {
                let message = format!("`{}` is no name", shown(key.get_ref()));
                self.say(key.span(), message, "empty, or with `=` or a control character in it", &[]);
            }
            self.below(key.get_ref(), |walk| walk.value(node, shape));
        }
    }

    fn text(&mut self, span: Range<usize>, text: &str, marks: Marks) {
        if text.len() > limits::TEXT_BYTES {
            let message = format!("`{}` has {} bytes, more than 256 KiB", self.here(), text.len());
            return self.say(span, message, "too long a text", &[]);
        }
        let allowed = |c: char| match marks {
            Marks::None => matches!(c, '\n' | '\t'),
            Marks::Printed => matches!(c, '\n' | '\t' | '\r' | '\u{7}' | '\u{8}' | '\u{1b}'),
            Marks::Typed => true,
        };
        if let Some(c) = text.chars().find(|&c| hidden(c) && !allowed(c)) {
            let message = format!("control character U+{:04X} in `{}`", u32::from(c), self.here());
            let help = match marks {
                Marks::None => {
                    "escape sequences belong into what a program prints (`print`, `prompt`, …); keys into `type`"
                }
                Marks::Printed | Marks::Typed => "a program prints escape, return, bell and backspace, and no other",
            };
            self.say(span, message, "not in this text", &[help.to_owned()]);
        }
    }

    fn mismatch(&mut self, span: Range<usize>, wanted: &Shape, found: &DeValue<'_>) {
        let message = format!("`{}` must be {}", self.here(), describe(wanted));
        let written = self.text.get(span.clone()).unwrap_or_default();
        // A table that a path made has no text of its own.
        let made = matches!(found, DeValue::Table(_)) && !written.starts_with('{');
        let short = !made && !written.is_empty() && written.len() <= 60 && !written.contains('\n');
        let help = match (wanted, found) {
            (Shape::List { .. }, DeValue::Table(table))
                if table.iter().all(|(k, _)| k.get_ref().parse::<usize>().is_ok()) =>
            {
                vec!["a path is one key, in quotes: `\"people.0.after\" = …`".to_owned()]
            }
            (Shape::List { .. }, _) if short => vec![format!("what can be a list is always a list: `[{written}]`")],
            (Shape::Text(_), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_)) if short => {
                vec![format!("in quotes: `\"{written}\"`")]
            }
            (Shape::Choice(cases), _) => vec![format!("it can be {}", quoted(cases.iter().map(|c| c.word.as_str())))],
            (Shape::Struct(fields), _) => {
                vec![format!("its keys are {}", quoted(fields.iter().map(|f| f.key.as_str())))]
            }
            (Shape::Duration, _) => vec!["like this: `\"250ms\"`, `\"2s\"`, `\"15m\"`, `\"4h\"`".to_owned()],
            _ => Vec::new(),
        };
        self.say(span, message, format!("this is {}", kind(found)), &help);
    }

    fn below(&mut self, step: &str, walk: impl FnOnce(&mut Walk<'s>)) {
        self.path.push(step.to_owned());
        walk(self);
        self.path.pop();
    }

    fn here(&self) -> String {
        if self.path.is_empty() { "the file".to_owned() } else { shown(&self.path.join(".")) }
    }

    fn say(&mut self, span: Range<usize>, message: String, label: impl Into<String>, help: &[String]) {
        let problem = Problem::new(span, message).label(label);
        self.sink.push(help.iter().fold(problem, |problem, help| problem.help(help.as_str())));
    }
}

fn describe(shape: &Shape) -> &'static str {
    match shape {
        Shape::Text(_) => "a text",
        Shape::Duration => "a duration",
        Shape::Whole { .. } => "a whole number",
        Shape::Flag => "true or false",
        Shape::List { .. } => "a list",
        Shape::Map { .. } | Shape::Struct(_) => "a table",
        Shape::Choice(cases) if cases.iter().all(|c| c.value.is_none()) => "one of its words",
        Shape::Choice(cases) if cases.iter().all(|c| c.value.is_some()) => "a table with one key",
        Shape::Choice(_) => "one of its words, or a table with one key",
        Shape::Any => "anything",
    }
}

fn example(shape: &Shape) -> &'static str {
    match shape {
        Shape::Text(_) => "\"…\"",
        Shape::Duration => "\"2s\"",
        Shape::Whole { .. } => "1",
        Shape::Flag => "true",
        Shape::List { .. } => "[…]",
        Shape::Map { .. } | Shape::Struct(_) => "{ … }",
        Shape::Choice(_) | Shape::Any => "…",
    }
}
