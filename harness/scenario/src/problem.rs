//! What is wrong with a file: every problem with its place, rendered with the line, a caret and a suggestion.
//!
//! Invariant: rendering looks at a few lines around each problem, never at the whole file, and never prints a control
//! character of the file.

use crate::limits;
use crate::text::cut;
pub use crate::text::{hidden, in_one_line, shown};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A file's name and text, kept to show places in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The name that errors show.
    pub name: String,
    /// The text; if the bytes were not UTF-8 or too many, the part that can be shown.
    pub text: String,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in a lower-case fragment.
    pub message: String,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
    /// The text beside the caret.
    pub label: String,
    /// What to do about it, in the file's words.
    pub help: Vec<String>,
    /// It says that something is missing: this is noise if a line near it cannot be read at all.
    pub(crate) absence: bool,
    /// It says that no rule covers some cells: a file may lack rules until its expectations are accepted.
    pub without_rule: bool,
}

/// All problems of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    /// The file.
    pub source: Arc<Source>,
    /// The problems, in the order of their places; at most [`limits::PROBLEMS`].
    pub list: Vec<Problem>,
    /// How many more there are.
    pub more: usize,
}

/// How problems are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// ASCII without colour.
    #[default]
    Plain,
    /// With ANSI colours and line-drawing characters.
    Colour,
}

impl Problem {
    /// A problem at a place.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Problem {
        Problem {
            message: message.into(),
            span,
            label: String::new(),
            help: Vec::new(),
            absence: false,
            without_rule: false,
        }
    }

    /// Sets the text beside the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Problem {
        self.label = label.into();
        self
    }

    /// Adds a line of help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help.push(help.into());
        self
    }
}

impl Source {
    /// The line of a byte, from 1.
    pub fn line(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        1 + self.text.as_bytes()[..byte].iter().filter(|&&b| b == b'\n').count()
    }
}

impl Problems {
    /// The problem of a file as a whole, and why it cannot be used.
    pub fn of_file(name: &str, why: impl Into<String>) -> Problems {
        let source = Arc::new(Source { name: name.to_owned(), text: String::new() });
        Problems { source, list: vec![Problem::new(NOWHERE..NOWHERE, why)], more: 0 }
    }

    /// Whether there are no problems.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All problems as text for a person: file, line, caret, help.
    pub fn render(&self, style: Style) -> String {
        let renderer = match style {
            Style::Plain => Renderer::plain().decor_style(DecorStyle::Ascii),
            Style::Colour => Renderer::styled().decor_style(DecorStyle::Unicode),
        };
        let mut out = String::new();
        for problem in &self.list {
            out.push_str(&one(&renderer, &self.source, problem));
            out.push_str("\n\n");
        }
        if self.more > 0 {
            out.push_str(&format!("… and {} more in {}\n", self.more, shown(&self.source.name)));
        }
        out
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}

impl std::error::Error for Problems {}

/// Bytes of a line that are shown around a place.
const LINE_SHOWN: usize = 2_000;

/// The place of a problem with the file as a whole.
const NOWHERE: usize = usize::MAX;

fn one(renderer: &Renderer, source: &Source, problem: &Problem) -> String {
    if problem.span.start == NOWHERE {
        let title = clipped(&format!("{}: {}", source.name, problem.message));
        return renderer.render(&[Group::with_title(Level::ERROR.primary_title(title))]);
    }
    let text = &source.text;
    let start = floor(text, problem.span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    // A line of a megabyte is shown in part; its column then counts from the beginning of that part, and the message
    // says so.
    let from = if start - line_start > LINE_SHOWN { floor(text, start - 80) } else { line_start };
    let to = floor(text, line_end.min(start + LINE_SHOWN));
    let end = floor(text, problem.span.end).clamp(start, to);
    let annotation = AnnotationKind::Primary.span(start - from..end - from);
    let annotation = if problem.label.is_empty() { annotation } else { annotation.label(clipped(&problem.label)) };
    let snippet = Snippet::source(visible(&text[from..to]))
        .line_start(source.line(start))
        .path(shown(&source.name))
        .fold(false)
        .annotation(annotation);
    let mut group = Level::ERROR.primary_title(clipped(&problem.message)).element(snippet);
    if from != line_start {
        let column = start - line_start + 1;
        group = group.element(Level::NOTE.message(format!("the line is long: this is at its byte {column}")));
    }
    for help in &problem.help {
        group = group.element(Level::HELP.message(clipped(help)));
    }
    renderer.render(&[group])
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// The renderer shows C0 characters as pictures; the others get a stand-in of the same length in bytes, so that the
/// caret stays where it belongs.
fn visible(line: &str) -> String {
    let stand_in = |c: char| match c.len_utf8() {
        2 if hidden(c) => '·',
        3 if hidden(c) => char::REPLACEMENT_CHARACTER,
        4 if hidden(c) => '\u{1f5d9}',
        _ => c,
    };
    line.chars().map(stand_in).collect()
}

/// A sentence that contains words of the file, made safe for a terminal.
fn clipped(sentence: &str) -> String {
    cut(sentence, 1_000)
}

/// Words as a list in a sentence: `a`, `b`, `c`.
pub(crate) fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|w| format!("`{}`", shown(w))).collect::<Vec<_>>().join(", ")
}

/// Collects problems, each once, and counts those beyond the limit.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    seen: BTreeSet<(usize, usize, String)>,
    list: Vec<Problem>,
    more: usize,
}

