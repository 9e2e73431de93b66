//! Writes changed rules into the text of a file.
//!
//! Invariant: what no change touches is the same, byte for byte. A file whose layout the editor cannot keep is an error.

use crate::Error;
use crate::rules::{Rule, Rules, Scope};
use rehang_scenario::Expect;
use rehang_scenario::write::{rule_keys, value_text};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Key, RawString, Table, TableLike, Value};

const RULES: &str = "expect";
/// Columns after which a list is written anew, over several lines.
const WIDTH: usize = 110;
/// The longest key that every rule has; keys are aligned by it in files that align them.
const ALIGNED: usize = "strategies".len();

/// The text with the rules as they are now.
pub(crate) fn write(text: &str, before: &Rules, after: &Rules) -> Result<String, Error> {
    if before == after {
        return Ok(text.to_owned());
    }
    let mut doc = parse(text)?;
    let style = Style::of(&doc);
    for scope in before.scopes() {
        if before.list(scope) == after.list(scope) {
            continue;
        }
        let last = last_position(doc.as_table());
        match scope {
            Scope::File => style.list(doc.as_table_mut(), before.list(scope), after.list(scope), last)?,
            Scope::Variant(number) => {
                let last = doc.get("vary").and_then(Item::as_array_of_tables).and_then(|all| all.get(number));
                let last = last.map_or(0, last_position);
                let entry = variant(&mut doc, number).ok_or(Error::Layout)?;
                style.list(entry, before.list(scope), after.list(scope), last)?;
            }
        }
    }
    Ok(doc.to_string())
}

/// The rules of the file that have a comment.
pub(crate) fn commented(text: &str, rules: &Rules) -> Result<BTreeSet<(Scope, usize)>, Error> {
    let mut doc = parse(text)?;
    let mut found = BTreeSet::new();
    let has = |text: String| text.contains('#');
    for scope in rules.scopes() {
        let item = match scope {
            Scope::File => doc.get(RULES),
            Scope::Variant(number) => variant(&mut doc, number).and_then(|entry| entry.get(RULES)),
        };
        for number in 0..rules.list(scope).len() {
            let is = match item {
                Some(Item::ArrayOfTables(all)) => all.get(number).is_some_and(|t| has(t.to_string()) || has(raw(t))),
                Some(Item::Value(Value::Array(all))) => all.get(number).is_some_and(|v| has(v.to_string())),
                _ => false,
            };
            if is {
                found.insert((scope, number));
            }
        }
    }
    Ok(found)
}

/// What is above a table.
fn raw(table: &Table) -> String {
    let decor = table.decor();
    let text = |raw: Option<&RawString>| raw.and_then(RawString::as_str).unwrap_or_default().to_owned();
    text(decor.prefix()) + &text(decor.suffix())
}

fn parse(text: &str) -> Result<DocumentMut, Error> {
    let doc: DocumentMut = text.parse().map_err(|_| Error::Layout)?;
    if doc.to_string() == text { Ok(doc) } else { Err(Error::Layout) }
}

fn variant(doc: &mut DocumentMut, number: usize) -> Option<&mut dyn TableLike> {
    match doc.get_mut("vary")? {
        Item::ArrayOfTables(all) => all.get_mut(number).map(|table| table as &mut dyn TableLike),
        Item::Value(Value::Array(all)) => {
            all.get_mut(number)?.as_inline_table_mut().map(|table| table as &mut dyn TableLike)
        }
        _ => None,
    }
}

/// The place of the last table in or below a table, in the order of the file.
fn last_position(table: &Table) -> isize {
    let below = table.iter().flat_map(|(_, item)| match item {
        Item::Table(table) => vec![last_position(table)],
        Item::ArrayOfTables(all) => all.iter().map(last_position).collect(),
        _ => Vec::new(),
    });
    below.chain(table.position()).max().unwrap_or(0)
}

/// How a file is written.
struct Style {
    /// Its keys are aligned.
    aligned: bool,
    /// Its variants have their rules as tables (`[[vary.expect]]`).
    tables: bool,
}

