//! What a caller may set, as JSON.
//!
//! Invariant: a name that is not known is an error, so that a typing error is not ignored.

use crate::Error;
use rehang_evidence::{AgentNames, Limits};
use rehang_strategy::{Stack, Terminal, stack};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// The longest window of a look, in milliseconds: a minute.
const MAX_WINDOW_MS: u64 = 60_000;

/// The options of [`why`](crate::why).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WhyOptions {
    /// Programs that count as agents, though rehang does not know them.
    pub agents: Vec<String>,
    /// Whether agents' servers are asked, and agents' own records are read.
    pub ask: bool,
    /// How long to look, in milliseconds; at most a minute.
    pub window_ms: u64,
    /// How long a connection must bring no byte to count as silent, in milliseconds.
    pub silent_ms: u64,
}

impl Default for WhyOptions {
    fn default() -> WhyOptions {
        WhyOptions { agents: Vec::new(), ask: true, window_ms: 1_000, silent_ms: Limits::default().silent_ms }
    }
}

impl WhyOptions {
    pub(crate) fn names(&self) -> Result<AgentNames, Error> {
        AgentNames::new(&self.agents).map_err(|error| Error::Usage(error.to_string()))
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits { silent_ms: self.silent_ms }
    }

    pub(crate) fn window(&self) -> Result<Duration, Error> {
        match self.window_ms {
            0..=MAX_WINDOW_MS => Ok(Duration::from_millis(self.window_ms)),
            ms => Err(Error::Usage(format!("window_ms is {ms}; it may be at most {MAX_WINDOW_MS}"))),
        }
    }
}

/// How the process's stdin is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    /// `/dev/null`.
    Null,
    /// A pipe that the caller holds.
    Pipe,
    /// A pipe whose other end is closed.
    Closed,
    /// A terminal; stdout and stderr are that terminal too.
    Terminal,
    /// The caller's own, whatever that is: guard never closes it.
    Inherited,
}

impl Stdin {
    pub(crate) fn terminal(self) -> Terminal {
        match self {
            Stdin::Null => Terminal::Null,
            Stdin::Pipe | Stdin::Inherited => Terminal::Pipe,
            Stdin::Closed => Terminal::Closed,
            Stdin::Terminal => Terminal::Tty,
        }
    }
}

/// The options of a [`Guard`](crate::Guard).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardOptions {
    /// The strategies, as `rehang supervise --strategy` takes them.
    pub strategies: Vec<String>,
    /// How its stdin is connected.
    pub stdin: Stdin,
    /// Whether its stderr is its stdout (`2>&1`).
    pub one_stream: bool,
    /// Programs that count as agents, though rehang does not know them.
    pub agents: Vec<String>,
    /// Whether agents' servers are asked; agents' own records are read in any case.
    pub ask: bool,
    /// How many times as fast as now the strategies' clock goes: 1, but in tests.
    pub pace: u32,
}

impl Default for GuardOptions {
    fn default() -> GuardOptions {
        GuardOptions {
            strategies: vec!["guard".to_owned()],
            stdin: Stdin::Null,
            one_stream: false,
            agents: Vec::new(),
            ask: true,
            pace: 1,
        }
    }
}

impl GuardOptions {
    pub(crate) fn names(&self) -> Result<AgentNames, Error> {
        AgentNames::new(&self.agents).map_err(|error| Error::Usage(error.to_string()))
    }

    pub(crate) fn stacks(&self) -> Result<Vec<Stack>, Error> {
        let stacks = self.strategies.iter().map(|text| stack(text).map_err(|error| Error::Usage(error.to_string())));
        stacks.collect()
    }
}

/// Reads options; no text is the default.
///
/// # Errors
/// It is no JSON object, or has a name or a value that is not known.
pub(crate) fn read<T: Default + for<'a> Deserialize<'a>>(text: Option<&str>) -> Result<T, Error> {
    let wrong = |error: serde_json::Error| Error::Usage(format!("the options are wrong: {error}"));
    let Some(text) = text else { return Ok(T::default()) };
    // a list would be taken as the values of the fields
    let object: Map<String, Value> = serde_json::from_str(text).map_err(wrong)?;
    T::deserialize(Value::Object(object)).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong<T: Default + std::fmt::Debug + for<'a> Deserialize<'a>>(text: &str) -> String {
        read::<T>(Some(text)).expect_err(text).to_string()
    }

    #[test]
    fn what_is_not_known_is_said() {
        assert!(read::<WhyOptions>(None).is_ok_and(|options| options.ask && options.window_ms == 1_000));
        assert!(read::<GuardOptions>(Some(r#"{"stdin":"pipe"}"#)).is_ok_and(|options| options.stdin == Stdin::Pipe));
        assert!(wrong::<WhyOptions>(r#"{"windw_ms":1}"#).contains("unknown field `windw_ms`"));
        assert!(wrong::<GuardOptions>(r#"{"stdin":"pip"}"#).contains("unknown variant `pip`"));
        assert!(wrong::<GuardOptions>("[").starts_with("the options are wrong: "));
        let long = WhyOptions { window_ms: 60_001, ..WhyOptions::default() };
        assert!(long.window().is_err_and(|error| error.to_string().contains("at most 60000")));
        let unknown = GuardOptions { strategies: vec!["gard".to_owned()], ..GuardOptions::default() };
        assert!(unknown.stacks().is_err_and(|error| error.to_string().contains("gard")));
        let nameless = WhyOptions { agents: vec![String::new()], ..WhyOptions::default() };
        assert!(nameless.names().is_err());
    }
}
