//! The behaviours of hooks and of the control protocol, for the persona's list.

use crate::claude::behaviours::Known::{Read, Recorded};
use crate::claude::behaviours::{ALL, Behaviour, V1, V2, V21, b};

/// They are part of [`crate::claude::behaviours`].
pub(in crate::claude) const BEHAVIOURS: &[Behaviour] = &[
    b(
        "hooks of the settings: when each runs, and that what it prints is not shown",
        ALL,
        Recorded,
        "scenario/hooks-all",
    ),
    b(
        "system/hook_started and hook_response of each settings hook, with --include-hook-events",
        &[V21],
        Recorded,
        "scenario/hooks-all-events, scenario/hook-event-block, scenario/hook-event-fails",
    ),
    b(
        "a PreToolUse hook that exits with 2 or says deny: the call is refused with its text",
        ALL,
        Recorded,
        "scenario/hook-pre-block, scenario/hook-pre-deny",
    ),
    b(
        "another exit code, or a matcher that does not fit, decides nothing",
        ALL,
        Recorded,
        "scenario/hook-pre-fails, scenario/hook-pre-other",
    ),
    b("a PreToolUse hook that says allow: nobody is asked", ALL, Recorded, "scenario/hook-pre-allow"),
    b(
        "a PreToolUse hook that says ask is not heard in bypassPermissions",
        &[V1, V2],
        Recorded,
        "scenario/hook-pre-ask",
    ),
    b("a PreToolUse hook that says ask, and nobody can be: denied", &[V21], Recorded, "scenario/hook-pre-ask"),
    b(
        "a PermissionRequest hook decides of a call that nobody can be asked about; if none does, it is refused",
        &[V21],
        Recorded,
        "scenario/hook-nobody-asked, scenario/hook-ask-deny, scenario/hook-ask-none",
    ),
    b("no PermissionRequest hooks", &[V1, V2], Recorded, "scenario/hook-nobody-asked-older"),
    b("a hook that says `continue: false`: the turn ends after the call", ALL, Recorded, "scenario/hook-pre-stop"),
    b(
        "a hook that does not end is given up after its timeout, and what waited goes on",
        ALL,
        Recorded,
        "scenario/hook-pre-limit, scenario/hook-prompt-hold, scenario/hook-stop-hold",
    ),
    b("a hook without a timeout is given up after 60 s", &[V1, V2], Recorded, "scenario/hook-start-hold"),
    b("a hook without a timeout is given up after 10 min", &[V21], Read, "its own messages; recorded up to 60 s"),
    b(
        "a SessionEnd hook that does not end does not keep it from exiting (after 1.5 s, which is not compared)",
        &[V21],
        Recorded,
        "scenario/hook-end-hold",
    ),
    b(
        "a SessionEnd hook that does not end holds the exit for 60 s",
        &[V1, V2],
        Read,
        "recorded up to where the run was judged as hung",
    ),
    b("hooks of one event run at the same time", ALL, Recorded, "scenario/hook-two"),
    b("a hook is told its event on its stdin, which then ends", ALL, Recorded, "scenario/hook-stdin"),
    b("a hook that prints more than a pipe holds is read", ALL, Recorded, "scenario/hook-much"),
    b("a hook whose child holds its pipes is waited for", &[V1, V2], Recorded, "scenario/hook-leaves"),
    b("a hook is over with its process, whoever holds its pipes", &[V21], Recorded, "scenario/hook-leaves"),
    b("a PostToolUse hook that exits with 2 is told to the model alone", ALL, Recorded, "scenario/hook-post-block"),
    b(
        "a UserPromptSubmit hook that blocks ends the turn with nothing",
        &[V1, V2],
        Recorded,
        "scenario/hook-prompt-block, scenario/hook-prompt-json, scenario/io-hook-prompt-block",
    ),
    b(
        "a UserPromptSubmit hook that blocks ends the turn with its text",
        &[V21],
        Recorded,
        "scenario/hook-prompt-block, scenario/hook-prompt-json, scenario/io-hook-prompt-block",
    ),
    b(
        "a Stop hook that blocks sends the model back to work, without a limit",
        &[V1, V2],
        Recorded,
        "scenario/hook-stop-again, scenario/io-hook-stop-block",
    ),
    b(
        "a Stop hook that blocks sends the model back to work, eight times in a row at most",
        &[V21],
        Recorded,
        "scenario/hook-stop-again, scenario/hook-stop-block, scenario/io-hook-stop-block",
    ),
    b(
        "callbacks that a host names in initialize: hook_callback, key by key, and its replies",
        ALL,
        Recorded,
        "scenario/io-hooks, scenario/io-hook-deny",
    ),
    b("a callback that fails counts as one without an answer", ALL, Recorded, "scenario/io-hook-error"),
    b("a callback is waited for without limit, whatever its timeout says", &[V1], Recorded, "scenario/io-hook-limit"),
    b("a callback is given up after its timeout, and the call runs", &[V2], Recorded, "scenario/io-hook-limit"),
    b(
        "a callback is given up after its timeout, and the call does not run",
        &[V21],
        Recorded,
        "scenario/io-hook-limit",
    ),
    b("stdin's end while a callback is awaited: the call runs", &[V1, V2], Recorded, "scenario/io-hook-eof"),
    b("stdin's end while a callback is awaited: the call is cancelled", &[V21], Recorded, "scenario/io-hook-eof"),
    b("an interrupt while a callback is awaited", ALL, Recorded, "scenario/io-hook-interrupt"),
    b("mcp_status, set_model, set_permission_mode, interrupt without a turn", ALL, Recorded, "scenario/io-control"),
    b(
        "a control request that it does not know is not answered, get_context_usage among them",
        &[V1, V2],
        Recorded,
        "scenario/io-control, scenario/io-control-more",
    ),
    b(
        "get_context_usage and requests about an empty project; others are refused as unsupported_request",
        &[V21],
        Recorded,
        "scenario/io-control, scenario/io-control-more",
    ),
];
