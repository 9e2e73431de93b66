//! The commands that print something and exit: `--version`, `models`, `auth list`, `session list`, `--help`.
//!
//! Invariant: what is printed is what the releases print, with the fake's own model and the sessions of its plan. It
//! was recorded of 1.2.27 and 1.18.33 in an empty home; times are in UTC, where the releases use the machine's zone.

use super::args::{Args, Command};
use super::engine::{Engine, Setup};
use super::release::Release;
use super::state::{Model, Session};
use crate::agent_host::AgentHost;
use crate::outgoing::Says;
use rehang_scenario::plan::Plan;
use serde_json::json;

const HELP: &str = "\
opencode

Commands:
  opencode [project]           start opencode tui                                          [default]
  opencode run [message..]     run opencode with a message
  opencode acp                 start ACP (Agent Client Protocol) server
  opencode serve               starts a headless opencode server
  opencode models [provider]   list all available models
  opencode auth list           list providers
  opencode session list        list sessions

Options:
  -h, --help      show help                                                                [boolean]
  -v, --version   show version number                                                      [boolean]
      --port      port to listen on                                            [number] [default: 0]
      --hostname  hostname to listen on                          [string] [default: \"127.0.0.1\"]
";

/// What this command prints; `None` for a command that starts an agent.
pub(super) fn of(release: &Release, plan: &Plan, args: &Args) -> Option<Says> {
    let says = |out: String| Some(Says::out(out));
    match args.command {
        Command::Version => says(format!("{}\n", release.version)),
        Command::Help => says(HELP.to_owned()),
        Command::Models => {
            let Model { provider, id } = Model::default();
            if args.prompt.is_empty() || args.prompt == provider {
                return says(format!("{provider}/{id}\n"));
            }
            let err = format!("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mProvider not found: {}\n", args.prompt);
            Some(Says::err(err, u8::from(release.fails_loudly)))
        }
        Command::Credentials => says(
            "┌  Credentials \u{1b}[90m~/.local/share/opencode/auth.json\u{1b}[0m\n│\n└  0 credentials\n\n".to_owned(),
        ),
        Command::Sessions => {
            let mut engine = Engine::new(release.clone(), Setup::default(), AgentHost::default());
            if let Some(stored) = &plan.stored {
                engine.restore(stored);
            }
            let roots: Vec<&Session> = engine.sessions().iter().filter(|one| one.parent.is_none()).collect();
            says(if args.json { listed(&roots) } else { table(&roots) })
        }
        Command::Run | Command::Serve | Command::Acp | Command::Interactive => None,
    }
}

/// `session list --format json`; empty if there is no session.
fn listed(sessions: &[&Session]) -> String {
    let one = |one: &&Session| {
        json!({ "id": one.id, "title": one.title, "updated": one.updated_ms, "created": one.created_ms,
            "projectId": "global", "directory": one.directory })
    };
    let all: Vec<_> = sessions.iter().map(one).collect();
    match all.as_slice() {
        [] => String::new(),
        all => serde_json::to_string_pretty(all).unwrap_or_default() + "\n",
    }
}

fn table(sessions: &[&Session]) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let widest = |of: fn(&Session) -> &str, least| {
        sessions.iter().map(|one| of(one).chars().count()).max().unwrap_or(0).max(least)
    };
    let (ids, titles) = (widest(|one| &one.id, 10), widest(|one| &one.title, 25));
    let head = format!("{:ids$}  {:titles$}  Updated", "Session ID", "Title");
    let mut out = format!("{head}\n{}\n", "─".repeat(head.chars().count() + 3));
    for one in sessions {
        let minutes = one.updated_ms / 60_000 % (24 * 60);
        let (hour, half) = (minutes / 60, if minutes < 12 * 60 { "AM" } else { "PM" });
        let at = format!("{}:{:02} {half}", (hour + 11) % 12 + 1, minutes % 60);
        out.push_str(&format!("{:ids$}  {:titles$}  {at}\n", one.id, one.title));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencode::args::parse;
    use rehang_scenario::agents::OPENCODE;
    use serde_json::Value;

    fn said(line: &str, stored: Option<Value>) -> (String, u8) {
        let stored = stored.map(|stored| stored.to_string());
        let args = parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let agent = OPENCODE.default_agent();
        let plan = Plan {
            agent,
            turns: Vec::new(),
            faults: Vec::new(),
            inside: Vec::new(),
            model_port: None,
            tools: None,
            stored,
        };
        let says = of(&Release::opencode("1.2.27").unwrap(), &plan, &args);
        says.map_or((String::new(), 255), |says| (says.out + &says.err, says.code))
    }

    #[test]
    fn each_prints_and_starts_no_agent() {
        assert_eq!(said("--version", None), ("1.2.27\n".to_owned(), 0));
        assert_eq!(said("models", None), ("rehang/script\n".to_owned(), 0));
        assert!(said("models nosuch", None).0.ends_with("Provider not found: nosuch\n"));
        assert!(said("auth list", None).0.contains("0 credentials"));
        assert_eq!(said("session list --format json", None), (String::new(), 0));
        assert_eq!(said("run models", None).1, 255);
    }

    #[test]
    fn sessions_are_listed_with_their_times() {
        let info = json!({ "id": "ses_1", "title": "probe", "directory": "/p",
            "time": { "created": 1_795_391_163_632_u64, "updated": 1_795_391_163_632_u64 } });
        let stored = json!([{ "info": info, "messages": [] }]);
        let (all, _) = said("session list --format json", Some(stored.clone()));
        let all: Value = serde_json::from_str(&all).unwrap();
        assert_eq!((&all[0]["updated"], &all[0]["directory"]), (&json!(1_795_391_163_632_u64), &json!("/p")));
        assert!(said("session list", Some(stored)).0.ends_with("probe                      11:46 PM\n"));
    }
}
