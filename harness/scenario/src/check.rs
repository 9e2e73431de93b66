//! The check of a file against a catalogue of strategies: names that name nothing, cells without a rule, rules
//! without a cell, hangs without a control arm.
//!
//! Invariant: a file without a problem has exactly one rule for each of its cells, and every word in it is needed.

use crate::cells::{Catalogue, Found, Matrix};
use crate::file::{Family, Loaded, Variant};
use crate::limits;
use crate::playable::impossible;
use crate::problem::{Problem, Problems, Sink, quoted, shown};
use crate::text::{counted, did_you_mean, suggest};
use crate::{Arm, BlockedOn, Expect, Expected, Mechanism, Orders, Via};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;

/// All problems of a file: those of its form, and those that only a catalogue can tell.
pub fn check(loaded: &Loaded, catalogue: &dyn Catalogue) -> Problems {
    let mut sink = Sink::default();
    loaded.problems.list.iter().cloned().for_each(|problem| sink.push(problem));
    match &loaded.family {
        Some(family) => check_family(family, catalogue, &mut sink),
        None => {
            for name in &loaded.names {
                strategy(&name.text, name.span.clone(), catalogue, &mut sink);
            }
            for name in &loaded.mechanisms {
                mechanism_known(&name.text, name.span.clone(), &mut sink);
            }
        }
    }
    let mut problems = sink.finish(loaded.problems.source.clone());
    problems.more += loaded.problems.more;
    problems
}

fn check_family(family: &Family, catalogue: &dyn Catalogue, sink: &mut Sink) {
    let mut use_of = Usage::default();
    let mut cells = 0_usize;
    for variant in &family.variants {
        mechanism_known(&variant.scenario.mechanism, variant.span_of("mechanism"), sink);
        lists(variant, catalogue, sink);
        for thing in impossible(&variant.scenario) {
            possible(thing, |path| variant.span_of(path), sink);
        }
        if let Some(control) = &variant.control {
            for thing in impossible(control) {
                possible(thing, |path| variant.control_span_of(path), sink);
            }
        }
        let matrices = Matrix::of(variant, catalogue);
        cells = cells.saturating_add(matrices.iter().map(Matrix::len).sum());
        if cells > limits::CELLS {
            let message = format!("the file has {cells} cells, more than {}", limits::CELLS);
            sink.push(Problem::new(variant.span.clone(), message).help("fewer seeds, terminals or variants"));
            return;
        }
        for matrix in &matrices {
            use_of.take(matrix, catalogue, sink);
        }
        without_control(variant, &matrices, sink);
    }
    use_of.idle(sink);
}

fn possible(thing: crate::playable::Impossible, span: impl Fn(&str) -> Range<usize>, sink: &mut Sink) {
    let problem = Problem::new(span(&thing.path), thing.message);
    sink.push(match thing.help {
        Some(help) => problem.help(help),
        None => problem,
    });
}

fn mechanism_known(id: &str, span: Range<usize>, sink: &mut Sink) {
    if id.parse::<Mechanism>().is_ok() {
        return;
    }
    let is_meant = |m: &&Mechanism| m.name() == id || m.id().eq_ignore_ascii_case(id);
    let meant = Mechanism::ALL.iter().find(is_meant).or_else(|| {
        let name = suggest(id, Mechanism::ALL.iter().map(|m| m.name()))?;
        Mechanism::ALL.iter().find(|m| m.name() == name)
    });
    let problem = Problem::new(span, format!("unknown mechanism `{}`", shown(id)));
    sink.push(match meant {
        Some(m) => problem.label(format!("did you mean `{m}`, {}?", m.name())),
        None => problem.help("the hang catalogue has Q1–Q5, P1–P4, S1–S3, B1–B13, C1–C7, T1–T7, E1–E9, M1–M10, X1–X8, R1–R2, H1–H7; F1–F12 are healthy runs"),
    });
}

fn strategy(name: &str, span: Range<usize>, catalogue: &dyn Catalogue, sink: &mut Sink) -> bool {
    let Err(unknown) = catalogue.resolve(name) else { return true };
    let problem = Problem::new(span, unknown.message);
    sink.push(match unknown.label {
        Some(label) => problem.label(label),
        None => problem,
    });
    false
}

