//! Rules about the text of source files: what a `fn canon` names, and where agents are told apart.
//!
//! Every `fn canon` in the tree names all that it compares, and says of the rest why it need not be compared.
//!
//! A lasso is proved by comparing encodings, so a field that is missing there makes a false proof. Invariants held here,
//! in the text of each `fn canon` that has a body:
//!  1. no pattern has `..`, so that the next field does not compile until somebody has decided about it;
//!  2. a field of `self` is reached by taking `self` apart, not by `self.field`, for the same reason;
//!  3. a field or a variant's content that is bound as `_` has `// not compared: REASON` on its line.
//!
//! `matches!` binds nothing and compares nothing, so its content is not checked.

use std::path::{Path, PathBuf};

/// The start of the comment that says why a field is left out.
const REASON: &str = "// not compared: ";

#[test]
fn every_canon_names_what_it_compares() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["harness", "fake-agents"] {
        sources(&root.join(folder), &mut files);
    }
    files.sort();
    let (mut canons, mut wrong) = (0, Vec::new());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a source file can be read");
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let (count, found) = offences(&text);
        canons += count;
        wrong.extend(found.into_iter().map(|(line, why)| format!("{name}:{line}: {why}")));
    }
    assert!(canons > 80, "only {canons} of them were found");
    assert!(wrong.is_empty(), "{} offences in {canons} `fn canon`:\n{}", wrong.len(), wrong.join("\n"));
}

/// Where an agent's variant may be matched or made: its description, its persona, the importer of its logs.
const OF_AGENTS: [&str; 7] = [
    "harness/scenario/src/agents",
    "harness/logs/src/draft/",
    "fake-agents/src/claude/",
    "fake-agents/src/codex/",
    "fake-agents/src/gemini/",
    "fake-agents/src/opencode/",
    "fake-agents/src/tool/",
];

/// A new agent is a folder of the fakes and a description: no other code tells agents apart by their variants.
#[test]
fn agents_are_told_apart_where_they_are_described() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["harness", "fake-agents", "xtask"] {
        sources(&root.join(folder), &mut files);
    }
    let (mut described, mut wrong) = (0, Vec::new());
    for path in files {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let text = std::fs::read_to_string(&path).expect("a source file can be read");
        let code = code_of(without_tests(&text));
        let named = variants_of_agents(&code);
        match OF_AGENTS.iter().any(|place| name.starts_with(place)) || name.contains("/tests/") {
            true => described += named.len(),
            false => wrong.extend(named.into_iter().map(|line| format!("{name}:{line}"))),
        }
    }
    assert!(described > 20, "only {described} of them were found");
    assert!(wrong.is_empty(), "ask `AgentKind` or a method of `Agent` instead:\n{}", wrong.join("\n"));
}

/// A source up to the module of its tests, if that is in it.
fn without_tests(text: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| {
        let line = text[*at..].lines().nth(1).unwrap_or_default();
        line.starts_with("mod ") && line.ends_with('{')
    };
    text.match_indices("#[cfg(test)]\n").find(begins).map_or(text, |(at, _)| &text[..at])
}

/// The lines that name a variant of the scenario's `Agent`.
fn variants_of_agents(code: &str) -> Vec<usize> {
    let names = rehang_scenario::agents::ALL.map(|kind| {
        let (first, rest) = kind.word.split_at(1);
        format!("Agent::{}{rest}(", first.to_uppercase())
    });
    let lines = code.lines().zip(1..);
    lines.filter(|(line, _)| names.iter().any(|name| line.contains(name))).map(|(_, number)| number).collect()
}

/// All Rust sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// How many canons with a body a source has, and what is wrong with them: the line, and why.
fn offences(text: &str) -> (usize, Vec<(usize, String)>) {
    let code = code_of(text);
    let lines: Vec<&str> = text.lines().collect();
    let (mut count, mut found) = (0, Vec::new());
    let mut from = 0;
    while let Some(at) = code[from..].find("fn canon(").map(|at| from + at) {
        from = at + 1;
        let Some((begin, end)) = body(&code, at) else { continue };
        // what gives a `Canon` of its own is a test's
        if !code[at..begin].contains("&mut Canon") {
            continue;
        }
        count += 1;
        let line_of = |at: usize| 1 + code[..at].matches('\n').count();
        let is_excused = |at: usize| {
            let reason = lines.get(line_of(at) - 1).and_then(|line| line.split_once(REASON));
            reason.is_some_and(|(_, reason)| reason.trim().len() > 3)
        };
        for at in begin..end {
            let (before, rest) = (code[begin..at].trim_end(), &code[at..end]);
            if rest.starts_with(['.', '_']) && is_in_matches(before) {
                continue;
            }
            if is_rest_pattern(before, rest) {
                found.push((line_of(at), "a pattern has `..`".to_owned()));
            } else if let Some(field) = field_of_self(before, rest) {
                found.push((line_of(at), format!("`self.{field}` is read without taking `self` apart")));
            } else if is_left_out(before, rest) && !is_excused(at) {
                found.push((line_of(at), format!("what is bound as `_` has no `{REASON}REASON` on its line")));
            }
        }
    }
    (count, found)
}

