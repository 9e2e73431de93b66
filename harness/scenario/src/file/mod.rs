//! From the bytes of a file to a typed family of scenarios, with every problem of the file at once.
//!
//! Invariants: no bytes make this panic, recurse deeply or take more than the limits allow. A family is whole:
//! `[[vary]]` and `[control]` are applied, and each value still knows where it was written.

mod arms;
mod places;
mod scan;
mod shape;
mod tree;
mod walk;

use crate::limits;
use crate::model::Scenario;
use crate::problem::{Problem, Problems, Sink, Source, shown};
use places::Places;
use scan::{Scanned, scan};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use shape::SHAPES;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use tree::Node;
use walk::Walk;

/// A file, read: the family if there is no problem, and the problems.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The scenarios; `None` if there is any problem.
    pub family: Option<Family>,
    /// What is wrong.
    pub problems: Problems,
    /// If there is no family: the strategies that the file names, which a catalogue can still check.
    pub(crate) names: Vec<Name>,
    /// As `names`, the mechanisms that the file names.
    pub(crate) mechanisms: Vec<Name>,
}

/// A word of a file with its place.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// A file: one scenario, or its variants.
#[derive(Debug, Clone)]
pub struct Family {
    /// What cells call it: the path below `scenarios/`, without `.toml`.
    pub name: String,
    /// The file's title.
    pub title: String,
    /// The variants; a file without `[[vary]]` has one, without a name.
    pub variants: Vec<Variant>,
    /// The file.
    pub source: Arc<Source>,
}

/// One scenario of a family.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The name of its `[[vary]]`; empty for the file itself.
    pub name: String,
    /// The scenario. Its rules are the variant's own, then the file's.
    pub scenario: Scenario,
    /// The same with the one change under which it does not hang.
    pub control: Option<Scenario>,
    /// How many of the scenario's rules are the variant's own.
    pub own_rules: usize,
    pub(crate) places: Arc<Places>,
    pub(crate) control_places: Option<Arc<Places>>,
    pub(crate) span: Range<usize>,
}

impl Loaded {
    /// The family, or the problems.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn into_result(self) -> Result<Family, Problems> {
        self.family.ok_or(self.problems)
    }
}

impl Variant {
    /// Where a value was written, by its path (`expect.0.strategies.1`), or the nearest thing that holds it.
    pub fn span_of(&self, path: &str) -> Range<usize> {
        self.places.nearest(path).unwrap_or_else(|| self.span.clone())
    }

    /// As [`Variant::span_of`], in the control arm.
    pub fn control_span_of(&self, path: &str) -> Range<usize> {
        let places = self.control_places.as_ref().unwrap_or(&self.places);
        places.nearest(path).unwrap_or_else(|| self.span.clone())
    }
}