impl Style {
    fn of(doc: &DocumentMut) -> Style {
        let wide = |table: &Table| {
            table.iter().any(|(name, _)| {
                let suffix = table.key(name).and_then(|key| key.leaf_decor().suffix()).and_then(RawString::as_str);
                suffix.is_some_and(|suffix| suffix.len() > 1)
            })
        };
        let rules = doc.get(RULES).and_then(Item::as_array_of_tables);
        let aligned = match rules {
            Some(rules) if !rules.is_empty() => rules.iter().any(wide),
            _ => wide(doc.as_table()),
        };
        let vary = doc.get("vary").and_then(Item::as_array_of_tables);
        let tables = vary.is_some_and(|all| all.iter().any(|t| t.contains_array_of_tables(RULES)));
        Style { aligned, tables }
    }

    /// One list of rules.
    fn list(&self, parent: &mut dyn TableLike, before: &[Rule], after: &[Rule], last: isize) -> Result<(), Error> {
        let is_root = last_is_root(parent);
        match parent.get_mut(RULES) {
            Some(Item::ArrayOfTables(all)) => {
                *all = self.tables(all, before, after, last)?;
                if all.is_empty() {
                    parent.remove(RULES);
                }
            }
            Some(Item::Value(Value::Array(all))) => self.array(all, before, after)?,
            None if is_root || self.tables => {
                let all = self.tables(&ArrayOfTables::new(), before, after, last)?;
                parent.insert(RULES, Item::ArrayOfTables(all));
            }
            None => {
                let mut all = Array::new();
                self.array(&mut all, before, after)?;
                let mut key = Key::new(RULES);
                let widest = parent.iter().map(|(name, _)| name.len()).filter(|len| *len < ALIGNED).max();
                let column = widest.filter(|_| self.aligned).unwrap_or(0).max(RULES.len());
                key.leaf_decor_mut().set_suffix(" ".repeat(column - RULES.len() + 1));
                parent.entry_format(&key).or_insert(Item::Value(Value::Array(all)));
            }
            Some(_) => return Err(Error::Layout),
        }
        Ok(())
    }

    fn tables(
        &self,
        old: &ArrayOfTables,
        before: &[Rule],
        after: &[Rule],
        last: isize,
    ) -> Result<ArrayOfTables, Error> {
        let mut new = ArrayOfTables::new();
        for (at, rule) in after.iter().enumerate() {
            let next = after[at..].iter().find_map(|rule| rule.origin).and_then(|origin| old.get(origin));
            let table = match rule.origin {
                Some(origin) => {
                    let mut table = old.get(origin).ok_or(Error::Layout)?.clone();
                    let was = before.iter().find(|rule| rule.origin == Some(origin)).ok_or(Error::Layout)?;
                    self.edit(&mut table, &was.expect, &rule.expect)?;
                    table
                }
                None => {
                    let mut table = self.table(&rule.expect)?;
                    let end = old.iter().map(last_position).max().unwrap_or(last);
                    table.set_position(Some(next.and_then(Table::position).unwrap_or(end)));
                    table
                }
            };
            new.push(table);
        }
        Ok(new)
    }

    /// A new rule as a table.
    fn table(&self, rule: &Expect) -> Result<Table, Error> {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        for (name, value) in rule_keys(rule) {
            let key = self.key(&name, if self.aligned { ALIGNED } else { 0 });
            let value = parsed(&value_text(&value, name.len().max(ALIGNED) + 3))?;
            table.insert_formatted(&key, Item::Value(value));
        }
        Ok(table)
    }

    fn key(&self, name: &str, column: usize) -> Key {
        let mut key = Key::new(name);
        key.leaf_decor_mut().set_suffix(" ".repeat(column.saturating_sub(name.len()) + 1));
        key
    }