/// The body of the function whose `fn` is at a place, braces included; `None` if it has none.
fn body(code: &str, at: usize) -> Option<(usize, usize)> {
    let begin = at + code[at..].find(['{', ';'])?;
    if code.as_bytes()[begin] == b';' {
        return None;
    }
    let mut depth = 0_usize;
    for (place, c) in code[begin..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((begin, begin + place + 1));
        }
    }
    None
}

/// Whether `..` replaces the rest of a pattern here: at the end of its braces or brackets, or alone in its parentheses.
/// The `..` of a range has an end, is in an index, or is what a method is called with.
fn is_rest_pattern(before: &str, rest: &str) -> bool {
    let Some(after) = rest.strip_prefix("..") else { return false };
    if before.ends_with('.') || after.starts_with(['.', '=']) {
        return false;
    }
    let next = after.trim_start();
    match before.chars().next_back() {
        Some('{') => next.starts_with('}'),
        Some(',') => next.starts_with(['}', ')', ']', ',']),
        Some('(') => next.starts_with([')', ',']) && !is_method_call(before),
        Some('[') => next.starts_with(','),
        _ => false,
    }
}

/// Whether this ends with `.name(`.
fn is_method_call(before: &str) -> bool {
    let callee = before.strip_suffix('(').unwrap_or(before);
    callee.trim_end_matches(is_word).ends_with('.')
}

/// The field that is read here by `self.field`; `None` for a method.
fn field_of_self<'a>(before: &str, rest: &'a str) -> Option<&'a str> {
    let after = rest.strip_prefix("self.").filter(|_| !before.ends_with(|c: char| is_word(c) || c == '.'))?;
    let end = after.find(|c| !is_word(c)).unwrap_or(after.len());
    (end > 0 && !after[end..].trim_start().starts_with(['(', ':'])).then(|| &after[..end])
}

/// Whether `_` replaces a field or the content of a variant here. `let _`, an argument of a closure, a part of a tuple
/// and the last arm of a `match` do not count.
fn is_left_out(before: &str, rest: &str) -> bool {
    let Some(after) = rest.strip_prefix('_') else { return false };
    let alone = !after.starts_with(is_word) && !before.ends_with(is_word);
    let field = before.ends_with(':') && !before.ends_with("::");
    alone && after.trim_start().starts_with([',', '}', ')', ']']) && (field || is_in_variant(before))
}

/// Whether this ends directly within the parentheses of a variant: `State::Waits(at, `.
fn is_in_variant(before: &str) -> bool {
    if !before.ends_with(['(', ',']) {
        return false;
    }
    let Some(open) = open_parenthesis(before) else { return false };
    let name = before[..open].rsplit(|c| !is_word(c)).next().unwrap_or_default();
    name.starts_with(char::is_uppercase)
}

/// Whether this ends within a `matches!(`.
fn is_in_matches(before: &str) -> bool {
    let mut rest = before;
    while let Some(open) = open_parenthesis(rest) {
        rest = &rest[..open];
        if rest.ends_with("matches!") {
            return true;
        }
    }
    false
}

/// The last parenthesis that is open at the end of this.
fn open_parenthesis(before: &str) -> Option<usize> {
    let mut depth = 0_usize;
    before.char_indices().rev().find_map(|(at, c)| {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return Some(at),
            '(' => depth -= 1,
            _ => {}
        }
        None
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The source with its comments, strings and characters blanked, byte for byte, with its lines unchanged.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => find(bytes, at + 2, b"*/"),
            b'"' => string_end(bytes, at),
            b'r' if is_raw_string(bytes, at) => {
                let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
                let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
                find(bytes, at + hashes + 2, &close)
            }
            b'\'' => char_end(bytes, at),
            _ => at,
        };
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at)
}

/// The place after the next occurrence of a word; the end if there is none.
fn find(bytes: &[u8], from: usize, word: &[u8]) -> usize {
    let place = (from..bytes.len()).find(|at| bytes[*at..].starts_with(word));
    place.map_or(bytes.len(), |at| at + word.len())
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(bytes.len())
}