/// Words that are twice in a list, and strategies that do not exist.
fn lists(variant: &Variant, catalogue: &dyn Catalogue, sink: &mut Sink) {
    let scenario = &variant.scenario;
    let lists =
        scenario.expect.iter().enumerate().map(|(i, rule)| (format!("expect.{i}"), &rule.strategies, &rule.terminals));
    let skips =
        scenario.skip.iter().enumerate().map(|(i, skip)| (format!("skip.{i}"), &skip.strategies, &skip.terminals));
    for (path, strategies, terminals) in lists.chain(skips) {
        for (j, name) in strategies.iter().enumerate() {
            strategy(name, variant.span_of(&format!("{path}.strategies.{j}")), catalogue, sink);
        }
        twice(variant, &format!("{path}.strategies"), strategies.iter().map(String::as_str), sink);
        twice(variant, &format!("{path}.terminals"), terminals.iter().map(|t| t.name()), sink);
    }
    for (i, rule) in scenario.expect.iter().enumerate() {
        twice(variant, &format!("expect.{i}.breaks"), rule.breaks.iter().map(|b| b.name()), sink);
        contradiction(variant, i, rule, sink);
        unheard(variant, i, rule, sink);
    }
    twice(variant, "terminals", scenario.terminals.iter().map(|t| t.name()), sink);
    let seeds: Vec<String> = scenario.seeds.iter().map(u64::to_string).collect();
    twice(variant, "seeds", seeds.iter().map(String::as_str), sink);
    for (path, empty) in [("terminals", scenario.terminals.is_empty()), ("seeds", seeds.is_empty())] {
        if empty {
            let problem = Problem::new(variant.span_of(path), format!("`{path}` is empty: there would be no cell"));
            sink.push(problem.help(format!("leave `{path}` out for its default")));
        }
    }
}

/// What a rule asks for although it is impossible.
fn contradiction(variant: &Variant, i: usize, rule: &Expect, sink: &mut Sink) {
    if let Expected::Hung(on) = &rule.outcome
        && BlockedOn::of(on).is_none()
    {
        let span = variant.span_of(&format!("expect.{i}.outcome.hung"));
        let problem = Problem::new(span, format!("no hang is on `{}`", shown(on)));
        sink.push(match suggest(on, BlockedOn::ALL.map(BlockedOn::word)) {
            Some(meant) => problem.label(did_you_mean(meant)),
            None => problem.help(format!("a hang is on one of {}", quoted(BlockedOn::ALL.map(BlockedOn::word)))),
        });
    }
    if let (Some(within), Some(not_before)) = (rule.within, rule.not_before)
        && within < not_before
    {
        let span = variant.span_of(&format!("expect.{i}.within"));
        let message = format!("no end is within {within} and not before {not_before}");
        sink.push(Problem::new(span, message).label("too early"));
    }
    if rule.proof.is_some() && !matches!(rule.outcome, Expected::Hung(_) | Expected::AsNone) {
        let span = variant.span_of(&format!("expect.{i}.proof"));
        sink.push(Problem::new(span, "only a hang has a proof").help("leave `proof` out"));
    }
}

/// What a rule expects to be said although nobody can say it.
fn unheard(variant: &Variant, i: usize, rule: &Expect, sink: &mut Sink) {
    if !rule.says.is_empty() && !rule.strategies.is_empty() && rule.strategies.iter().all(|name| name == "none") {
        let span = variant.span_of(&format!("expect.{i}.says"));
        sink.push(Problem::new(span, "`none` says nothing to anybody").help("leave `says` out"));
    }
    let over_http = variant.scenario.people.iter().filter(|person| person.via == Via::Http).count();
    if !rule.gets.is_empty() && over_http == 0 && rule.arm == Arm::Main {
        let span = variant.span_of(&format!("expect.{i}.gets"));
        sink.push(
            Problem::new(span, "nobody acts over HTTP here").help("`gets` speaks of people with `via = \"http\"`"),
        );
    }
}

fn twice<'a>(variant: &Variant, path: &str, words: impl Iterator<Item = &'a str>, sink: &mut Sink) {
    let mut seen = BTreeSet::new();
    for (i, word) in words.enumerate() {
        if !seen.insert(word) {
            let span = variant.span_of(&format!("{path}.{i}"));
            sink.push(Problem::new(span, format!("`{}` stands twice in this list", shown(word))).label("the second"));
        }
    }
}

