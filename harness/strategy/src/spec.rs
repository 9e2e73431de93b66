//! How a strategy is written: `idle@f54b32f(timeout=10m)`, and stacks of them: `auto-answer@r3+wall(cap=1h)`.
//!
//! Invariant: what is shown reads back as the same: `parse(spec.to_string()) == spec`. Any text, however long or odd,
//! gives at worst an error with a place.

use crate::catalogue;
use crate::entry::{Entry, Param, Params, Value};
use rehang_words::Span;
use rehang_words::text::{or, suggest, unknown};
use std::fmt;

/// The longest text of a stack, in bytes.
pub const TEXT_MAX: usize = 4_096;
/// The most members of a stack.
pub const MEMBERS_MAX: usize = 16;
/// The most parameters of a member.
pub const PARAMS_MAX: usize = 32;

/// One strategy as it is written; not yet checked against the catalogue.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The name without a version: `idle`.
    pub name: String,
    /// The version: `f54b32f`; `None` if none is written.
    pub version: Option<String>,
    /// Parameters in the order of writing.
    pub params: Vec<(String, String)>,
    /// Where it begins in the text, in bytes.
    at: usize,
}

impl Spec {
    /// Reads one strategy.
    ///
    /// # Errors
    /// A text that is not a strategy, or that is a stack of several.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        let mut specs = parse_stack(text)?.into_iter();
        match (specs.next(), specs.next()) {
            (Some(spec), None) => Ok(spec),
            (_, Some(second)) => Err(SpecError { at: second.at, why: Why::Several }),
            (None, None) => Err(SpecError { at: 0, why: Why::Empty }),
        }
    }

    /// The name with the version: `idle@f54b32f`.
    pub fn full_name(&self) -> String {
        match &self.version {
            Some(version) => format!("{}@{version}", self.name),
            None => self.name.clone(),
        }
    }

    /// Finds the entry, and checks the parameters against it.
    ///
    /// # Errors
    /// An unknown name or version, a missing version, an unknown or ill-formed parameter.
    pub fn resolve(&self) -> Result<(&'static Entry, Params), SpecError> {
        let entry = self.entry().map_err(|why| why.at(self))?;
        let mut params = Params::defaults(entry.params);
        for (name, value) in &self.params {
            let set = entry.param(name).and_then(|p| set_param(&mut params, p, value));
            set.map_err(|why| why.at(self))?;
        }
        Ok((entry, params))
    }

    /// The parameter of this name: of the strategy, or of the stack that has this name.
    ///
    /// # Errors
    /// An unknown name or version, a missing version, an unknown parameter.
    pub fn param(&self, name: &str) -> Result<&'static Param, SpecError> {
        let named = catalogue::named().iter().find(|stack| stack.name == self.name && self.version.is_none());
        let Some(stack) = named else {
            return self.entry().and_then(|entry| entry.param(name)).map_err(|why| why.at(self));
        };
        // each member takes them
        let member = parse_stack(stack.members)?.swap_remove(0);
        member.param(name).map_err(|error| error.of_stack(stack.name, self))
    }

    fn entry(&self) -> Result<&'static Entry, Why> {
        let family = catalogue::entries().filter(|entry| entry.family() == self.name);
        if let Some(entry) = family.clone().find(|entry| entry.version() == self.version.as_deref()) {
            return Ok(entry);
        }
        let versions: Vec<&'static str> = family.map(|entry| entry.name).collect();
        match (versions.is_empty(), &self.version) {
            (true, _) => match catalogue::named().iter().find(|stack| stack.name == self.name) {
                Some(stack) => Err(Why::NamedStack { name: stack.name, members: stack.members }),
                None => Err(Why::unknown(&self.name)),
            },
            (false, None) => Err(Why::NoVersion { name: self.name.clone(), versions }),
            (false, Some(_)) => Err(Why::unknown_version(self, versions)),
        }
    }
}

/// Its place in the text does not count.
impl PartialEq for Spec {
    fn eq(&self, other: &Spec) -> bool {
        self.name == other.name && self.version == other.version && self.params == other.params
    }
}

