//! The recordings: their labels follow from the scenarios, and the tables of `docs/screens.md` from them.

use rehang_screens::{
    Detector, Label, Moment, Recording, Recordings, Says, Score, label, mask_line, mask_sentence, page_tables,
};
use std::path::{Path, PathBuf};

/// The first heading of the page that is made from the recordings.
const TABLES: &str = "## What is recorded\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn all() -> Vec<Recordings> {
    Recordings::all(&root().join("harness/screens/recordings")).unwrap_or_else(|error| panic!("{error}"))
}

/// The label is made again from the scenario and from what the model and the process table saw, and never from the screen.
#[test]
fn each_label_is_from_its_scenario() {
    let mut count = 0;
    for of in all() {
        for recording in &of.moments {
            let name = format!("{} {} {}", of.agent, of.version, recording.moment.name());
            let scenario = recording.moment.scenario(1).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(recording.label, label(&scenario, &recording.seen), "{name}");
            assert_eq!(recording.label, recording.moment.label(), "{name}");
            assert!(recording.moment.is_reached(&recording.seen), "{name}: {:?}", recording.seen);
            count += 1;
        }
    }
    assert!(count > 0, "there are recordings");
}

/// What was seen decides: the same scenario has another label before its request, after its answer, and if it stalls.
#[test]
fn what_was_seen_decides_the_label() {
    let of = |moment: Moment| {
        let found = all().into_iter().find_map(|of| of.moments.into_iter().find(|known| known.moment == moment));
        let recording = found.unwrap_or_else(|| panic!("{} is recorded", moment.name()));
        (moment.scenario(1).unwrap_or_else(|why| panic!("{why}")), recording.seen)
    };
    let (permission, asked) = of(Moment::Permission);
    assert_eq!(label(&permission, &asked), Label::Asking);
    assert_eq!(label(&permission, &rehang_screens::Seen { tool_runs: true, ..asked }), Label::Working);
    assert_eq!(label(&permission, &rehang_screens::Seen { requests: 2, ..asked }), Label::Waiting);
    let (stuck, half) = of(Moment::StuckStream);
    let (paused, _) = of(Moment::StreamPaused);
    assert_eq!((label(&stuck, &half), label(&paused, &half)), (Label::Stuck, Label::Working));
}

#[test]
fn the_page_has_what_the_recordings_give() {
    let path = root().join("docs/screens.md");
    let text = std::fs::read_to_string(&path).expect("there is the page");
    let (head, shown) = text.split_at(text.find(TABLES).expect("the page has the heading"));
    let due = page_tables(&all());
    if shown != due && std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{head}{due}")).expect("the page can be written");
    }
    assert!(shown == due, "UPDATE_EXPECT=1 cargo test -p rehang-screens writes the tables anew");
}

/// What is read and written again is the same, byte for byte, and nothing in it changes from run to run.
#[test]
fn a_file_is_written_in_one_way_only() {
    let folder = root().join("harness/screens/recordings");
    let again = std::env::temp_dir().join(format!("rehang-screens-again-{}", std::process::id()));
    for mut of in all() {
        for recording in &of.moments {
            assert_eq!(recording.why.sentence, mask_sentence(&recording.why.sentence));
            recording.screen.iter().for_each(|line| assert_eq!(*line, mask_line(line)));
        }
        let path = of.write(&again).unwrap_or_else(|error| panic!("{error}"));
        let (new, old) = (std::fs::read_to_string(path), std::fs::read_to_string(of.path(&folder)));
        assert!(new.is_ok_and(|new| old.is_ok_and(|old| old == new)), "{} {}", of.agent, of.version);
    }
    std::fs::remove_dir_all(again).expect("the folder is there");
}

/// Each program's rules are for a screen like this: a rule that was copied wrongly would not see it.
#[test]
fn a_detector_sees_what_it_is_made_for() {
    let base = all().remove(0).moments.remove(0);
    let says = |detector: Detector, agent: &str, screen: &str, title: &str| {
        let screen = screen.lines().map(str::to_owned).collect();
        let title = title.to_owned();
        detector.says(agent, &Recording { screen, title, still_ms: 60_000, still_styled_ms: 60_000, ..base.clone() })
    };
    let rule = "─".repeat(80);
    let prompt = format!("{rule}\n❯\n{rule}\n  ? for shortcuts");
    let (cc, herdr, squad) = (Detector::Ccmanager, Detector::Herdr, Detector::ClaudeSquad);
    assert_eq!(says(cc, "claude", &format!("● text\n\n✻ Pondering… (3s)\n\n{prompt}"), ""), Says::Working);
    assert_eq!(says(cc, "claude", &format!("● text\n\n{prompt}"), ""), Says::Idle);
    assert_eq!(says(cc, "claude", "Do you want to proceed?\n❯ 1. Yes\n  2. No\n\nEsc to cancel", ""), Says::Asking);
    assert_eq!(says(cc, "codex", "• Working (3s • esc to interrupt)\n\n› text", ""), Says::Working);
    assert_eq!(says(cc, "codex", "Would you like to run it?\n\n› 1. Yes, proceed (y)", ""), Says::Asking);
    assert_eq!(says(cc, "gemini", "⠼ Thinking... (esc to cancel, 5s)", ""), Says::Working);
    assert_eq!(says(cc, "opencode", "  ⬝⬝⬝⬝  esc interrupt", ""), Says::Working);
    assert_eq!(says(cc, "opencode", "△ Permission required", ""), Says::Asking);
    assert_eq!(says(herdr, "claude", &prompt, "⠂ Claude Code"), Says::Working);
    assert_eq!(says(herdr, "claude", &prompt, "✳ Claude Code"), Says::Idle);
    let asks = "Bash command\n step1\nDo you want to proceed?\n❯ 1. Yes\n  2. No\nEsc to cancel · Tab to amend";
    assert_eq!(says(herdr, "claude", asks, "✳ Claude Code"), Says::Asking);
    assert_eq!(says(herdr, "codex", "› text", "⠼ project"), Says::Working);
    assert_eq!(says(herdr, "codex", "› text", "project"), Says::Idle);
    assert_eq!(says(herdr, "codex", "text", "[ ! ] Action Required | project"), Says::Asking);
    assert_eq!(says(herdr, "gemini", "⠼ Thinking... (esc to cancel, 5s)", ""), Says::Working);
    assert_eq!(says(herdr, "opencode", "  ■■■⬝⬝⬝⬝⬝  esc interrupt", ""), Says::Working);
    assert_eq!(
        says(squad, "claude", "❯ 1. Yes\n  3. No, and tell Claude what to do differently (esc)", ""),
        Says::Asking
    );
    assert_eq!(says(squad, "codex", "› text", ""), Says::Idle);
    assert_eq!(says(Detector::Agentapi, "codex", "› text", ""), Says::Idle);
}

#[test]
fn a_score_counts_each_moment_once() {
    let all = all();
    let moments = || all.iter().flat_map(|of| of.moments.iter().map(|recording| (of.agent.as_str(), recording)));
    for detector in Detector::ALL {
        let score = Score::of(detector, moments());
        assert_eq!(score.all(), moments().count());
        assert!(score.right() + score.false_idle() + score.false_working() <= score.all());
    }
}
