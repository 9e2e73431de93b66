//! `[[vary]]` and `[control]`: which scenarios a file holds.
//!
//! Invariant: a control arm changes what it says, and nothing else. Without `changes` that is one top-level key;
//! with it, exactly those that it names.

use super::places::Places;
use super::shape::SHAPES;
use super::tree::{self, Node, put, same};
use super::walk::Walk;
use super::{Read, Variant, shape_of, typed};
use crate::limits;
use crate::model::Scenario;
use crate::problem::{Problem, Sink, quoted, shown};
use crate::schema::{CONTROL_KEYS, SET_KEYS};
use crate::text::{did_you_mean, suggest};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// One `[[vary]]`, or the file itself.
struct Entry<'i> {
    name: String,
    span: Range<usize>,
    set: DeTable<'i>,
    /// Its own control arm; `Some(None)` if it says that it has none.
    control: Option<Option<Node<'i>>>,
    rules: DeArray<'i>,
}

/// The scenarios of a file. Takes `control` and `vary` out of its tree.
pub(super) fn variants(text: &str, root: &mut DeTable<'_>, sink: &mut Sink) -> Option<Read> {
    let control = root.remove("control").filter(|node| is_table("control", node, sink));
    let vary = root.remove("vary");
    if let Some(node) = &vary {
        shape_of(text, root, sink);
        Walk::new(text, sink).at("vary", node, SHAPES.vary);
    }
    if let Some(node) = &control
        && node.get_ref().as_table().is_some_and(|t| t.is_empty())
    {
        sink.push(Problem::new(node.span(), "`control` changes nothing").label("it is empty"));
    }
    let entries = entries(vary, sink);
    if entries.len() > limits::VARIANTS || entries.len().saturating_mul(2 * text.len()) > limits::FAMILY_BYTES {
        let place = entries.last().map_or(0..0, |e| e.span.clone());
        let message = format!("{} variants of a file of {} KiB are too many", entries.len(), text.len().div_ceil(1024));
        let help = format!("at most {} variants, and {} MiB in all", limits::VARIANTS, limits::FAMILY_BYTES >> 20);
        sink.push(Problem::new(place, message).help(help));
        return None;
    }
    let mut list = Vec::new();
    // Control arms are checked on whole scenarios: a problem in one does not keep the next from being read.
    let mut judged = Sink::default();
    for entry in entries {
        list.extend(variant(text, root, control.as_ref(), entry, sink, &mut judged));
    }
    judged.into_list().into_iter().for_each(|problem| sink.push(problem));
    let title = root.get("title").and_then(|node| node.get_ref().as_str()).unwrap_or_default().to_owned();
    sink.is_empty().then_some(Read { title, list })
}

fn is_table(key: &str, node: &Node<'_>, sink: &mut Sink) -> bool {
    let table = node.get_ref().as_table().is_some();
    if !table {
        let found = tree::kind(node.get_ref());
        sink.push(Problem::new(node.span(), format!("`{key}` must be a table")).label(format!("this is {found}")));
    }
    table
}

fn entries<'i>(vary: Option<Node<'i>>, sink: &mut Sink) -> Vec<Entry<'i>> {
    let Some(vary) = vary else {
        let (set, rules) = (DeTable::new(), DeArray::new());
        return vec![Entry { name: String::new(), span: 0..0, set, control: None, rules }];
    };
    if vary.get_ref().as_array().is_some_and(|list| list.is_empty()) {
        sink.push(Problem::new(vary.span(), "`vary` is empty").label("a file with `vary` has only its variants"));
    }
    let DeValue::Array(list) = vary.into_inner() else { return Vec::new() };
    let mut names = BTreeSet::new();
    let mut entries = Vec::new();
    for node in list {
        let span = node.span();
        let DeValue::Table(mut table) = node.into_inner() else { continue };
        let name = table.remove("name");
        let place = name.as_ref().map_or(span.clone(), |n| n.span());
        let name = name.and_then(|n| n.get_ref().as_str().map(str::to_owned)).unwrap_or_default();
        variant_name(&name, place.clone(), &mut names, sink);
        let mut part = |key: &str| table.remove(key).map(Spanned::into_inner);
        let set = if let Some(DeValue::Table(set)) = part("set") { set } else { DeTable::new() };
        let rules = if let Some(DeValue::Array(rules)) = part("expect") { rules } else { DeArray::new() };
        let control = table.remove("control").map(|node| match node.get_ref().as_table() {
            Some(table) if !table.is_empty() => Some(node),
            _ => None,
        });
        entries.push(Entry { name, span: place, set, control, rules });
    }
    entries
}