impl Eq for Spec {}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full_name())?;
        for (i, (name, value)) in self.params.iter().enumerate() {
            write!(f, "{}{name}=", if i == 0 { "(" } else { ", " })?;
            if !value.is_empty() && value.bytes().all(is_plain) {
                f.write_str(value)?;
            } else {
                write!(f, "\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))?;
            }
        }
        f.write_str(if self.params.is_empty() { "" } else { ")" })
    }
}

/// Whether `pattern`, a stack that may leave out versions and parameters, covers `stack`: `auto-answer@r1` covers it in
/// both placements, `auto-answer` covers every version.
pub fn covers(pattern: &str, stack: &str) -> bool {
    let (Ok(pattern), Ok(stack)) = (parse_stack(pattern), parse_stack(stack)) else { return false };
    pattern.len() == stack.len()
        && pattern.iter().zip(&stack).all(|(p, s)| {
            p.name == s.name
                && (p.version.is_none() || p.version == s.version)
                && p.params.iter().all(|param| s.params.contains(param))
        })
}

/// Checks a pattern as [`covers`] takes it: names, versions and parameters must exist.
///
/// # Errors
/// As [`crate::stack`], but a name may be given without a version.
pub fn check_pattern(pattern: &str) -> Result<(), SpecError> {
    let specs = parse_stack(pattern)?;
    for spec in &specs {
        let is_family = catalogue::entries().any(|entry| entry.family() == spec.name);
        let is_stack = catalogue::named().iter().any(|stack| stack.name == spec.name);
        if spec.version.is_none() && spec.params.is_empty() && (is_family || is_stack) {
            continue;
        }
        match is_stack && specs.len() == 1 {
            true => drop(crate::stack(pattern)?),
            false => drop(spec.resolve()?),
        }
    }
    Ok(())
}

/// Cuts a stack into its members as they are written.
///
/// # Errors
/// A text that is not a stack: see [`Why`].
pub fn parse_stack(text: &str) -> Result<Vec<Spec>, SpecError> {
    if text.len() > TEXT_MAX {
        return Err(SpecError { at: 0, why: Why::TooLong });
    }
    let mut reader = Reader { text, at: 0 };
    let mut specs = Vec::new();
    loop {
        specs.push(reader.spec()?);
        if specs.len() > MEMBERS_MAX {
            return Err(reader.err(Why::TooMany));
        }
        reader.space();
        if reader.at == text.len() {
            return Ok(specs);
        }
        reader.expect('+', "`+` and the next strategy, or the end")?;
    }
}

/// What is wrong with a spec, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct SpecError {
    /// The place in the text, in bytes.
    pub at: usize,
    /// What is wrong there.
    pub why: Why,
}

/// What is wrong with a spec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The text is empty.
    #[error("no strategy is named; `rehang list --strategies` lists them")]
    Empty,
    /// Several strategies are given where one is wanted.
    #[error("one strategy is wanted here, and this is a stack")]
    Several,
    /// The text is longer than [`TEXT_MAX`].
    #[error("longer than {TEXT_MAX} bytes")]
    TooLong,
    /// There are more than [`MEMBERS_MAX`] members or [`PARAMS_MAX`] parameters.
    #[error("more than {MEMBERS_MAX} strategies in a stack, or {PARAMS_MAX} parameters of one")]
    TooMany,
    /// Something else was expected at this place.
    #[error("expected {wanted}")]
    Syntax {
        /// What was expected.
        wanted: &'static str,
    },
    /// There is no such strategy.
    #[error("{}", unknown("strategy", name, *near, "`rehang list --strategies` lists them"))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The nearest name that exists, if one is near.
        near: Option<&'static str>,
    },
    /// One strategy is wanted, and this is the name of a stack.
    #[error("`{name}` is a stack; name one of its members: {members}")]
    NamedStack {
        /// The name of the stack.
        name: &'static str,
        /// The stack's members.
        members: &'static str,
    },
    /// The name alone stands for several versions.
    #[error("`{name}` has several versions; name one of {}", ticks(versions))]
    NoVersion {
        /// The name without a version.
        name: String,
        /// Its versions, each with the name.
        versions: Vec<&'static str>,
    },
    /// The name is known, but the version is not.
    #[error("there is no `{name}`{}", or(*near, &format!("there is {}", ticks(versions))))]
    UnknownVersion {
        /// Name and version as given.
        name: String,
        /// The nearest version that exists, if one is near.
        near: Option<&'static str>,
        /// The versions that exist.
        versions: Vec<&'static str>,
    },
    /// The strategy has no such parameter.
    #[error("`{entry}` has no parameter `{name}`{}", or(*near, &format!("it has {}", ticks(known))))]
    UnknownParam {
        /// The name of the strategy.
        entry: &'static str,
        /// The name of the parameter.
        name: String,
        /// The nearest parameter that it has, if one is near.
        near: Option<&'static str>,
        /// The parameters that it has.
        known: Vec<&'static str>,
    },
    /// A parameter is given twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// The name of the parameter.
        name: String,
    },
    /// A value does not fit its parameter.
    #[error("`{name}={value}`: {reason}")]
    BadValue {
        /// The name of the parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `none` or a named stack is combined with others, or a strategy is given twice.
    #[error("`{name}` {reason}")]
    Stacked {
        /// The name of that member.
        name: String,
        /// Why it cannot be so.
        reason: &'static str,
    },
}

