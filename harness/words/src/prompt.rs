//! What waits for a key: by a program's name, and by the last words on its screen.
//!
//! Shared by the readers of `/proc` and of logs, so that both give one prompt the same mechanism.
//!
//! Invariant: pure; only the last [`TAIL_CHARS`] of a text are looked at.

/// What a prompt waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsAt {
    /// A line on its stdin.
    Stdin,
    /// The end of its stdin.
    EndOfStdin,
    /// A line typed at the terminal, whatever its stdin is.
    Terminal,
    /// A key in a pager.
    Pager,
    /// The end of an editor.
    Editor,
    /// The terminal's own answer.
    Query,
    /// Somebody to go through a dialog of a first run.
    Dialog,
    /// Somebody to give a permission.
    Permission,
    /// Somebody to choose from a menu.
    Menu,
    /// Nothing: it serves or watches.
    Nothing,
}

const PAGERS: [&str; 5] = ["less", "more", "most", "bat", "pager"];
const EDITORS: [&str; 13] =
    ["vi", "vim", "vim.basic", "vim.tiny", "vim.nox", "nvim", "nano", "emacs", "pico", "joe", "micro", "hx", "visudo"];

/// What a program of this name waits for at a terminal: a pager for a key, an editor for its end, any other program for
/// a line.
pub fn of_program(name: &str) -> WaitsAt {
    match name {
        name if PAGERS.contains(&name) => WaitsAt::Pager,
        name if EDITORS.contains(&name) => WaitsAt::Editor,
        _ => WaitsAt::Terminal,
    }
}

/// A prompt at the end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt<'a> {
    /// What it waits for.
    pub waits: WaitsAt,
    /// Why it is one, in words.
    pub because: &'static str,
    /// The words themselves.
    pub words: &'a str,
    /// Whether only a prompt ends like this; otherwise prose may too.
    pub certain: bool,
}

/// How much of a text's end is looked at, in characters.
pub const TAIL_CHARS: usize = 600;

/// The prompt that a text ends with.
pub fn at_end(text: &str) -> Option<Prompt<'_>> {
    let text = text.trim_end();
    let from = text.char_indices().rev().nth(TAIL_CHARS).map_or(0, |(at, _)| at);
    let tail = &text[from..];
    let words = tail.lines().next_back().unwrap_or_default().trim();
    let low = tail.to_lowercase();
    let line = words.to_lowercase();
    let line = line.as_str();
    let has = |needles: &[&str]| needles.iter().any(|needle| low.contains(needle));
    let prompt = |waits, because| Some(Prompt { waits, because, words, certain: true });
    // words elsewhere on the screen may themselves be quoted
    let within = |waits, because, needles: &[&str]| {
        let found = tail.lines().rev().find(|l| needles.iter().any(|needle| l.to_lowercase().contains(needle)));
        Some(Prompt { waits, because, words: found.unwrap_or(words).trim(), certain: true })
    };
    const STDIN: [&str; 2] = ["reading additional input from stdin", "reading prompt from stdin"];
    const DIALOG: [&str; 4] = ["trust the files", "trust this folder", "do you trust", "bypass permissions mode"];
    const SERVES: [&str; 4] =
        ["press h + enter", "press h to show", "waiting for file changes", "watching for file changes"];
    const MENU: [&str; 4] = ["number, or your own answer", "❯ 1.", "enter to select", "(esc to cancel)"];
    const ALLOW: [&str; 4] = ["do you want to proceed", "allow this", "permission", "approve"];
    match () {
        () if line.ends_with('>') && line.contains("<asks the terminal") => {
            prompt(WaitsAt::Query, "the last it did is to ask the terminal something")
        }
        () if has(&STDIN) => within(WaitsAt::EndOfStdin, "it says that it reads stdin", &STDIN),
        () if has(&DIALOG) && !prose(tail) => within(WaitsAt::Dialog, "a first-run dialog is on the screen", &DIALOG),
        () if line.ends_with("(end)") || line == ":" || line.starts_with("lines 1-") => {
            prompt(WaitsAt::Pager, "a pager is on the screen")
        }
        () if line.contains("continue connecting (yes/no") => {
            prompt(WaitsAt::Terminal, "ssh asks whether it knows the host")
        }
        () if asks_for_a_name(line) => prompt(WaitsAt::Terminal, "git asks for a user's name at the terminal"),
        () if line.ends_with(':') && ["password", "passphrase", "passcode"].iter().any(|is| line.contains(is)) => {
            prompt(WaitsAt::Terminal, "a password is asked for")
        }
        () if has(&ALLOW) && has(&["yes", "(y"]) && !prose(tail) => {
            within(WaitsAt::Permission, "a permission is asked for", &ALLOW)
        }
        () if ["(y/n)", "[y/n]", "(yes/no)", "(y)", "y/n", "[yes/no]"]
            .iter()
            .any(|is| [is, &*format!("{is}:"), &*format!("{is}?")].iter().any(|end| line.ends_with(*end))) =>
        {
            prompt(WaitsAt::Stdin, "it asks yes or no")
        }
        () if low.lines().filter(|line| line.trim() == "~").count() >= 3 => {
            prompt(WaitsAt::Editor, "an editor is on the screen")
        }
        () if has(&SERVES) => within(WaitsAt::Nothing, "a server or a watcher is on the screen", &SERVES),
        () if (line.starts_with("press ") || line.ends_with("to continue") || line.ends_with("to continue..."))
            && line.len() <= KEY_BYTES =>
        {
            prompt(WaitsAt::Stdin, "it wants a key")
        }
        () if has(&MENU) && !prose(tail) => within(WaitsAt::Menu, "a menu is on the screen", &MENU),
        () if line.ends_with('?') || line.ends_with("? ›") || line.ends_with("?:") => {
            Some(Prompt { waits: WaitsAt::Stdin, because: "its last word is a question", words, certain: false })
        }
        () => None,
    }
}

