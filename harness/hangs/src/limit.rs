//! How long guard lets a finding last before it ends something.

/// A class of limit. Guard has the time of each class; a user may set those of a person, a model and a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitClass {
    /// Nobody alive or out of sight can end the state.
    ClosedIn,
    /// The process that could end the state is in sight, and does nothing for it.
    Closed,
    /// The process waits for nothing, and has no timer left.
    Endless,
    /// The agent may still end its tool: above the limits that bash tools have of their own.
    Held,
    /// Somebody stopped the process, and may continue it.
    Stopped,
    /// A person may come.
    Person,
    /// The model, or another peer, may send something.
    Model,
    /// The limit of the tool may end its command.
    Tool,
}

/// How long a finding may last, and what guard reports when it has lasted for that long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// How long it may last.
    pub class: LimitClass,
    /// The text of guard's report. It names no time, since that depends on whether the agent is closed in.
    pub report: &'static str,
    /// Why the limit is as long as it is, for guard's page.
    pub because: &'static str,
}

/// The limits of one signature for the agent, or for a process below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The limit of a certain finding, if it is another one than that of a likely finding.
    pub certain: Option<Limit>,
    /// The limit of a finding that is at least likely; `None` if such a finding ends nothing.
    pub likely: Option<Limit>,
}

impl Limits {
    /// A finding that ends nothing.
    pub(crate) const NONE: Limits = Limits { certain: None, likely: None };

    /// The limit of findings that are at least likely.
    pub(crate) const fn likely(class: LimitClass, report: &'static str, because: &'static str) -> Limits {
        Limits { certain: None, likely: Some(Limit { class, report, because }) }
    }

    /// The same with another limit for certain findings.
    pub(crate) const fn certain(self, class: LimitClass, report: &'static str, because: &'static str) -> Limits {
        Limits { certain: Some(Limit { class, report, because }), likely: self.likely }
    }
}

/// Why the limit of a tool's command is as long as it is.
pub(crate) const LONGEST_TOOL: &str = "the longest limit on record for a tool is an hour";
/// Why a process below the agent has ten minutes.
pub(crate) const ABOVE_TOOLS: &str = "above the bash tools' own limits";
/// The same, where the agent may end its tool.
pub(crate) const AGENT_MAY_GO_ON: &str = "above the bash tools' own limits: the agent may end its tool and go on";
/// Why a state of an agent has the time of a model.
pub(crate) const AS_A_MODEL: &str = "the same limit as for a silent model";