/// What cells call a file: the path below the last folder `scenarios`, without `.toml`.
pub fn family_name(path: &str) -> String {
    let path = path.strip_suffix(".toml").unwrap_or(path);
    let below = path.rsplit_once("scenarios/").map_or(path, |(_, below)| below);
    below
        .trim_start_matches("./")
        .trim_matches('/')
        .chars()
        .filter(|c| !c.is_whitespace() && !"[]:".contains(*c))
        .map(|c| if crate::problem::hidden(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Reads a file. `name` is its path, as errors show it.
pub fn load(name: &str, bytes: &[u8]) -> Loaded {
    let mut sink = Sink::default();
    let mut words = Words::default();
    let (text, read) = match scan(bytes, &mut sink) {
        Scanned::Show(text) => (text, None),
        Scanned::Parse(text) => {
            let read = read(&text, &mut words, &mut sink);
            (text, read.filter(|_| sink.is_empty()))
        }
    };
    let source = Arc::new(Source { name: name.to_owned(), text });
    let family = read.map(|read| Family {
        name: family_name(name),
        title: read.title,
        variants: read.list,
        source: source.clone(),
    });
    Loaded { family, problems: sink.finish(source), names: words.strategies, mechanisms: words.mechanisms }
}

/// Reads another kind of file with the same strictness: its shape is what its type derives, and all of its problems
/// come at once, each with its place.
///
/// # Errors
/// All problems of the file.
pub fn read_as<T: JsonSchema + DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, Problems> {
    let mut sink = Sink::default();
    let (text, value) = match scan(bytes, &mut sink) {
        Scanned::Show(text) => (text, None),
        Scanned::Parse(text) => {
            let value = value_of(&text, &mut sink);
            (text, value.filter(|_| sink.is_empty()))
        }
    };
    value.ok_or_else(|| sink.finish(Arc::new(Source { name: name.to_owned(), text })))
}

fn value_of<T: JsonSchema + DeserializeOwned>(text: &str, sink: &mut Sink) -> Option<T> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let root = Spanned::new(0..0, DeValue::Table(root.into_inner()));
    if !syntax(text, &errors, sink).is_empty() {
        return None;
    }
    if let Some(span) = tree::too_deep(&root, limits::NESTING) {
        sink.push(too_deep(span));
        return None;
    }
    let (shapes, whole) = shape::Shapes::of::<T>();
    if let (shape::Shape::Struct(fields), DeValue::Table(table)) = (shapes.get(whole), root.get_ref()) {
        Walk::of(&shapes, text, sink).table(0..line_of(text, 0).end, table, fields);
    }
    if !sink.is_empty() {
        return None;
    }
    match T::deserialize(toml::de::ValueDeserializer::from(root)) {
        Ok(value) => Some(value),
        Err(error) => {
            sink.push(Problem::new(error.span().unwrap_or(0..0), error.message().to_owned()));
            None
        }
    }
}

struct Read {
    title: String,
    list: Vec<Variant>,
}

fn read(text: &str, words: &mut Words, sink: &mut Sink) -> Option<Read> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let raw = Spanned::new(0..0, DeValue::Table(root.into_inner()));
    if is_another_file(&raw, &errors) {
        sink.push(
            Problem::new(0..line_of(text, 0).end, "this is no scenario file".to_owned())
                .label("neither this line nor another has one of its keys")
                .help("`rehang new FILE` writes a first scenario; `rehang import FILE` reads an agent's log"),
        );
        return None;
    }
    let broken = syntax(text, &errors, sink);
    if let Some(span) = tree::too_deep(&raw, limits::BRACKETS) {
        sink.push(too_deep(span));
        return None;
    }
    let DeValue::Table(mut root) = raw.into_inner() else { return None };
    words.take(&root);
    if broken.is_empty() {
        return arms::variants(text, &mut root, sink);
    }
    // Problems that follow from a broken line are noise: only problems on other lines are reported too.
    let mut aside = Sink::default();
    arms::variants(text, &mut root, &mut aside);
    for problem in aside.into_list() {
        let line = line_of(text, problem.span.start);
        let beside = broken.iter().any(|b| b.start <= line.end && line.start <= b.end);
        if !beside && !problem.span.is_empty() && !problem.absence {
            sink.push(problem);
        }
    }
    None
}

/// The names that only a catalogue knows, read from the tree of a file that does not load.
#[derive(Default)]
struct Words {
    strategies: Vec<Name>,
    mechanisms: Vec<Name>,
}

impl Words {
    fn take(&mut self, table: &DeTable<'_>) {
        let list = |key: &str| table.get(key).and_then(|n| n.get_ref().as_array()).into_iter().flatten();
        let tables = |key: &str| list(key).filter_map(|n| n.get_ref().as_table());
        for rule in tables("expect").chain(tables("skip")) {
            let names = rule.get("strategies").and_then(|n| n.get_ref().as_array());
            self.strategies.extend(names.into_iter().flatten().filter_map(name_at).take(limits::PROBLEMS));
        }
        self.mechanisms.extend(table.get("mechanism").and_then(name_at));
        for vary in tables("vary") {
            let rules = vary.get("expect").and_then(|n| n.get_ref().as_array()).into_iter().flatten();
            for rule in rules.filter_map(|n| n.get_ref().as_table()) {
                let names = rule.get("strategies").and_then(|n| n.get_ref().as_array());
                self.strategies.extend(names.into_iter().flatten().filter_map(name_at).take(limits::PROBLEMS));
            }
            let set = vary.get("set").and_then(|n| n.get_ref().as_table());
            self.mechanisms.extend(set.and_then(|set| set.get("mechanism")).and_then(name_at));
        }
    }
}

fn name_at(node: &Node<'_>) -> Option<Name> {
    Some(Name { text: node.get_ref().as_str()?.to_owned(), span: node.span() })
}

/// How many errors of the parser tell another kind of file from a scenario with mistakes.
const ANOTHER_FILE: usize = 2;

/// Whether it is another kind of file: no line is right, and no key is one of a scenario's.
fn is_another_file(root: &Node<'_>, errors: &[toml::de::Error]) -> bool {
    let known = |key: &str| SHAPES.field(SHAPES.scenario, key).is_some() || matches!(key, "vary" | "control");
    let has_key = root.get_ref().as_table().is_some_and(|table| table.keys().any(|key| known(key.get_ref())));
    errors.len() >= ANOTHER_FILE && !has_key
}

/// Adds the parser's errors, and returns the lines on which they are.
fn syntax(text: &str, errors: &[toml::de::Error], sink: &mut Sink) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    for error in errors.iter().take(limits::PROBLEMS) {
        let span = error.span().unwrap_or(text.len()..text.len());
        let line = line_of(text, span.start);
        // One mistake can give several parser errors on the same line: only the first is reported.
        if lines.contains(&line) {
            continue;
        }
        let mut problem = Problem::new(span.clone(), format!("this is no TOML: {}", error.message()));
        if span.start >= text.trim_end().len() {
            problem = problem
                .label("the file ends here")
                .help("is the file cut off? something that was opened is not closed");
        }
        if error.message() == "duplicate key" {
            problem =
                Problem::new(span.clone(), format!("duplicate key `{}`", shown(text.get(span).unwrap_or_default())))
                    .label("it stands further up already")
                    .help("a key behind a table header (`[control]`, `[[expect]]`) belongs to that table");
        }
        lines.push(line);
        sink.push(problem);
    }
    lines
}