fn is_raw_string(bytes: &[u8], at: usize) -> bool {
    let begins = at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_') || bytes[at - 1] == b'b';
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    begins && bytes.get(at + 1 + hashes) == Some(&b'"')
}

/// The place after a character; for a lifetime the place itself.
fn char_end(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at + 1) {
        Some(b'\\') => find(bytes, at + 3, b"'"),
        Some(_) => {
            let close = (at + 2..bytes.len().min(at + 6)).find(|end| bytes[*end] == b'\'');
            // of `'a, 'b'` only the second is a character
            close.filter(|end| *end == at + 2 || !bytes[at + 1].is_ascii()).map_or(at, |end| end + 1)
        }
        None => at,
    }
}

#[cfg(test)]
mod of_itself {
    use super::{offences, variants_of_agents, without_tests};

    /// What is wrong with a canon of this body: the line within it, from 1, and the first words of the reason.
    fn wrong(body: &str) -> Vec<(usize, String)> {
        let (count, found) =
            offences(&format!("impl A {{\n    fn canon(&self, c: &mut Canon) {{\n{body}\n    }}\n}}\n"));
        assert_eq!(count, 1, "{body}");
        found.into_iter().map(|(line, why)| (line - 2, why.chars().take(12).collect())).collect()
    }

    #[test]
    fn what_is_whole_is_right() {
        for body in [
            "let Self { a, b } = self;\nc.num(*a).text(b);",
            "let Self { a, b: _ } = self; // not compared: it never changes after construction\nc.num(*a);",
            "match self { A::X => c.num(0), A::Y(at, _) => c.num(1) }; // not compared: derived from `at`",
            "c.bytes(&list[..3]).bytes(&list[..]).num(list.iter().map(|_| 1).sum());",
            "for n in 0..4 { c.num(n); } c.list(map.range(..));\nlet _ = self.helper();",
            "c.text(\"{ .. }, x: _\").flag('_' == '.'); // { .. }",
            "let B { x } = B { x: 1, ..B::default() };",
            "match n { 0 => c.num(1), _ => c.num(2) };",
            "c.flag(matches!(state, S::A { .. } | S::B(_)));\nc.list(all, |c, (_, at)| c.num(*at));",
        ] {
            assert_eq!(wrong(body), [], "{body}");
        }
    }

    #[test]
    fn what_is_not_whole_is_told_with_its_line() {
        let rest = || "a pattern ha".to_owned();
        let left_out = || "what is boun".to_owned();
        for (body, found) in [
            ("let Self { a, .. } = self;", vec![(1, rest())]),
            (
                "match self {\n    A::X { .. } => c.num(0),\n    A::Y(..) => c.num(1),\n};",
                vec![(2, rest()), (3, rest())],
            ),
            ("let [first, ..] = list;\nlet [.., last] = list;", vec![(1, rest()), (2, rest())]),
            ("let Self { a, b: _ } = self;", vec![(1, left_out())]),
            ("let Self {\n    a,\n    b: _, // nobody comes that far\n} = self;", vec![(3, left_out())]),
            ("let Self {\n    b: _, // not compared:\n} = self;", vec![(2, left_out())]),
            ("match self { A::Y(_) => c.num(1), A::Z(at, _) => c.num(2) };", vec![(1, left_out()), (1, left_out())]),
            (
                "c.num(self.a);\nself.inner.canon(c);",
                vec![(1, "`self.a` is ".to_owned()), (2, "`self.inner`".to_owned())],
            ),
        ] {
            assert_eq!(wrong(body), found, "{body}");
        }
    }

    #[test]
    fn a_variant_is_found_with_its_line() {
        assert_eq!(
            without_tests("#[cfg(test)]\nmod tests;\nx\n#[cfg(test)]\nmod t {"),
            "#[cfg(test)]\nmod tests;\nx\n"
        );
        assert_eq!(variants_of_agents("x\nmatches!(agent, Agent::Pawwork(_))\n"), [2]);
        assert_eq!(variants_of_agents("agent.kind().has_server; Agent::program(steps)"), [0; 0]);
    }

    #[test]
    fn only_bodies_of_canons_are_looked_at() {
        let text = "trait A {\n    fn canon(&self, c: &mut Canon);\n}\nfn other(a: &A) {\n    let A { .. } = a;\n}\n\
                    impl B {\n    fn canon(&self) -> Vec<u8> {\n        self.all(|B { .. }| 1)\n    }\n}\n";
        assert_eq!(offences(text), (0, vec![]));
    }
}
