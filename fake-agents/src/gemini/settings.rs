//! What is set for it outside of its command line, and the exit codes of what is wrong there (recorded, and the names of
//! the errors are those of errors.js): `GEMINI_CLI_HOME` or `GEMINI_CLI_SYSTEM_SETTINGS_PATH`, `GEMINI_CLI_TRUST_WORKSPACE`,
//! and `PATH`.
//!
//! Invariant: the settings of a person, in `~/.gemini`, are never read; on a stage, whose processes have no disk, there are
//! no settings and no containers.

use super::release::Release;
use rehang_os::os::Os;
use serde_json::Value;

/// `FatalSandboxError`.
pub const NO_SANDBOX: u8 = 44;
/// `FatalConfigError`.
pub const NOT_READ: u8 = 52;
/// `FatalTurnLimitedError`.
pub const TURNS: u8 = 53;
/// `FatalUntrustedWorkspaceError`.
pub const UNTRUSTED: u8 = 55;

/// The settings that have an effect.
#[derive(Debug, Default)]
pub struct Settings {
    /// `model.maxSessionTurns`; a negative number is none.
    pub turns_max: Option<usize>,
}

/// Reads them.
///
/// # Errors
/// A file that is no JSON: what it says of that. (The real one also takes comments.)
pub fn read(os: &dyn Os, release: &Release) -> Result<Settings, String> {
    let path = match release.has_home {
        true => os.env("GEMINI_CLI_HOME").map(|home| format!("{home}/.gemini/settings.json")),
        false => os.env("GEMINI_CLI_SYSTEM_SETTINGS_PATH"),
    };
    let Some((path, text)) = path.and_then(|path| os.file(&path).map(|text| (path, text))) else {
        return Ok(Settings::default());
    };
    let all: Value = serde_json::from_str(&text).map_err(|error| {
        format!("\u{1b}[31mError in {path}: {error}\nPlease fix the configuration file(s) and try again.\u{1b}[0m")
    })?;
    Ok(Settings { turns_max: all["model"]["maxSessionTurns"].as_u64().and_then(|max| usize::try_from(max).ok()) })
}

/// Whether its folder is one that it must not trust.
pub fn is_untrusted(os: &dyn Os) -> bool {
    os.env("GEMINI_CLI_TRUST_WORKSPACE").as_deref() == Some("false")
}

/// Whether there is a program that runs containers.
pub fn has_container(os: &dyn Os) -> bool {
    let path = os.env("PATH").unwrap_or_default();
    let has = |folder: &str| os.entries(folder).iter().any(|name| name == "docker" || name == "podman");
    path.split(':').any(has)
}