impl Why {
    pub(crate) fn at(self, spec: &Spec) -> SpecError {
        SpecError { at: spec.at, why: self }
    }

    /// The name that was given and the nearest that exists, if one is near.
    pub fn near(&self) -> Option<(&str, &'static str)> {
        match self {
            Why::Unknown { name, near }
            | Why::UnknownVersion { name, near, .. }
            | Why::UnknownParam { name, near, .. } => near.map(|near| (name.as_str(), near)),
            _ => None,
        }
    }

    fn unknown(name: &str) -> Why {
        let names = catalogue::entries().map(|e| e.family()).chain(catalogue::named().iter().map(|s| s.name));
        Why::Unknown { name: name.to_owned(), near: suggest(name, names) }
    }

    /// The name is known here, so only the versions are compared.
    fn unknown_version(spec: &Spec, versions: Vec<&'static str>) -> Why {
        let version = |name: &&'static str| name.split_once('@').map_or("", |(_, version)| version);
        let near = suggest(spec.version.as_deref().unwrap_or_default(), versions.iter().map(version));
        let near = near.and_then(|near| versions.iter().copied().find(|name| version(name) == near));
        Why::UnknownVersion { name: spec.full_name(), near, versions }
    }

    fn unknown_param(entry: &Entry, name: &str) -> Why {
        let known: Vec<&'static str> = entry.params.iter().map(|p| p.name).collect();
        let near = suggest(name, known.iter().copied());
        Why::UnknownParam { entry: entry.name, name: name.to_owned(), near, known }
    }
}

impl Entry {
    /// The parameter of this name.
    ///
    /// # Errors
    /// There is no such parameter; the error has the nearest one, if one is near.
    pub fn param(&self, name: &str) -> Result<&'static Param, Why> {
        self.params.iter().find(|p| p.name == name).ok_or_else(|| Why::unknown_param(self, name))
    }
}

impl SpecError {
    /// The error of a member of a named stack, as one of the stack itself, which is what was written.
    pub(crate) fn of_stack(mut self, name: &'static str, stack: &Spec) -> SpecError {
        if let Why::UnknownParam { entry, .. } = &mut self.why {
            *entry = name;
        }
        self.why.at(stack)
    }

    /// The text with the nearest name in the place of the unknown one; `None` if none is near.
    pub fn mended(&self, text: &str) -> Option<String> {
        let (given, near) = self.why.near()?;
        let member = text.get(self.at..)?;
        let from = if matches!(self.why, Why::UnknownParam { .. }) { member.find('(')? } else { 0 };
        let at = self.at + from + member[from..].find(given)?;
        Some(format!("{}{near}{}", &text[..at], &text[at + given.len()..]))
    }
}

