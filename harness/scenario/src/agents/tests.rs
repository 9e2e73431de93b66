use super::*;
use crate::playable::is_playable;
use crate::{Loaded, load};
use serde_json::Value;

fn file(agent: &str) -> String {
    format!("title = \"T\"\nmechanism = \"F1\"\nagent = {agent}\n")
}

fn loaded(agent: &str) -> Loaded {
    load("x.toml", file(agent).as_bytes())
}

/// What the schema says of an agent, by its word in a file.
fn schema_of(word: &str) -> Value {
    let schema = serde_json::to_value(schemars::schema_for!(Agent)).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    let own = variants.iter().map(|variant| &variant["properties"][word]).find(|own| !own.is_null());
    let own = own.unwrap_or_else(|| panic!("the schema has no agent `{word}`")).clone();
    match own["$ref"].as_str() {
        Some(name) => schema["$defs"][name.trim_start_matches("#/$defs/")].clone(),
        None => own,
    }
}

#[test]
fn words_and_programs_are_unique() {
    let words = ALL.map(|kind| kind.word);
    let mut programs: Vec<&str> = ALL.iter().flat_map(|kind| kind.programs).copied().collect();
    assert_eq!(words.iter().collect::<std::collections::BTreeSet<_>>().len(), words.len());
    let count = programs.len();
    programs.sort_unstable();
    programs.dedup();
    assert_eq!(programs.len(), count);
    for kind in ALL {
        assert_eq!(AgentKind::of_program(kind.fake()), Some(kind));
    }
    assert_eq!(AgentKind::of_program("ls"), None);
}

#[test]
fn the_schema_has_exactly_these_agents_releases_modes_and_flags() {
    let schema = serde_json::to_value(schemars::schema_for!(Agent)).unwrap();
    assert_eq!(schema["oneOf"].as_array().map(Vec::len), Some(ALL.len()));
    for kind in ALL {
        let own = schema_of(kind.word);
        let listed = (!kind.releases.is_empty()).then(|| Value::from(kind.releases));
        assert_eq!(own["properties"]["as"].get("enum"), listed.as_ref(), "{kind:?}");
        if let Some(flag) = kind.flag {
            assert_eq!(own["properties"][flag]["type"], "boolean", "{kind:?}");
        }
    }
}

#[test]
fn a_file_can_name_exactly_these_releases() {
    for kind in ALL.into_iter().filter(|kind| kind.has_model) {
        for release in kind.releases {
            let one = loaded(&format!("{{ {} = {{ as = \"{release}\" }} }}", kind.word));
            assert!(one.problems.is_empty(), "{kind:?} {release}");
            assert_eq!(one.family.unwrap().variants[0].scenario.agent.release(), Some(*release));
        }
        assert!(!loaded(&format!("{{ {} = {{ as = \"0.0.1\" }} }}", kind.word)).problems.is_empty(), "{kind:?}");
        assert!(kind.releases.is_empty() || kind.releases.contains(&kind.default_release), "{kind:?}");
    }
}

#[test]
fn a_file_that_says_no_more_than_the_kind_has_its_default() {
    for kind in ALL {
        let nothing = if kind.has_model { "{}" } else { "[]" };
        let family = loaded(&format!("{{ {} = {nothing} }}", kind.word)).family.unwrap();
        let scenario = &family.variants[0].scenario;
        assert_eq!(scenario.agent, kind.default_agent());
        assert_eq!(scenario.agent.kind(), kind);
        assert!(is_playable(scenario));
    }
}

#[test]
fn what_is_chosen_is_what_an_agent_says_of_itself() {
    for kind in ALL {
        for &mode in kind.modes {
            let release = kind.releases.first().copied().unwrap_or(kind.default_release);
            let agent = kind.agent(&Settings { release, mode, client: Client::Resync, flag: true });
            assert_eq!((agent.kind(), agent.mode()), (kind, Some(mode)));
            assert_eq!(agent.release(), kind.releases.first().copied());
            assert_eq!(agent.client(), kind.has_server.then_some(Client::Resync));
            let text = serde_json::to_value(&agent).unwrap();
            let fields = &text[kind.word];
            if kind.modes.len() > 1 {
                assert_eq!(fields["mode"], mode.word, "{kind:?}");
            }
            if let Some(flag) = kind.flag {
                assert_eq!(fields[flag], true, "{kind:?}");
            }
            let mut other = kind.default_agent();
            other.set_mode(mode);
            assert_eq!(other.mode(), Some(mode));
        }
    }
}
