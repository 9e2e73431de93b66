//! The file as a tree of values with their places, and the dotted paths that `set` and `control` write to.
//!
//! Invariant: a value that is put somewhere keeps the place where it is written, so an error in a variant points at the
//! variant. Nothing here goes much deeper than [`limits::NESTING`].

use crate::limits;
use crate::problem::shown;
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its place.
pub(crate) type Node<'i> = Spanned<DeValue<'i>>;

/// The first value that is nested deeper than `limit`. Gives up there, so its own stack is bounded.
pub(crate) fn too_deep(node: &Node<'_>, limit: usize) -> Option<Range<usize>> {
    let left = match node.get_ref() {
        DeValue::Array(_) | DeValue::Table(_) => limit.checked_sub(1),
        _ => return None,
    };
    let Some(left) = left else { return Some(node.span()) };
    match node.get_ref() {
        DeValue::Array(list) => list.iter().find_map(|n| too_deep(n, left)),
        DeValue::Table(table) => table.iter().find_map(|(_, n)| too_deep(n, left)),
        _ => None,
    }
}

/// Whether two values are equal, wherever they are in the file.
pub(crate) fn same(a: &Node<'_>, b: &Node<'_>) -> bool {
    match (a.get_ref(), b.get_ref()) {
        (DeValue::String(a), DeValue::String(b)) => a == b,
        (DeValue::Integer(a), DeValue::Integer(b)) => a.radix() == b.radix() && a.as_str() == b.as_str(),
        (DeValue::Float(a), DeValue::Float(b)) => a.as_str() == b.as_str(),
        (DeValue::Boolean(a), DeValue::Boolean(b)) => a == b,
        (DeValue::Datetime(a), DeValue::Datetime(b)) => a == b,
        (DeValue::Array(a), DeValue::Array(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b)),
        (DeValue::Table(a), DeValue::Table(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key.get_ref().as_ref()).is_some_and(|b| same(a, b)))
        }
        _ => false,
    }
}

/// What kind of value this is, in a word.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The value at a path.
pub(crate) fn at<'t, 'i>(root: &'t DeTable<'i>, path: &str) -> Option<&'t Node<'i>> {
    let mut steps = path.split('.');
    let mut node = root.get(steps.next()?)?;
    for step in steps {
        node = match node.get_ref() {
            DeValue::Table(table) => table.get(step)?,
            DeValue::Array(list) => list.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(node)
}

/// Why nothing can be put at a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PutError {
    /// More steps than a file is deep.
    #[error("the path is deeper than {}", limits::NESTING)]
    TooDeep,
    /// Two dots in a row, or one at an end.
    #[error("the path has an empty step")]
    EmptyStep,
    /// A step that is not a number leads into a list: the list's path.
    #[error("`{0}` is a list: its elements are `{0}.0`, `{0}.1`, …")]
    NoNumber(String),
    /// A list is shorter.
    #[error("`{list}` has {len} elements: the next one is `{list}.{len}`")]
    PastEnd {
        /// Its path.
        list: String,
        /// How many elements it has.
        len: usize,
    },
    /// Neither a table nor a list.
    #[error("`{path}` is {found}: there is nothing below it")]
    Leaf {
        /// Its path.
        path: String,
        /// What it is, in a word.
        found: &'static str,
    },
}

/// Puts a value at a path: replaces what is there, or adds a key or a list's next element.
///
/// # Errors
/// Nothing can be there.
pub(crate) fn put<'i>(root: &mut DeTable<'i>, path: &str, span: Range<usize>, value: Node<'i>) -> Result<(), PutError> {
    let steps: Vec<&str> = path.split('.').collect();
    if steps.len() > limits::NESTING {
        return Err(PutError::TooDeep);
    }
    if steps.contains(&"") {
        return Err(PutError::EmptyStep);
    }
    let slot = root.entry(key(steps[0], &span)).or_insert_with(|| fresh(&span));
    put_below(slot, &steps, 1, &span, value)
}

/// Puts a value at the rest of a path, starting from the value that its first `done` steps have reached.
fn put_below<'i>(
    node: &mut Node<'i>,
    steps: &[&str],
    done: usize,
    span: &Range<usize>,
    value: Node<'i>,
) -> Result<(), PutError> {
    let Some(step) = steps.get(done) else {
        *node = value;
        return Ok(());
    };
    let gone = || shown(&steps[..done].join("."));
    let found = kind(node.get_ref());
    let slot = match node.get_mut() {
        DeValue::Table(table) => table.entry(key(step, span)).or_insert_with(|| fresh(span)),
        DeValue::Array(list) => {
            let index = step.parse::<usize>().map_err(|_| PutError::NoNumber(gone()))?;
            if index == list.len() {
                list.push(fresh(span));
            }
            let len = list.len();
            list.get_mut(index).ok_or_else(|| PutError::PastEnd { list: gone(), len })?
        }
        _ => return Err(PutError::Leaf { path: gone(), found }),
    };
    put_below(slot, steps, done + 1, span, value)
}

fn key<'i>(step: &str, span: &Range<usize>) -> Spanned<Cow<'i, str>> {
    Spanned::new(span.clone(), Cow::Owned(step.to_owned()))
}

