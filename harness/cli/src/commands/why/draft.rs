//! A scenario from a diagnosis: what hangs the same way.
//!
//! Invariant: every draft is a right file (`rehang check`), and without a strategy it hangs on the same thing as the
//! process. If the fakes cannot play it, an error says so, and no file is written.

use rehang_evidence::{Diagnosis, Look, Verdict, data::Agent};
use rehang_hangs::Mechanism;
use rehang_hangs::draft::{Play, Shown, quoted};

/// The draft, as TOML.
///
/// # Errors
/// It does not hang; the fakes cannot play what it hangs on.
pub fn draft(look: &Look) -> Result<String, String> {
    let diagnosis = &look.diagnosis;
    if diagnosis.verdict != Verdict::Hung {
        return Err(format!("no scenario: {}", diagnosis.sentence));
    }
    let agent = look.after.agents.iter().find(|agent| agent.pid == diagnosis.pid);
    text(diagnosis, agent)
}

fn text(diagnosis: &Diagnosis, agent: Option<&Agent>) -> Result<String, String> {
    let ask = agent.and_then(|agent| agent.asks.first());
    let shown = Shown {
        mechanism: diagnosis.mechanism,
        agent: agent.map_or("", |agent| &agent.name),
        question: ask.map_or("", |ask| &ask.text),
        options: ask.map_or(&[], |ask| &ask.options),
    };
    let Some(play) = (diagnosis.signature.facts().draft)(&shown) else {
        return Err(format!("no scenario: the fakes cannot play `{}`", diagnosis.signature));
    };
    let Play { agent, more, terminal, hung, control } = play;
    let (mechanism, terminal) = (diagnosis.mechanism.unwrap_or(Mechanism::Q1), terminal.name());
    let about = quoted(&format!("{}. Drafted by rehang why; {}", diagnosis.sentence, diagnosis.because));
    Ok(format!(
        "title     = {title}\nabout     = {about}\nmechanism = \"{mechanism}\"\nagent     = {agent}\nterminals = [\"{terminal}\"]\n{more}\n\
         [[expect]]\nstrategies = [\"none\"]\noutcome    = {{ hung = \"{hung}\" }}\n\n\
         # what every other strategy does here is for you to say: rehang run --scenarios FILE names those that act\n\
         [[expect]]\noutcome    = \"as none\"\n\n[control]\n{control}\n",
        title = quoted(&format!("Seen on a machine: {}", diagnosis.signature)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::select::Select;
    use rehang_evidence::data::Ask;
    use rehang_evidence::{Limits, Snapshot, diagnose};
    use rehang_hangs::Signature;
    use rehang_scenario::Stage;

    /// A hang of this signature.
    fn hang(signature: Signature, mechanism: Option<Mechanism>) -> Diagnosis {
        let none = Snapshot::default();
        let sentence = "it hangs “so” \"quoted\" \\ here".to_owned();
        let diagnosis = diagnose(&none, &none, &Limits::default());
        Diagnosis { verdict: Verdict::Hung, signature, mechanism, sentence, ..diagnosis }
    }

    #[test]
    fn every_draft_is_right_and_hangs_on_sim() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut drafted = 0;
        let all = Signature::ALL.iter().flat_map(|of| of.facts().mechanisms.iter().map(move |id| (*of, *id)));
        for ((signature, mechanism), name) in all.flat_map(|of| ["", "claude", "opencode"].map(|name| (of, name))) {
            let ask =
                Ask { text: "Which \"database\"?".to_owned(), options: vec!["sqlite".to_owned()], ..Ask::default() };
            let agent = Agent { name: name.to_owned(), asks: vec![ask], ..Agent::default() };
            let Ok(text) = text(&hang(signature, Some(mechanism)), Some(&agent)) else { continue };
            drafted += 1;
            let file = folder.path().join(format!("{signature}-{mechanism}-{name}.toml"));
            std::fs::write(&file, &text).expect("written");
            let select = Select { scenarios: vec![file], strategy: vec!["none".to_owned()], ..Select::default() };
            let selected = select.select(&[Stage::Sim]).expect("selected");
            assert!(selected.problems.is_empty(), "{signature} {mechanism}: {:?}\n{text}", selected.problems);
            let mut world = |stage| rehang_runner::kernel::kernel(stage, std::path::Path::new("/nowhere"));
            for unit in &selected.units {
                for cell in rehang_runner::unit::run(unit, &mut world).cells {
                    let row = cell.row.unwrap_or_else(|| panic!("{signature}: {:?}\n{text}", cell.fault));
                    assert!(row.expected, "{signature} {mechanism}: {} {:?}\n{text}", row.outcome, row.blocked_on);
                }
            }
        }
        assert!(drafted >= 70, "only {drafted} were drafted");
    }

    #[test]
    fn what_the_fakes_cannot_play_is_said() {
        let cannot = "no scenario: the fakes cannot play `file-lock`".to_owned();
        assert_eq!(text(&hang(Signature::FileLock, Some(Mechanism::R2)), None), Err(cannot));
    }
}