    fn array(&self, array: &mut Array, before: &[Rule], after: &[Rule]) -> Result<(), Error> {
        let old: Vec<Value> = array.iter().cloned().collect();
        let tall = array.is_empty() || old.iter().any(|value| prefix(value).contains('\n'));
        let layout = Layout::of(array);
        let mut all = Vec::new();
        for rule in after {
            let value = match rule.origin {
                Some(origin) => {
                    let mut value = old.get(origin).ok_or(Error::Layout)?.clone();
                    let was = before.iter().find(|rule| rule.origin == Some(origin)).ok_or(Error::Layout)?;
                    let inline = value.as_inline_table_mut().ok_or(Error::Layout)?;
                    self.edit_inline(inline, &was.expect, &rule.expect)?;
                    value
                }
                None => Value::InlineTable(inline(&rule.expect)?),
            };
            all.push((value, rule.origin));
        }
        let grows = after.iter().any(|rule| rule.origin.is_none());
        layout.put(array, all, tall || grows);
        Ok(())
    }

    fn edit(&self, table: &mut Table, before: &Expect, after: &Expect) -> Result<(), Error> {
        let column = table.iter().filter_map(|(name, _)| {
            let suffix = table.key(name)?.leaf_decor().suffix()?.as_str()?;
            (suffix.len() > 1).then_some(name.len() + suffix.len() - 1)
        });
        let column = column.max().unwrap_or(if self.aligned { ALIGNED } else { 0 });
        edit(table, before, after, |name| self.key(name, column), column.max(1))?;
        Ok(())
    }

    fn edit_inline(&self, table: &mut InlineTable, before: &Expect, after: &Expect) -> Result<(), Error> {
        let decor = table.decor().clone();
        if edit(table, before, after, |name| self.key(name, 0), 0)? {
            table.fmt();
        }
        *table.decor_mut() = decor;
        Ok(())
    }
}

/// What separates the elements of a list. The editor counts a comment after an element's comma as the beginning of the
/// next element; here it belongs to the element before the comma.
struct Layout {
    /// For each element what is above it, and what follows it on its line.
    around: Vec<(String, String)>,
    /// What every element of a list over several lines begins with.
    pad: String,
    end: String,
    comma: bool,
}

impl Layout {
    fn of(list: &Array) -> Layout {
        let prefixes: Vec<String> = list.iter().map(prefix).collect();
        let trailing = list.trailing().as_str().unwrap_or_default().to_owned();
        let around = prefixes.iter().enumerate().map(|(at, own)| {
            let above = if at == 0 { own.clone() } else { split(own).1 };
            (above, split(prefixes.get(at + 1).unwrap_or(&trailing)).0)
        });
        let pad = prefixes.iter().find_map(|prefix| prefix.rsplit_once('\n').map(|(_, pad)| pad.to_owned()));
        Layout {
            around: around.collect(),
            pad: pad.unwrap_or_else(|| "  ".to_owned()),
            end: if trailing.contains('\n') { split(&trailing).1 } else { trailing },
            comma: list.trailing_comma(),
        }
    }

    /// Puts elements into a list, each with what was around it; `tall`: over several lines.
    fn put(&self, list: &mut Array, all: Vec<(Value, Option<usize>)>, tall: bool) {
        let decor = list.decor().clone();
        let was_tall = self.end.contains('\n');
        *list = Array::new();
        let mut line_end = String::new();
        for (at, (mut value, origin)) in all.into_iter().enumerate() {
            let (above, behind) = origin.map(|origin| self.around[origin].clone()).unwrap_or_default();
            let above = match tall {
                true if above.contains('\n') => above,
                true => format!("\n{}", self.pad),
                false if at == 0 => String::new(),
                false => " ".to_owned(),
            };
            value.decor_mut().set_prefix(format!("{line_end}{above}"));
            value.decor_mut().set_suffix("");
            list.push_formatted(value);
            line_end = behind;
        }
        let end = if tall && !was_tall { "\n" } else { &self.end };
        list.set_trailing(format!("{line_end}{end}"));
        list.set_trailing_comma(tall || self.comma);
        *list.decor_mut() = decor;
    }
}

fn last_is_root(parent: &dyn TableLike) -> bool {
    parent.contains_key("mechanism")
}

fn prefix(value: &Value) -> String {
    value.decor().prefix().and_then(RawString::as_str).unwrap_or_default().to_owned()
}