fn variant_name(name: &str, place: Range<usize>, names: &mut BTreeSet<String>, sink: &mut Sink) {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.=+".contains(c);
    if name.is_empty() || name.len() > limits::NAME_CHARS || !name.chars().all(fits) {
        let help = "a cell is called by it: letters, digits, `-`, `_`, `.`, `=`, `+`";
        sink.push(Problem::new(place, format!("`{}` is no name for a variant", shown(name))).help(help));
    } else if !names.insert(name.to_owned()) {
        sink.push(Problem::new(place, format!("two variants are called `{name}`")).label("this is the second"));
    }
}

fn variant<'i>(
    text: &str,
    root: &DeTable<'i>,
    control: Option<&Node<'i>>,
    entry: Entry<'i>,
    sink: &mut Sink,
    judged: &mut Sink,
) -> Option<Variant> {
    let mut tree = root.clone();
    for (key, value) in entry.set {
        apply(&mut tree, "set", &SET_KEYS, key.span(), key.get_ref(), value, sink);
    }
    let own_rules = entry.rules.len();
    let mut rules = entry.rules;
    if let Some(DeValue::Array(file)) = tree.remove("expect").map(Spanned::into_inner) {
        file.into_iter().for_each(|rule| rules.push(rule));
    }
    if !rules.is_empty() {
        let key = Spanned::new(entry.span.clone(), "expect".into());
        tree.insert(key, Spanned::new(entry.span.clone(), DeValue::Array(rules)));
    }
    shape_of(text, &tree, sink);
    let inherited = entry.control.is_none();
    let control = entry.control.unwrap_or_else(|| control.cloned());
    let control = control.map(|node| arm(text, &tree, node, sink));
    if !sink.is_empty() {
        return None;
    }
    let places = Arc::new(Places::of(&tree));
    let scenario = typed(tree, sink)?;
    let (control, control_places) = match control {
        None => (None, None),
        Some(mut arm) => {
            let places = Arc::new(Places::of(&arm.tree));
            let scenario_of_arm = typed(std::mem::take(&mut arm.tree), sink)?;
            arm.judge(&entry.name, inherited, &scenario, &scenario_of_arm, judged);
            (Some(scenario_of_arm), Some(places))
        }
    };
    Some(Variant { name: entry.name, scenario, control, own_rules, places, control_places, span: entry.span })
}

/// Puts one key of `set` or `control` into a tree; returns whether that changed anything.
fn apply<'i>(
    tree: &mut DeTable<'i>,
    table: &str,
    allowed: &[&str],
    span: Range<usize>,
    path: &str,
    value: Node<'i>,
    sink: &mut Sink,
) -> bool {
    let top = path.split('.').next().unwrap_or_default();
    if !allowed.contains(&top) {
        let mut problem = Problem::new(span, format!("`{}` cannot stand in `{table}`", shown(path)));
        let known = SHAPES.field(SHAPES.scenario, top).is_some() || matches!(top, "vary" | "control");
        problem = match suggest(top, allowed.iter().copied()) {
            _ if known && table == "control" => {
                problem.label("a key behind `[control]` falls into that table").help("move it above `[control]`")
            }
            _ if known => problem.label(format!("a variant has its own `{top}` beside `set`")),
            Some(meant) => problem.label(did_you_mean(meant)),
            None => problem.label("no such key").help(format!("there are {}", quoted(allowed.iter().copied()))),
        };
        sink.push(problem);
        return true;
    }
    let changes = tree::at(tree, path).is_none_or(|old| !same(old, &value));
    if let Err(why) = put(tree, path, span.clone(), value) {
        sink.push(Problem::new(span, format!("`{}` leads nowhere", shown(path))).label(why.to_string()));
        return true;
    }
    changes
}

/// What a control arm says that it changes, with the places.
struct Says {
    span: Range<usize>,
    words: Vec<(Range<usize>, String)>,
}

