//! A scenario from a diagnosis: what hangs the same way.
//!
//! Invariant: every draft is a right file (`rehang check`), and under no strategy it hangs where the process hung.

use rehang_probe::{Look, Verdict};

/// The draft, as TOML.
pub fn draft(look: &Look) -> Result<String, String> {
    let diagnosis = &look.diagnosis;
    if diagnosis.verdict != Verdict::Hung {
        return Err(format!("no scenario: {}", diagnosis.sentence));
    }
    Err(format!("no scenario can be drafted from `{}` yet", diagnosis.signature))
}