fn fresh<'i>(span: &Range<usize>) -> Node<'i> {
    Spanned::new(span.clone(), DeValue::Table(DeTable::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_into(file: &'static str, path: &str, value: &'static str) -> Result<String, PutError> {
        let mut root = DeTable::parse(file).expect("toml").into_inner();
        let value = DeValue::parse(value).expect("value");
        put(&mut root, path, 0..0, value)?;
        let node = Spanned::new(0..0, DeValue::Table(root));
        let value = <toml::Value as serde::Deserialize>::deserialize(toml::de::ValueDeserializer::from(node));
        Ok(value.expect("a value").to_string())
    }

    #[test]
    fn a_path_replaces_and_adds() {
        assert_eq!(put_into("a = 1", "a", "2").as_deref(), Ok("{ a = 2 }"));
        assert_eq!(put_into("", "env.CI", "'1'").as_deref(), Ok("{ env = { CI = \"1\" } }"));
        assert_eq!(put_into("a = [1, 2]", "a.1", "3").as_deref(), Ok("{ a = [1, 3] }"));
        assert_eq!(put_into("a = [1, 2]", "a.2", "3").as_deref(), Ok("{ a = [1, 2, 3] }"));
        assert_eq!(put_into("a = [{ b = [[1]] }]", "a.0.b.0.0", "3").as_deref(), Ok("{ a = [{ b = [[3]] }] }"));
        assert_eq!(put_into("a = []", "a.0.b", "3").as_deref(), Ok("{ a = [{ b = 3 }] }"));
    }

    #[test]
    fn a_path_that_leads_nowhere_says_so() {
        let why = |file, path| put_into(file, path, "2").unwrap_err().to_string();
        assert_eq!(why("a = 1", "a.b"), "`a` is a number: there is nothing below it");
        assert_eq!(why("a = [1]", "a.b"), "`a` is a list: its elements are `a.0`, `a.1`, …");
        assert_eq!(why("a = [1]", "a.7"), "`a` has 1 elements: the next one is `a.1`");
        assert_eq!(why("a = [1]", "a.0.c"), "`a.0` is a number: there is nothing below it");
        assert_eq!(why("", "a..c"), "the path has an empty step");
    }

    #[test]
    fn depth_is_measured_without_going_deeper() {
        let deep = format!("{}1{}", "[".repeat(10), "]".repeat(10));
        let node = DeValue::parse(&deep).expect("value");
        assert_eq!(too_deep(&node, 10), None);
        assert_eq!(too_deep(&node, 9).map(|span| span.start), Some(9));
    }

    #[test]
    fn values_are_the_same_if_they_say_the_same() {
        // each with its kind; those in one row are the same, all others are not
        let rows: [(&str, &[&str]); 13] = [
            ("a text", &["'a'", "\"a\"", "\"\\u0061\""]),
            ("a text", &["'b'"]),
            ("a number", &["10", "1_0"]),
            ("a number", &["0x10"]),
            ("a number", &["0o10"]),
            ("a fraction", &["1.5"]),
            ("a fraction", &["2.5"]),
            ("true or false", &["true"]),
            ("true or false", &["false"]),
            ("a date", &["1979-05-27"]),
            ("a date", &["1979-05-28"]),
            ("a list", &["[10, 'a']", "[ 1_0,\"a\", ]"]),
            ("a table", &["{ a = 10, b = 'a' }", "{ b = \"a\", a = 10 }"]),
        ];
        let others = [
            "[10]",
            "[10, 'b']",
            "[10, 'a', 1]",
            "[]",
            "{}",
            "{ a = 10 }",
            "{ a = 10, b = 'b' }",
            "{ a = 10, c = 'a' }",
        ];
        let others: Vec<[&str; 1]> = others.into_iter().map(|text| [text]).collect();
        let all: Vec<&[&str]> =
            rows.iter().map(|(_, row)| *row).chain(others.iter().map(|one| one.as_slice())).collect();
        for (i, row) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                for (a, b) in row.iter().flat_map(|a| other.iter().map(move |b| (*a, *b))) {
                    let parsed = |text: &'static str| DeValue::parse(text).expect("value");
                    assert_eq!(same(&parsed(a), &parsed(b)), i == j, "{a} {b}");
                }
            }
        }
        for (word, row) in rows {
            for text in row {
                assert_eq!(kind(DeValue::parse(text).expect("value").get_ref()), word, "{text}");
            }
        }
    }

    #[test]
    fn a_path_leads_through_tables_and_lists() {
        let root = DeTable::parse("a = [{ b = [7] }]\nc = 8").expect("toml").into_inner();
        let found = |path: &str| at(&root, path).map(|node| kind(node.get_ref()));
        let all = ["a", "a.0", "a.0.b", "a.0.b.0", "c"].map(found);
        assert_eq!(all, ["a list", "a table", "a list", "a number", "a number"].map(Some));
        assert_eq!(["", "x", "a.1", "a.x", "a.0.c", "c.0", "a.0.b.0.0"].map(found), [None; 7]);
    }

    #[test]
    fn a_path_is_as_deep_as_a_file_may_be_and_no_deeper() {
        let path = |steps: usize| vec!["a"; steps].join(".");
        let put = |path: String| put_into("", &path, "1").map(|_| ());
        assert_eq!(put(path(limits::NESTING)), Ok(()));
        assert_eq!(put(path(limits::NESTING + 1)), Err(PutError::TooDeep));
        assert_eq!([".a", "a."].map(|path| put(path.to_owned())), [Err(PutError::EmptyStep), Err(PutError::EmptyStep)]);
        let found = put_into("a = true", "a.b", "1");
        assert_eq!(found, Err(PutError::Leaf { path: "a".to_owned(), found: "true or false" }));
        assert_eq!(put_into("a = []", "a.1", "1"), Err(PutError::PastEnd { list: "a".to_owned(), len: 0 }));
        let deep =
            |text: &'static str, limit| too_deep(&DeValue::parse(text).expect("value"), limit).map(|span| span.start);
        assert_eq!([deep("1", 0), deep("[]", 0), deep("[]", 1)], [None, Some(0), None]);
        assert_eq!([deep("{ a = 1, b = [1] }", 1), deep("{ a = 1, b = [1] }", 2)], [Some(13), None]);
    }
}