fn ticks(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

fn set_param(params: &mut Params, param: &Param, value: &str) -> Result<(), Why> {
    let bad = |reason: String| Why::BadValue { name: param.name, value: value.to_owned(), reason };
    match param.default {
        Value::Span(_) | Value::SpanOr(_) => {
            let span = Span::parse(value).map_err(|e| bad(e.to_string()))?;
            match param.default {
                Value::SpanOr(default) if span == Span::ZERO => params.spans.insert(param.name, default),
                _ => params.spans.insert(param.name, span),
            };
        }
        Value::Count(_) | Value::CountOr(_) => {
            let digits = value.bytes().all(|b| b.is_ascii_digit());
            let count =
                value.parse().ok().filter(|_| digits).ok_or_else(|| bad("a whole number is wanted".to_owned()))?;
            match param.default {
                Value::CountOr(default) if count == 0 => params.counts.insert(param.name, default),
                _ => params.counts.insert(param.name, count),
            };
        }
        Value::Word(words) => {
            let word = words.iter().find(|w| **w == value).ok_or_else(|| bad(format!("one of {}", ticks(words))))?;
            params.words.insert(param.name, word);
        }
        Value::Text(_) => drop(params.texts.insert(param.name, value.to_owned())),
    }
    Ok(())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/')
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn spec(&mut self) -> Result<Spec, SpecError> {
        self.space();
        let at = self.at;
        let name = self.word();
        if name.is_empty() {
            let why =
                if self.text.trim().is_empty() { Why::Empty } else { Why::Syntax { wanted: "a strategy's name" } };
            return Err(self.err(why));
        }
        let mut spec = Spec { name, version: None, params: Vec::new(), at };
        if self.eat('@') {
            let version = self.word();
            if version.is_empty() {
                return Err(self.err(Why::Syntax { wanted: "a version after `@`" }));
            }
            spec.version = Some(version);
        }
        self.space();
        if self.eat('(') {
            self.params(&mut spec.params)?;
        }
        Ok(spec)
    }

    fn params(&mut self, params: &mut Vec<(String, String)>) -> Result<(), SpecError> {
        loop {
            self.space();
            if self.eat(')') {
                return Ok(());
            }
            let name = self.word();
            if name.is_empty() {
                return Err(self.err(Why::Syntax { wanted: "a parameter's name, or `)`" }));
            }
            self.space();
            self.expect('=', "`=` and the parameter's value")?;
            self.space();
            let value = self.value()?;
            if params.iter().any(|(n, _)| *n == name) {
                return Err(self.err(Why::Twice { name }));
            }
            params.push((name, value));
            if params.len() > PARAMS_MAX {
                return Err(self.err(Why::TooMany));
            }
            self.space();
            if !self.eat(',') {
                return self.expect(')', "`,` and the next parameter, or `)`");
            }
        }
    }

    fn value(&mut self) -> Result<String, SpecError> {
        if !self.eat('"') {
            let value = self.take(is_plain);
            return if value.is_empty() { Err(self.err(Why::Syntax { wanted: "a value" })) } else { Ok(value) };
        }
        let mut value = String::new();
        let mut chars = self.text[self.at..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return Ok(value);
                }
                '\\' => value.extend(chars.next().map(|(_, c)| c)),
                c => value.push(c),
            }
        }
        Err(self.err(Why::Syntax { wanted: "the closing `\"`" }))
    }

    fn word(&mut self) -> String {
        self.take(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    }

    fn take(&mut self, keep: fn(u8) -> bool) -> String {
        let taken: String = self.text[self.at..].bytes().take_while(|&b| keep(b)).map(char::from).collect();
        self.at += taken.len();
        taken
    }

    fn space(&mut self) {
        self.take(|b| b == b' ');
    }

    fn eat(&mut self, c: char) -> bool {
        let there = self.text[self.at..].starts_with(c);
        self.at += if there { c.len_utf8() } else { 0 };
        there
    }

    fn expect(&mut self, c: char, wanted: &'static str) -> Result<(), SpecError> {
        if self.eat(c) { Ok(()) } else { Err(self.err(Why::Syntax { wanted })) }
    }

    fn err(&self, why: Why) -> SpecError {
        SpecError { at: self.at, why }
    }
}