/// The longest line that asks for a key, in bytes. A choice: longer ones are prose.
const KEY_BYTES: usize = 60;

/// Whether a text has the marks of prose: headings, fences, lists.
pub fn prose(text: &str) -> bool {
    text.lines().any(|line| {
        ["# ", "## ", "### ", "```", "- ", "* ", "| ", "> "].iter().any(|mark| line.trim_start().starts_with(mark))
    })
}

/// `Username for 'https://…':`, as git writes it to `/dev/tty`.
fn asks_for_a_name(line: &str) -> bool {
    line.ends_with(':') && (line.starts_with("username for ") || line == "username:" || line.ends_with(" login:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_known_by_the_last_words_on_the_screen() {
        for (text, is) in [
            ("Compiling\nOk to proceed? (y) ", Some(WaitsAt::Stdin)),
            ("root@host's password: ", Some(WaitsAt::Terminal)),
            ("Cloning into 'x'...\nUsername for 'https://github.com': ", Some(WaitsAt::Terminal)),
            ("box login: ", Some(WaitsAt::Terminal)),
            ("building\n", None),
            ("x<asks the terminal: what is it>", Some(WaitsAt::Query)),
            ("Do you want to proceed?\n❯ 1. Yes\n  2. No", Some(WaitsAt::Permission)),
            ("Which database?", Some(WaitsAt::Stdin)),
            ("~\n~\n~\n\"COMMIT_EDITMSG\" 12L, 300B", Some(WaitsAt::Editor)),
            (" PASS  Waiting for file changes...\npress h to show help, press q to quit", Some(WaitsAt::Nothing)),
            ("Press any key", Some(WaitsAt::Stdin)),
            ("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", Some(WaitsAt::Terminal)),
            ("# Permissions\n\nApprove? yes.", None),
        ] {
            assert_eq!(at_end(text).map(|prompt| prompt.waits), is, "{text}");
        }
        assert_eq!(at_end("a\nUsername for 'https://x': ").map(|p| p.words), Some("Username for 'https://x':"));
        assert!(!at_end("Which database?").is_some_and(|prompt| prompt.certain));
        assert!(at_end(&"é".repeat(5_000)).is_none());
    }

    #[test]
    fn a_program_is_known_by_its_name() {
        assert_eq!(["less", "vim", "git"].map(of_program), [WaitsAt::Pager, WaitsAt::Editor, WaitsAt::Terminal]);
        assert!(PAGERS.iter().all(|name| of_program(name) == WaitsAt::Pager));
        assert!(EDITORS.iter().all(|name| of_program(name) == WaitsAt::Editor));
    }

    #[test]
    fn each_prompt_has_its_words_and_what_is_beside_it_is_none() {
        let texts = [
            "<asks the terminal: colour>",
            "<asks the terminal: colour",
            "a > b>",
            "Reading prompt from stdin\n...",
            "reading additional input from stdin",
            "Do you trust the files in this folder?",
            "- do you trust\nx",
            "a\n(END)",
            ":",
            "lines 1-20",
            "a:",
            "continue connecting (yes/no)",
            "Username:",
            "username for x:",
            "username for x",
            "host login:",
            "my username:",
            "Password:",
            "Enter passphrase for key:",
            "Passcode:",
            "passwords",
            "Allow this? (y",
            "Allow this? yes",
            "Allow this",
            "allow this: yes\n* a",
            "ok (y/n)",
            "ok [y/n]:",
            "ok (yes/no)?",
            "ok (y)",
            "ok y/n",
            "ok [yes/no]",
            "ok (y) then",
            "~\n~\n~\nx",
            "~\n ~ \nx",
            "Press h to show\nx",
            "watching for file changes",
            "press enter",
            "hit return to continue",
            "hit return to continue...",
            "expressly",
            "Enter to select\nx",
            "# x\nEnter to select",
            "which?",
            "which? ›",
            "which?:",
            "which",
            "",
        ];
        let one = |text: &str| match at_end(text) {
            Some(Prompt { waits, because, words, certain }) => {
                format!("{text:?}: {waits:?}, {because}: {words:?}{}\n", if certain { "" } else { ", perhaps" })
            }
            None => format!("{text:?}: none\n"),
        };
        expect_test::expect![[r##"
            "<asks the terminal: colour>": Query, the last it did is to ask the terminal something: "<asks the terminal: colour>"
            "<asks the terminal: colour": none
            "a > b>": none
            "Reading prompt from stdin\n...": EndOfStdin, it says that it reads stdin: "Reading prompt from stdin"
            "reading additional input from stdin": EndOfStdin, it says that it reads stdin: "reading additional input from stdin"
            "Do you trust the files in this folder?": Dialog, a first-run dialog is on the screen: "Do you trust the files in this folder?"
            "- do you trust\nx": none
            "a\n(END)": Pager, a pager is on the screen: "(END)"
            ":": Pager, a pager is on the screen: ":"
            "lines 1-20": Pager, a pager is on the screen: "lines 1-20"
            "a:": none
            "continue connecting (yes/no)": Terminal, ssh asks whether it knows the host: "continue connecting (yes/no)"
            "Username:": Terminal, git asks for a user's name at the terminal: "Username:"
            "username for x:": Terminal, git asks for a user's name at the terminal: "username for x:"
            "username for x": none
            "host login:": Terminal, git asks for a user's name at the terminal: "host login:"
            "my username:": none
            "Password:": Terminal, a password is asked for: "Password:"
            "Enter passphrase for key:": Terminal, a password is asked for: "Enter passphrase for key:"
            "Passcode:": Terminal, a password is asked for: "Passcode:"
            "passwords": none
            "Allow this? (y": Permission, a permission is asked for: "Allow this? (y"
            "Allow this? yes": Permission, a permission is asked for: "Allow this? yes"
            "Allow this": none
            "allow this: yes\n* a": none
            "ok (y/n)": Stdin, it asks yes or no: "ok (y/n)"
            "ok [y/n]:": Stdin, it asks yes or no: "ok [y/n]:"
            "ok (yes/no)?": Stdin, it asks yes or no: "ok (yes/no)?"
            "ok (y)": Stdin, it asks yes or no: "ok (y)"
            "ok y/n": Stdin, it asks yes or no: "ok y/n"
            "ok [yes/no]": Stdin, it asks yes or no: "ok [yes/no]"
            "ok (y) then": none
            "~\n~\n~\nx": Editor, an editor is on the screen: "x"
            "~\n ~ \nx": none
            "Press h to show\nx": Nothing, a server or a watcher is on the screen: "Press h to show"
            "watching for file changes": Nothing, a server or a watcher is on the screen: "watching for file changes"
            "press enter": Stdin, it wants a key: "press enter"
            "hit return to continue": Stdin, it wants a key: "hit return to continue"
            "hit return to continue...": Stdin, it wants a key: "hit return to continue..."
            "expressly": none
            "Enter to select\nx": Menu, a menu is on the screen: "Enter to select"
            "# x\nEnter to select": none
            "which?": Stdin, its last word is a question: "which?", perhaps
            "which? ›": Stdin, its last word is a question: "which? ›", perhaps
            "which?:": Stdin, its last word is a question: "which?:", perhaps
            "which": none
            "": none
        "##]].assert_eq(&texts.map(one).concat());
    }

    #[test]
    fn only_the_end_of_a_text_is_looked_at() {
        let far = |chars: usize| at_end(&format!("enter to select\n{}", "é".repeat(chars - 16))).is_some();
        assert_eq!([far(TAIL_CHARS), far(TAIL_CHARS + 16)], [true, false]);
        let key = |bytes: usize| at_end(&format!("press {}", "x".repeat(bytes - 6))).is_some();
        assert_eq!([key(KEY_BYTES), key(KEY_BYTES + 1)], [true, false]);
    }

    #[test]
    fn marks_of_prose_stand_at_the_begin_of_a_line() {
        for text in ["# a", "x\n ## a", "### a", "```", "- a", "* a", "| a", "> a"] {
            assert!(prose(text), "{text:?}");
        }
        for text in ["", "a # b", "#a", "-a", "a\nb - c", "``"] {
            assert!(!prose(text), "{text:?}");
        }
    }
}
