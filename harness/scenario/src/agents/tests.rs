use super::*;
use crate::playable::is_playable;
use crate::{Loaded, load};
use expect_test::expect;
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

/// What the fakes, the reports and the importers rely on for each agent.
#[test]
fn what_is_known_of_each_agent() {
    use std::fmt::Write as _;
    let mut all = String::new();
    for kind in ALL {
        let does = [(kind.has_model, "model"), (kind.has_server, "server"), (kind.has_front_end, "front end")];
        let does: Vec<&str> = does.into_iter().filter(|(has, _)| *has).map(|(_, what)| what).collect();
        let AgentKind { word, title, short, default_release, flag, .. } = *kind;
        let programs = kind.programs.join(" ");
        let _ = writeln!(all, "{word}: {title}, {short}; {programs}; {default_release} {flag:?}; {does:?}");
        for mode in kind.modes {
            let wires: Vec<&str> = mode.wires.iter().map(|wire| wire.name()).collect();
            let _ = writeln!(all, "  {} ({:?}): {}; {}", mode.word, mode.form, mode.title, wires.join(", "));
        }
        kind.args.iter().for_each(|args| {
            let _ = writeln!(all, "  {}", args.join(" "));
        });
    }
    expect![[r#"
        claude: Claude Code, claude; fake-claude claude; 2.0.77 None; ["model"]
          print (Run): claude -p; a process, the inside of a Claude Code, the inside of a one-shot run
          json (Run): claude -p with messages out; a process, the inside of a Claude Code, the inside of a one-shot run
          stream-json (Stdin): claude with messages both ways; a process, Claude's stream-json both ways, the inside of a Claude Code
          interactive (Interactive): claude on a terminal; a process, the inside of a Claude Code
          sdk (Stdin): claude, with a client of the Claude Agent SDK at its stdin; a process
          --permission-prompt-tool stdio
          --permission-prompt-tool stdio
          --dangerously-skip-permissions
          --allowedTools Bash
          --disallowedTools Bash
          --disallowedTools AskUserQuestion
          --permission-mode plan
          --permission-mode dontAsk
          --permission-mode acceptEdits
        opencode: opencode, opencode; fake-opencode opencode; 1.2.15 None; ["model", "server"]
          run (Run): run; a process, the inside of an opencode, the inside of a one-shot run
          serve (Serve): serve; opencode's HTTP, the inside of an opencode
          interactive (Interactive): an interactive session; a process, the inside of an opencode
          acp (Stdin): acp, with an editor at its stdin; a process, the inside of an opencode
          --auto
          --dangerously-skip-permissions
          --port 0
          --yolo
        altimate: altimate-code, altimate-code; fake-altimate altimate; 0.8.10 Some("attach"); ["model", "server"]
          run (Run): run; a process, the inside of an opencode, the inside of a one-shot run
          serve (Serve): serve; opencode's HTTP, the inside of an opencode
          interactive (Interactive): an interactive session; a process, the inside of an opencode
          --auto
          --dangerously-skip-permissions
          --port 0
          --yolo
        pawwork: PawWork, PawWork; fake-pawwork pawwork; 1.0.0 Some("reasoning"); ["model", "server", "front end"]
          serve (Serve): serve; opencode's HTTP, PawWork's HTTP, the inside of an opencode
          --auto
          --dangerously-skip-permissions
          --port 0
          --yolo
        codex: Codex, codex; fake-codex codex; 0.169.0 None; ["model"]
          exec (Run): codex exec; a process
          json (Run): codex exec with events out; a process
          app-server (Stdin): codex app-server, with an editor at its stdin; a process
          --sandbox workspace-write
          --dangerously-bypass-approvals-and-sandbox
          -c model_providers.fake.stream_max_retries=0
        gemini: Gemini CLI, gemini; fake-gemini gemini; 0.29.0 None; ["model"]
          print (Run): gemini -p; a process
          json (Run): gemini -p with an object at the end; a process
          stream-json (Run): gemini -p with events out; a process
          interactive (Interactive): gemini with a positional prompt; a process
          --yolo
          --approval-mode auto_edit
        program: a plain program, a plain program; fake-tool;  None; []
    "#]].assert_eq(&all);
}

#[test]
fn what_depends_on_the_release_or_on_the_mode() {
    let of = |agent: &str| loaded(agent).family.unwrap().variants[0].scenario.agent.clone();
    let releases = |kind: &AgentKind, what: fn(&Agent) -> bool| -> Vec<&str> {
        let agent = |release: &str| of(&format!("{{ {} = {{ as = \"{release}\" }} }}", kind.word));
        kind.releases.iter().copied().filter(|release| what(&agent(release))).collect()
    };
    assert_eq!(releases(&OPENCODE, Agent::has_legacy_replies), ["1.0.185"]);
    assert_eq!(releases(&OPENCODE, Agent::gives_silence_up), ["1.18.33"]);
    assert_eq!(releases(&CLAUDE, Agent::gives_silence_up), CLAUDE.releases);
    assert_eq!(releases(&CODEX, Agent::gives_silence_up), CODEX.releases);
    assert!(releases(&CLAUDE, Agent::has_legacy_replies).is_empty());
    for (agent, serves, driven, reasons) in [
        ("{ claude = {} }", false, false, false),
        ("{ claude = { mode = \"stream-json\" } }", false, true, false),
        ("{ opencode = { mode = \"serve\" } }", true, false, false),
        ("{ pawwork = {} }", true, false, false),
        ("{ pawwork = { reasoning = true } }", true, false, true),
        ("{ program = [] }", false, false, false),
    ] {
        let agent = of(agent);
        assert_eq!((agent.serves(), agent.is_driven(), agent.is_reasoning()), (serves, driven, reasons), "{agent:?}");
    }
    let mut agent = of("{ opencode = {} }");
    agent.set_release("1.3.2");
    assert_eq!(agent.release(), Some("1.3.2"));
    let mut agent = of("{ claude = {} }");
    agent.set_release("1.0.128");
    assert_eq!(agent.release(), Some("1.0.128"));
}

#[test]
fn a_program_that_prints_messages_speaks_them() {
    let wires = |steps: &str| {
        let agent = loaded(&format!("{{ program = [{steps}] }}")).family.unwrap().variants[0].scenario.agent.clone();
        assert!(agent.steps().is_some());
        agent.wires()
    };
    assert_eq!(wires("{ print = \"hello\" }"), [Wire::Process]);
    assert_eq!(wires("{ print = '{\"type\":\"system\"}' }"), [Wire::Process, Wire::ClaudeStream]);
}

#[test]
fn agents_are_in_the_order_of_the_list() {
    let mut kinds = [&PROGRAM, &OPENCODE, &CLAUDE];
    kinds.sort();
    assert_eq!(kinds, [&CLAUDE, &OPENCODE, &PROGRAM]);
    assert_eq!(format!("{kinds:?}"), "[claude, opencode, program]");
    let spoken_to = [Form::Run, Form::Stdin, Form::Serve, Form::Interactive].map(Form::is_spoken_to);
    assert_eq!(spoken_to, [false, true, true, false]);
}

#[test]
fn an_agent_takes_only_what_its_kind_has() {
    let settings =
        |kind: &AgentKind, mode| Settings { release: kind.default_release, mode, client: Client::Events, flag: false };
    for kind in ALL {
        let mut agent = kind.default_agent();
        assert_eq!(agent.steps().is_some(), !kind.has_model, "{kind:?}");
        // a mode of another kind is its default
        let foreign = Mode { word: "xyzzy", ..PAWWORK_SERVE };
        if kind.modes.len() > 1 {
            agent.set_mode(*kind.modes.last().unwrap());
            assert_eq!(agent.mode(), kind.modes.last().copied());
            assert_ne!(agent.mode(), kind.modes.first().copied());
        }
        agent.set_mode(foreign);
        assert_eq!(agent.mode(), kind.modes.first().copied(), "{kind:?}");
        assert_eq!(agent.form(), kind.modes.first().map_or(Form::Run, |mode| mode.form), "{kind:?}");
        assert_eq!(kind.agent(&settings(kind, foreign)).mode(), agent.mode(), "{kind:?}");
        agent.set_release("9.9");
        assert_eq!(agent.release(), (!kind.releases.is_empty()).then_some("9.9"), "{kind:?}");
        assert_eq!(
            agent.wires(),
            kind.modes.first().map_or(vec![Wire::Process], |mode| mode.wires.to_vec()),
            "{kind:?}"
        );
        for name in kind.programs {
            assert_eq!(AgentKind::of_program(name), Some(kind));
        }
        assert_eq!(kind.fake(), kind.programs[0]);
    }
    let mut program = Agent::program(vec![Step::Hold]);
    program.steps_mut().expect("steps").push(Step::Spin);
    assert_eq!(program.steps(), Some(&[Step::Hold, Step::Spin][..]));
    for kind in ALL.into_iter().filter(|kind| kind.has_model) {
        assert_eq!(kind.default_agent().steps_mut(), None);
        assert_eq!(kind.default_agent().client(), kind.has_server.then(Client::default));
    }
}

#[test]
fn kinds_are_equal_and_ordered_by_what_they_are() {
    for (i, one) in ALL.iter().enumerate() {
        for (j, other) in ALL.iter().enumerate() {
            assert_eq!(one == other, i == j);
            assert_eq!((one.cmp(other), one.partial_cmp(other)), (i.cmp(&j), Some(i.cmp(&j))));
        }
    }
    let playable = |agent: &str| {
        is_playable(&load("x.toml", (file(agent) + "runs = 1\n").as_bytes()).family.unwrap().variants[0].scenario)
    };
    assert!(playable("{ program = [\"hold\"] }") && !playable("{ program = [{ raise = \"XYZ\" }] }"));
}