fn line_of(text: &str, at: usize) -> Range<usize> {
    let at = text.floor_char_boundary(at.min(text.len()));
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    start..text[at..].find('\n').map_or(text.len(), |n| at + n)
}

fn too_deep(span: Range<usize>) -> Problem {
    Problem::new(span, format!("nested deeper than {}", limits::NESTING))
        .label("this is one too deep")
        .help("lists and tables inside each other count, each as one")
}

/// Compares one applied tree with the shape of a scenario.
fn shape_of(text: &str, tree: &DeTable<'_>, sink: &mut Sink) {
    let first_line = 0..line_of(text, 0).end;
    let deep = tree.iter().find_map(|(_, node)| tree::too_deep(node, limits::NESTING));
    if let Some(span) = deep {
        sink.push(too_deep(span));
    } else if let shape::Shape::Struct(fields) = SHAPES.get(SHAPES.scenario) {
        Walk::new(text, sink).table(first_line, tree, fields);
    }
}

/// The typed scenario of a tree that has the right shape.
fn typed(tree: DeTable<'_>, sink: &mut Sink) -> Option<Scenario> {
    let node: Node<'_> = Spanned::new(0..0, DeValue::Table(tree));
    match Scenario::deserialize(toml::de::ValueDeserializer::from(node)) {
        Ok(scenario) => Some(scenario),
        Err(error) => {
            sink.push(Problem::new(error.span().unwrap_or(0..0), error.message().to_owned()));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_named_by_its_path_below_the_scenarios() {
        let rows = [
            ("scenarios/x/a.toml", "x/a"),
            ("/home/scenarios/old/scenarios/a.toml", "a"),
            ("./a.toml", "a"),
            ("././a", "a"),
            ("/x/a/", "x/a"),
            ("a b\tc.toml", "abc"),
            ("a[1]:b.toml", "a1b"),
            ("a\u{202e}b", "a\u{fffd}b"),
            ("é.toml.toml", "é.toml"),
        ];
        for (path, wanted) in rows {
            assert_eq!(family_name(path), wanted, "{path:?}");
        }
    }

    #[test]
    fn a_value_of_a_family_has_the_place_where_it_was_written() {
        let text = "title = \"T\"\nmechanism = \"F1\"\nagent = { claude = { as = \"2.0.77\" } }\nruns = 7\nargs = [\"a\", \"b\"]\n\n[control]\nargs = [\"c\"]\n\n[[vary]]\nname = \"v\"\nset = { runs = 9 }\n\n[[vary]]\nname = \"w\"\ncontrol = {}\n";
        let family = load("x.toml", text.as_bytes()).into_result().expect("a family");
        assert_eq!((family.name.as_str(), family.title.as_str()), ("x", "T"));
        let [v, w] = &family.variants[..] else { panic!("two variants") };
        let of = |span: Range<usize>| text[span].to_owned();
        let paths = ["agent.claude.as", "agent.claude.mode", "runs", "args.1", "args.7", "nothing"];
        assert_eq!(
            paths.map(|path| of(v.span_of(path))),
            ["\"2.0.77\"", "{ as = \"2.0.77\" }", "9", "\"b\"", "[\"a\", \"b\"]", "\"v\""]
        );
        assert_eq!([of(w.span_of("runs")), of(w.span_of("nothing"))], ["7", "\"w\""]);
        // the arm's own, or what it took over; a variant without an arm has only the file's
        let arm = |variant: &Variant, path: &str| of(variant.control_span_of(path));
        assert_eq!([arm(v, "args.0"), arm(v, "runs"), arm(v, "nothing")], ["\"c\"", "9", "\"v\""]);
        assert_eq!([arm(w, "args.0"), arm(w, "nothing")], ["\"a\"", "\"w\""]);
        assert!(v.control.is_some() && w.control.is_none());
    }

    #[test]
    fn a_line_is_what_stands_between_two_ends() {
        let text = "ab\n\né";
        let lines = [0, 2, 3, 4, 5, 6, 99].map(|at| line_of(text, at));
        assert_eq!(lines, [0..2, 0..2, 3..3, 4..6, 4..6, 4..6, 4..6]);
        assert_eq!(line_of("", 0), 0..0);
    }

    #[test]
    fn another_kind_of_file_is_read_as_strictly() {
        #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Other {
            name: String,
            #[serde(default)]
            list: Vec<u32>,
        }
        let said = |text: &str| match read_as::<Other>("o.toml", text.as_bytes()) {
            Ok(value) => format!("{value:?}"),
            Err(problems) => {
                problems.list.iter().map(|one| format!("{:?} {}", one.span, one.message)).collect::<Vec<_>>().join("; ")
            }
        };
        let deep = format!("name = 'a'\nlist = {}{}", "[".repeat(limits::NESTING), "]".repeat(limits::NESTING));
        let all = [
            "name = 'a'",
            "name = 'a'\nlist = [1]",
            "name = 1\nx = 2",
            "list = []",
            "name = ",
            "name = 'a'\nvary = []",
            &deep,
            "name = 'a'\nlist = [4294967295, 4294967296]",
        ];
        expect_test::expect![[r#"
            Other { name: "a", list: [] }
            Other { name: "a", list: [1] }
            7..8 `name` must be a text; 9..10 unknown key `x`
            0..9 `name` is missing
            7..7 this is no TOML: string values must be quoted, expected literal string
            11..15 unknown key `vary`
            33..35 nested deeper than 16
            31..41 `list.1` is 4294967296, out of range
        "#]]
        .assert_eq(&all.map(|text| said(text) + "\n").concat());
        assert!(read_as::<Other>("o.toml", b"name = '\xff'").is_err());
    }
}