/// The rest of the current line, and what begins with the next line. Without a line's end the rest is empty.
fn split(text: &str) -> (String, String) {
    match text.find('\n') {
        Some(at) => (text[..at].to_owned(), text[at..].to_owned()),
        None => (String::new(), text.to_owned()),
    }
}

fn inline(rule: &Expect) -> Result<InlineTable, Error> {
    let mut table = InlineTable::new();
    for (name, value) in rule_keys(rule) {
        table.insert(&name, parsed(&one_line(&value))?);
    }
    Ok(table)
}

/// A value on one line, however long: an inline table's lists don't break.
fn one_line(value: &Json) -> String {
    rehang_scenario::write::line_text(value)
}

fn parsed(text: &str) -> Result<Value, Error> {
    text.trim().parse().map_err(|_| Error::Layout)
}

/// Changes the keys in which two rules differ; returns whether keys were added or removed.
fn edit(
    table: &mut dyn TableLike,
    before: &Expect,
    after: &Expect,
    key: impl Fn(&str) -> Key,
    column: usize,
) -> Result<bool, Error> {
    let (old, new) = (rule_keys(before), rule_keys(after));
    let mut moved = false;
    for (name, _) in old.iter().filter(|(name, _)| !new.iter().any(|(other, _)| other == name)) {
        moved |= table.remove(name).is_some();
    }
    for (at, (name, value)) in new.iter().enumerate() {
        if old.iter().any(|(other, was)| other == name && was == value) {
            continue;
        }
        let text = if column == 0 { one_line(value) } else { value_text(value, name.len().max(column) + 3) };
        if let Some(item) = table.get_mut(name) {
            let is_list = item.as_array_mut().is_some_and(|list| names(list, value));
            if !is_list && let Some(slot) = item.as_value_mut() {
                let mut new = parsed(&text)?;
                *new.decor_mut() = slot.decor().clone();
                *slot = new;
            } else if !is_list {
                *item = Item::Value(parsed(&text)?);
            }
            continue;
        }
        moved = true;
        // the keys that come after it in a rule are put back after it
        let later: Vec<&str> = new[at + 1..].iter().map(|(name, _)| name.as_str()).collect();
        let present: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
        let from = present.iter().position(|name| later.contains(&name.as_str())).unwrap_or(present.len());
        let mut rest: Vec<(Key, Item)> = Vec::new();
        for name in &present[from..] {
            let whole = table.get_key_value(name).map(|(key, _)| key.clone());
            rest.extend(whole.zip(table.remove(name)));
        }
        table.entry_format(&key(name)).or_insert(Item::Value(parsed(&text)?));
        for (key, item) in rest {
            table.entry_format(&key).or_insert(item);
        }
    }
    Ok(moved)
}

/// Changes a list of words word by word, so that its layout and its comments stay; `false` if it is no list of words,
/// or would be too wide for its line.
fn names(list: &mut Array, value: &Json) -> bool {
    let words: Option<Vec<&str>> = value.as_array().and_then(|all| all.iter().map(Json::as_str).collect());
    let Some(words) = words.filter(|_| list.iter().all(Value::is_str) && !list.is_empty()) else { return false };
    let had: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let kept: Vec<&str> = had.iter().map(String::as_str).filter(|word| words.contains(word)).collect();
    // what is added comes last: another order is written anew
    if kept.is_empty() || words[..kept.len().min(words.len())] != kept {
        return false;
    }
    let wide = words.iter().map(|word| word.len() + 4).sum::<usize>() > WIDTH - ALIGNED;
    let tall = list.iter().any(|value| prefix(value).contains('\n'));
    if !tall && wide {
        return false;
    }
    let layout = Layout::of(list);
    let kept = (0..had.len()).filter(|&at| words.contains(&had[at].as_str())).map(|at| (had[at].as_str(), Some(at)));
    let added = words[kept.clone().count()..].iter().map(|word| (*word, None));
    let old: Vec<Value> = list.iter().cloned().collect();
    let all = kept.chain(added).map(|(word, at)| (at.map_or_else(|| Value::from(word), |at| old[at].clone()), at));
    layout.put(list, all.collect(), tall);
    true
}