/// A scenario that hangs if nobody acts, without a control arm that shows that this one thing makes it hang.
fn without_control(variant: &Variant, matrices: &[Matrix<'_>], sink: &mut Sink) {
    let Some(main) = matrices.first().filter(|_| variant.control.is_none()) else { return };
    let mut hung = None;
    main.each(|place, found| {
        if let (Found::Rule(Some(rule)), "none") = (found, main.stacks[place.stack].as_str())
            && matches!(variant.scenario.expect[rule].outcome, Expected::Hung(_))
            // what hangs in one order alone has its control in the others
            && variant.scenario.expect[rule].orders == Orders::Plain
        {
            hung.get_or_insert(rule);
        }
    });
    if let Some(rule) = hung {
        let of = if variant.name.is_empty() { String::new() } else { format!(" in the variant `{}`", variant.name) };
        sink.push(
            Problem::new(
                variant.span_of(&format!("expect.{rule}.outcome")),
                format!("a hang without a control arm{of}"),
            )
            .label("nothing shows what makes it hang")
            .help("add `[control]` with the one change under which it completes"),
        );
    }
}

/// A word of a rule or a skip, by its place, and whether any cell needed it.
struct Word {
    used: bool,
    rule: (usize, usize),
    message: String,
    label: String,
}

/// What cells use of the file's rules and skips, over all variants.
#[derive(Default)]
struct Usage {
    rules: BTreeMap<(usize, usize), Word>,
    words: BTreeMap<(usize, usize), Word>,
    /// Rules and skips with a name that names nothing, which is reported elsewhere.
    wrong: BTreeSet<(usize, usize)>,
}

impl Usage {
    fn take(&mut self, matrix: &Matrix<'_>, catalogue: &dyn Catalogue, sink: &mut Sink) {
        let variant = matrix.variant;
        for (i, _) in &matrix.rules {
            let rule = &variant.scenario.expect[*i];
            self.words_of(matrix, &format!("expect.{i}"), &rule.strategies, catalogue);
            self.places_of(matrix, &format!("expect.{i}"), rule);
            let entry = self.rule(variant.span_of(&format!("expect.{i}")), "no cell reaches this rule");
            entry.label = "the rules above it take all of its cells".to_owned();
        }
        for (i, skip) in matrix.scenario.skip.iter().enumerate() {
            self.words_of(matrix, &format!("skip.{i}"), &skip.strategies, catalogue);
            let entry = self.rule(variant.span_of(&format!("skip.{i}")), "no cell is skipped by this");
            entry.label = "it leaves nothing out".to_owned();
        }
        for (i, rule) in variant.scenario.expect.iter().enumerate().filter(|(_, r)| r.arm == Arm::Control) {
            if variant.control.is_none() {
                let entry = self.rule(variant.span_of(&format!("expect.{i}")), "no cell reaches this rule");
                entry.label = "there is no control arm".to_owned();
            }
            let label = match rule.outcome {
                Expected::Hung(_) => "this one hangs",
                Expected::Undecided => "this one is undecided",
                _ => continue,
            };
            if rule.strategies.iter().any(|s| s == "none") {
                let span = variant.span_of(&format!("expect.{i}.outcome"));
                sink.push(Problem::new(span, "a control arm completes where nobody acts").label(label));
            }
        }
        let mut uncovered = Vec::new();
        let mut as_none = BTreeSet::new();
        matrix.each(|place, found| {
            if let Found::Rule(_) = found {
                matrix.in_some_order(place).for_each(|i| self.use_rule(variant.span_of(&format!("expect.{i}"))));
            }
            match found {
                Found::Skip(i) => self.use_rule(variant.span_of(&format!("skip.{i}"))),
                Found::Rule(Some(i)) => {
                    self.use_rule(variant.span_of(&format!("expect.{i}")));
                    if matrix.stacks[place.stack] == "none" && variant.scenario.expect[i].outcome == Expected::AsNone {
                        as_none.insert(i);
                    }
                }
                Found::Rule(None) if matrix.arm == Arm::Main => uncovered.push(place),
                Found::Rule(None) => {}
            }
        });
        for i in as_none {
            let span = variant.span_of(&format!("expect.{i}.outcome"));
            sink.push(
                Problem::new(span, "what `none` does is not said")
                    .label("`as none` for `none` itself")
                    .help("add a rule with `strategies = [\"none\"]` above it"),
            );
        }
        if let Some(&first) = uncovered.first() {
            let of =
                if variant.name.is_empty() { String::new() } else { format!(" of the variant `{}`", variant.name) };
            let last = variant.scenario.expect.len().checked_sub(1);
            let span = match last {
                Some(last) if variant.name.is_empty() => variant.span_of(&format!("expect.{last}")),
                None if variant.name.is_empty() => variant.span_of("title"),
                _ => variant.span.clone(),
            };
            let first = matrix.id("…", first);
            let problem = Problem::new(
                span,
                format!(
                    "{}{of} {} no rule",
                    counted(uncovered.len(), "cell"),
                    if uncovered.len() == 1 { "matches" } else { "match" }
                ),
            )
            .label(format!("the first is `{}`", shown(&first.to_string())))
            .help(
                "if the rest has nothing to do here, end with a rule for it: `[[expect]]` and `outcome = \"as none\"`",
            );
            sink.push(Problem { without_rule: true, ..problem });
        }
    }

    fn rule(&mut self, span: Range<usize>, message: &str) -> &mut Word {
        let rule = (span.start, span.end);
        let word = || Word { used: false, rule, message: message.to_owned(), label: String::new() };
        self.rules.entry(rule).or_insert_with(word)
    }

    fn use_rule(&mut self, span: Range<usize>) {
        if let Some(word) = self.rules.get_mut(&(span.start, span.end)) {
            word.used = true;
        }
    }

    fn word(&mut self, matrix: &Matrix<'_>, path: &str, word: &str, used: bool, message: String, label: String) {
        let rule = matrix.variant.span_of(path);
        let rule = (rule.start, rule.end);
        let span = matrix.variant.span_of(&format!("{path}.{word}"));
        self.words.entry((span.start, span.end)).or_insert(Word { used: false, rule, message, label }).used |= used;
    }

    fn words_of(&mut self, matrix: &Matrix<'_>, path: &str, strategies: &[String], catalogue: &dyn Catalogue) {
        for (j, pattern) in strategies.iter().enumerate() {
            if catalogue.resolve(pattern).is_err() {
                let rule = matrix.variant.span_of(path);
                self.wrong.insert((rule.start, rule.end));
                continue;
            }
            let used = matrix.stacks.iter().any(|stack| catalogue.matches(pattern, stack));
            let unfit = if used { None } else { catalogue.fits(pattern, &matrix.scenario.agent).err() };
            let label = unfit.map_or("not in this file's matrix".to_owned(), |why| why.to_string());
            let message = format!("no cell of this file runs `{}`", shown(pattern));
            self.word(matrix, path, &format!("strategies.{j}"), used, message, label);
        }
    }

    fn places_of(&mut self, matrix: &Matrix<'_>, path: &str, rule: &Expect) {
        for (j, terminal) in rule.terminals.iter().enumerate() {
            let used = matrix.scenario.terminals.contains(terminal);
            let message = format!("no cell of this file has the terminal `{}`", terminal.name());
            self.word(matrix, path, &format!("terminals.{j}"), used, message, "not among `terminals`".to_owned());
        }
        for (j, seed) in rule.seeds.iter().enumerate() {
            let used = matrix.scenario.seeds.contains(seed);
            let message = format!("no cell of this file has the seed {seed}");
            self.word(matrix, path, &format!("seeds.{j}"), used, message, "not among `seeds`".to_owned());
        }
        for (j, order) in rule.orders.named().iter().enumerate() {
            let used = matrix.scenario.seeds.contains(&order.seed) && !order.is_plain();
            let label = match order.is_plain() {
                true => "it has no choice at a tie: name it in `seeds`",
                false => "its seed is not among `seeds`",
            };
            let message = format!("no cell of this file has the order {order}");
            self.word(matrix, path, &format!("orders.{j}"), used, message, label.to_owned());
        }
    }

    /// Reports what no cell needed. A rule whose own words name nothing is reported once, at the word.
    fn idle(self, sink: &mut Sink) {
        let mut said = self.wrong;
        for ((start, end), word) in self.words.into_iter().chain(self.rules) {
            if !word.used && !said.contains(&(start, end)) {
                said.insert(word.rule);
                sink.push(Problem::new(start..end, word.message).label(word.label));
            }
        }
    }
}