/// A control arm, applied, with what it says that it changes.
struct ControlArm<'i> {
    tree: DeTable<'i>,
    span: Range<usize>,
    /// Each key: its place, its path, whether it changed anything.
    keys: Vec<(Range<usize>, String, bool)>,
    /// `changes`, with its place.
    says: Option<Says>,
}

fn arm<'i>(text: &str, base: &DeTable<'i>, node: Node<'i>, sink: &mut Sink) -> ControlArm<'i> {
    let mut arm = ControlArm { tree: base.clone(), span: node.span(), keys: Vec::new(), says: None };
    let DeValue::Table(mut table) = node.into_inner() else { return arm };
    if let Some(changes) = table.remove("changes") {
        Walk::new(text, sink).at("control.changes", &changes, SHAPES.list_of_words);
        let span = changes.span();
        let DeValue::Array(words) = changes.into_inner() else { return arm };
        let words = words.iter().filter_map(|w| Some((w.span(), w.get_ref().as_str()?.to_owned())));
        arm.says = Some(Says { span, words: words.collect() });
    }
    for (key, value) in table {
        let changed = apply(&mut arm.tree, "control", &CONTROL_KEYS, key.span(), key.get_ref(), value, sink);
        arm.keys.push((key.span(), key.get_ref().to_string(), changed));
    }
    shape_of(text, &arm.tree, sink);
    arm
}

impl ControlArm<'_> {
    /// Whether the arm changes what it says: each key changes something, and no top-level key changes that is not
    /// named.
    fn judge(&self, variant: &str, inherited: bool, main: &Scenario, control: &Scenario, sink: &mut Sink) {
        let top = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
        let changed = changed_keys(main, control);
        let of_variant = match variant {
            "" => String::new(),
            name => format!(" in the variant `{name}`"),
        };
        for (span, path, changes) in &self.keys {
            if !changes || !changed.contains(&top(path)) {
                let mut problem = Problem::new(span.clone(), format!("`{}` changes nothing{of_variant}", shown(path)))
                    .label("it has this value without the control arm");
                if inherited && !variant.is_empty() {
                    problem = problem.help("give the variant its own `control`; an empty one says that it has none");
                }
                sink.push(problem);
            }
        }
        let list = quoted(changed.iter().map(String::as_str));
        match &self.says {
            None if changed.len() > 1 => {
                let second = self.keys.iter().find(|(_, path, _)| top(path) != top(&self.keys[0].1));
                let span = second.map_or(self.span.clone(), |(span, ..)| span.clone());
                let words: Vec<String> = changed.iter().map(|c| format!("\"{c}\"")).collect();
                sink.push(
                    Problem::new(span, format!("this control arm changes more than one thing: {list}"))
                        .label("the second")
                        .help(format!("if it takes all of them, say so: `changes = [{}]`", words.join(", ")))
                        .help(
                            "a key behind `[control]` falls into that table: what is the file's own belongs above it",
                        ),
                );
            }
            None => {}
            Some(Says { span, words }) if words.is_empty() && self.keys.is_empty() => {
                let problem = Problem::new(span.clone(), format!("`control` changes nothing{of_variant}"));
                sink.push(problem.label("it names no key"));
            }
            Some(Says { span, words }) => {
                for (place, word) in words.iter().filter(|(_, w)| !changed.contains(w)) {
                    let label = format!("it changes {list}");
                    sink.push(
                        Problem::new(place.clone(), format!("this control arm does not change `{}`", shown(word)))
                            .label(label),
                    );
                }
                for key in changed.iter().filter(|c| words.iter().all(|(_, w)| w != *c)) {
                    let message = format!("this control arm changes more than it says: `{key}`");
                    sink.push(Problem::new(span.clone(), message).label("not named here"));
                }
            }
        }
    }
}

/// The top-level keys in which two scenarios differ.
fn changed_keys(a: &Scenario, b: &Scenario) -> BTreeSet<String> {
    let as_table = |s: &Scenario| serde_json::to_value(s).unwrap_or_default();
    let (a, b) = (as_table(a), as_table(b));
    CONTROL_KEYS.iter().filter(|key| a[**key] != b[**key]).map(|&key| key.to_owned()).collect()
}