impl Sink {
    /// Adds a problem; the same one at the same place is kept once.
    pub(crate) fn push(&mut self, problem: Problem) {
        if self.list.len() >= limits::PROBLEMS {
            self.more += 1;
        } else if self.seen.insert((problem.span.start, problem.span.end, problem.message.clone())) {
            self.list.push(problem);
        }
    }

    /// Whether no problem was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether no further problem would be shown.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= limits::PROBLEMS
    }

    /// The problems as they came.
    pub(crate) fn into_list(self) -> Vec<Problem> {
        self.list
    }

    /// The problems in the order of their places.
    pub(crate) fn finish(mut self, source: Arc<Source>) -> Problems {
        self.list.sort_by_key(|p| (p.span.start, p.span.end));
        Problems { source, list: self.list, more: self.more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_has_a_stand_in_of_the_same_length() {
        let of = |c: char| {
            let shown = visible(&c.to_string());
            assert_eq!(shown.len(), c.len_utf8());
            shown
        };
        assert_eq!(['a', 'é', '…', '🦀', '\u{1b}'].map(of), ["a", "é", "…", "🦀", "\u{1b}"]);
        let hidden = ['\u{85}', '\u{ad}', '\u{200b}', '\u{202e}', '\u{e0001}'].map(of);
        assert_eq!(hidden, ["·", "·", "\u{fffd}", "\u{fffd}", "\u{1f5d9}"]);
    }

    #[test]
    fn a_word_of_a_file_is_short_and_shows_what_it_holds() {
        assert_eq!((shown("a\u{1b}é"), shown(&"x".repeat(80)).len()), ("a\\u{1b}é".to_owned(), 80));
        assert_eq!((shown(&"é".repeat(81)), in_one_line("a\nb")), ("é".repeat(80) + "…", "a\\nb".to_owned()));
        assert_eq!(
            [1_000, 1_001, 1_002].map(|chars| clipped(&"x".repeat(chars)).chars().count()),
            [1_000, 1_001, 1_001]
        );
        assert_eq!(quoted(["a", "b"]), "`a`, `b`");
    }

    #[test]
    fn a_sink_keeps_each_problem_once_and_counts_the_rest() {
        let mut sink = Sink::default();
        assert!(sink.is_empty() && !sink.is_full());
        let problem = |at: usize| Problem::new(at..at + 1, "x".to_owned());
        (0..2).for_each(|_| sink.push(problem(200)));
        sink.push(Problem::new(200..202, "x".to_owned()));
        sink.push(Problem::new(200..201, "y".to_owned()));
        assert!(!sink.is_empty() && sink.list.len() == 3);
        (0..limits::PROBLEMS - 4).for_each(|at| sink.push(problem(at)));
        assert!(!sink.is_full());
        (300..305).for_each(|at| sink.push(problem(at)));
        assert!(sink.is_full());
        assert_eq!((sink.list.len(), sink.more), (limits::PROBLEMS, 4));
    }

    fn problems(text: &str, list: Vec<Problem>, more: usize) -> Problems {
        Problems { source: Arc::new(Source { name: "x.toml".to_owned(), text: text.to_owned() }), list, more }
    }

    #[test]
    fn a_place_is_shown_with_its_line_and_a_caret_below() {
        let text = "one\ntwo = é5\n\nfour";
        let at = |span: Range<usize>| {
            problems(text, vec![Problem::new(span, "wrong").label("here").help("mend it")], 0).to_string()
        };
        let all =
            [at(0..3), at(4..7), at(10..13), at(11..12), at(13..14), at(14..15), at(15..99), at(99..99), at(5..16)];
        expect_test::expect![[r#"
            error: wrong
             --> x.toml:1:1
              |
            1 | one
              | ^^^ here
              |
              = help: mend it

            error: wrong
             --> x.toml:2:1
              |
            2 | two = é5
              | ^^^ here
              |
              = help: mend it

            error: wrong
             --> x.toml:2:7
              |
            2 | two = é5
              |       ^^ here
              |
              = help: mend it

            error: wrong
             --> x.toml:2:7
              |
            2 | two = é5
              |       ^ here
              |
              = help: mend it

            error: wrong
             --> x.toml:2:9
              |
            2 | two = é5
              |         ^ here
              |
              = help: mend it

            error: wrong
             --> x.toml:3:1
              |
            3 |
              | ^ here
              |
              = help: mend it

            error: wrong
             --> x.toml:4:1
              |
            4 | four
              | ^^^^ here
              |
              = help: mend it

            error: wrong
             --> x.toml:4:5
              |
            4 | four
              |     ^ here
              |
              = help: mend it

            error: wrong
             --> x.toml:2:2
              |
            2 | two = é5
              |  ^^^^^^^ here
              |
              = help: mend it

        "#]]
        .assert_eq(&all.concat());
        let without = problems(text, vec![Problem::new(0..1, "a\u{1b}b"), Problem::new(4..5, "wrong")], 2);
        expect_test::expect![[r#"
            error: a\u{1b}b
             --> x.toml:1:1
              |
            1 | one
              | ^

            error: wrong
             --> x.toml:2:1
              |
            2 | two = é5
              | ^

            … and 2 more in x.toml
        "#]]
        .assert_eq(&without.to_string());
        assert!(!without.is_empty() && problems(text, Vec::new(), 0).is_empty());
        assert_eq!(problems(text, Vec::new(), 0).render(Style::Plain), "");
        assert_eq!(problems(text, Vec::new(), 1).render(Style::Plain), "… and 1 more in x.toml\n");
        expect_test::expect![[r#"
            error: x.toml: no such file

        "#]]
        .assert_eq(&Problems::of_file("x.toml", "no such file").render(Style::Plain));
        assert_eq!([0, 3, 4, 13, 14, 15, 999].map(|byte| without.source.line(byte)), [1, 1, 2, 2, 3, 4, 4]);
    }

    #[test]
    fn a_long_line_is_shown_in_part_and_says_at_which_byte() {
        let seen = |before: usize, after: usize, line_before: &str| {
            let text = format!("{line_before}{}X{}\nnext", "a".repeat(before), "b".repeat(after));
            let at = line_before.len() + before;
            let out = problems(&text, vec![Problem::new(at..at + 1, "wrong")], 0).to_string();
            let count = |letter: char| {
                out.lines()
                    .filter(|line| line.contains('X'))
                    .flat_map(|line| line.chars())
                    .filter(|c| *c == letter)
                    .count()
            };
            let note = out.lines().find_map(|line| line.split_once("note: ")).map(|(_, note)| note.to_owned());
            (count('a'), count('b'), note)
        };
        let note = |byte: usize| Some(format!("the line is long: this is at its byte {byte}"));
        for line_before in ["", "o\n"] {
            assert_eq!(seen(5, 7, line_before), (5, 7, None));
            assert_eq!(seen(LINE_SHOWN, 0, line_before).2, None);
            assert_eq!(seen(LINE_SHOWN + 1, 3, line_before), (80, 3, note(LINE_SHOWN + 2)));
            assert_eq!(seen(0, 3 * LINE_SHOWN, line_before).2, None);
        }
        // what is beyond is left out; the renderer may cut further
        let long = seen(9 * LINE_SHOWN, 9 * LINE_SHOWN, "");
        assert!(long.0 <= 80 && long.1 < LINE_SHOWN && long.2 == note(9 * LINE_SHOWN + 1), "{long:?}");
    }

    #[test]
    fn what_cannot_be_seen_is_known_to_the_last_one_of_each_range() {
        let ranges = [
            ('\u{0}', '\u{1f}'),
            ('\u{7f}', '\u{9f}'),
            ('\u{ad}', '\u{ad}'),
            ('\u{61c}', '\u{61c}'),
            ('\u{180e}', '\u{180e}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{fff9}', '\u{fffb}'),
            ('\u{e0000}', '\u{e0fff}'),
        ];
        let all = (0..=u32::from(char::MAX)).filter_map(char::from_u32).filter(|c| hidden(*c)).count();
        let wanted: u32 = ranges.iter().map(|(first, last)| u32::from(*last) - u32::from(*first) + 1).sum();
        assert_eq!(all, wanted as usize);
        assert!(ranges.iter().all(|(first, last)| hidden(*first) && hidden(*last)));
    }

    #[test]
    fn problems_come_in_the_order_of_their_places() {
        let mut sink = Sink::default();
        for span in [5..7, 5..6, 0..1] {
            sink.push(Problem::new(span, "x"));
        }
        let source = Arc::new(Source { name: String::new(), text: "x".repeat(9) });
        let spans: Vec<_> = sink.finish(source).list.into_iter().map(|problem| problem.span).collect();
        assert_eq!(spans, [0..1, 5..6, 5..7]);
    }
}
