//! On a terminal: texts and asks are on the screen, answers are typed in lines that the kernel edits.
//!
//! It is far plainer than the real one, which draws full screens in raw mode; what a person can do is the same: answer,
//! answer in their own words, skip, dismiss (Ctrl-D or Escape), interrupt (Ctrl-C), leave (Ctrl-D or Ctrl-C when
//! nothing runs). Invariant: one menu is open at a time, further asks wait after it.

use super::args::Args;
use super::asks::{By, Permit};
use super::engine::{About, Event, Out};
use super::host::{Host, Outgoing};
use super::release::Release;
use super::state::{Body, ToolState};
use rehang_os::os::{CannotStart, Disposition, FdKind, Next, Os, Program, Read, STDIN, STDOUT, Sig, Wait, Write};
use rehang_scenario::{Canon, plan::Plan, turns::Question};
use rehang_trace::Cause;
use std::collections::VecDeque;

const PROMPT: &str = "> ";
/// The longest line that is taken, in bytes: the kernel's own limit is 4,096.
const LINE_MAX_BYTES: usize = 64 * 1024;

/// The program on a terminal.
pub struct Interactive {
    host: Host,
    args: Args,
    begun: bool,
    root: usize,
    out: Outgoing,
    line: Vec<u8>,
    menus: VecDeque<Menu>,
    leaves: Option<u8>,
}

struct Menu {
    id: String,
    /// The questions; empty for a permission.
    questions: Vec<Question>,
    permission: String,
    answers: Vec<Vec<String>>,
}

impl Interactive {
    /// A session of this plan that has not begun.
    ///
    /// # Errors
    /// An unknown strategy.
    pub fn new(release: Release, plan: &Plan, args: Args) -> Result<Interactive, CannotStart> {
        let mut host = Host::new(release, plan, false)?;
        host.engine.wants_json = false;
        Ok(Interactive {
            host,
            args,
            begun: false,
            root: 0,
            out: Outgoing::default(),
            line: Vec::new(),
            menus: VecDeque::new(),
            leaves: None,
        })
    }

    /// The first steps. `false` if the terminal has stopped it in the middle.
    fn begin(&mut self, os: &mut dyn Os) -> bool {
        let tty = os.kind(STDIN) == FdKind::Tty;
        if tty && os.set_tty(STDIN) == Write::Later {
            return false;
        }
        self.begun = true;
        os.on_signal(Sig::Int, Disposition::Catch);
        os.on_signal(Sig::Winch, Disposition::Catch);
        self.host.engine.live = tty;
        self.host.boot(os, false, false);
        let now = os.now();
        self.root = self.host.engine.create_session(now, "New session", &[]);
        if self.args.prompt.is_empty() {
            self.print(PROMPT);
        } else {
            let prompt = std::mem::take(&mut self.args.prompt);
            self.print(&format!("{PROMPT}{prompt}\n"));
            self.host.engine.prompt(now, self.root, &prompt, None, None);
        }
        true
    }

    fn print(&mut self, text: &str) {
        self.out.push(text.as_bytes());
    }

    fn step(&mut self, os: &mut dyn Os) -> bool {
        if let Some(sig) = os.take_signal() {
            self.host.came_in();
            self.signal(os, sig);
            return true;
        }
        if self.leaves.is_none() && self.read(os) {
            self.host.came_in();
            return true;
        }
        let mut said = Vec::new();
        self.host.pump(os, &mut said);
        let silent = said.is_empty();
        for out in said {
            if let Out::Event(event) = out {
                self.hear(&event);
            }
        }
        !silent
    }

    /// Handles what the terminal gave; returns whether there was anything.
    fn read(&mut self, os: &mut dyn Os) -> bool {
        match os.read(STDIN, 4_096) {
            Read::Data(bytes) => {
                self.typed(os, &bytes);
                true
            }
            Read::Later => false,
            Read::Eof => {
                match self.menus.front().map(|menu| menu.id.clone()) {
                    Some(id) => self.dismiss(os, &id),
                    None => self.leaves = Some(0),
                }
                true
            }
            Read::Failed(_) => {
                self.leaves = Some(1);
                true
            }
        }
    }

    fn hear(&mut self, event: &Event) {
        let Some(session) = event.session else { return };
        match &event.about {
            About::Part(message, part, true) => self.part(session, *message, *part),
            About::Question(id) => {
                let questions = self.host.engine.questions(id).map(<[Question]>::to_vec).unwrap_or_default();
                self.open(Menu { id: id.clone(), questions, permission: String::new(), answers: Vec::new() });
            }
            About::Permission { id, permission, patterns } => {
                let permission = format!("{permission} ({})", patterns.join(", "));
                self.open(Menu { id: id.clone(), questions: Vec::new(), permission, answers: Vec::new() });
            }
            About::Error(_, text) => self.print(&format!("Error: {text}\n")),
            About::Status(false) if session == self.root => self.print(PROMPT),
            _ => {}
        }
        self.close_stale();
    }

    fn part(&mut self, session: usize, message: usize, part: usize) {
        let said = &self.host.engine.sessions()[session].messages[message].parts[part];
        let line = match &said.body {
            Body::Text { text, end_ms: Some(_), .. } => format!("{}\n", text.trim_end()),
            Body::Tool(tool) => match &tool.state {
                ToolState::Completed { output, .. } => {
                    format!("| {} {}\n{}\n", tool.name, tool.title, output.trim_end())
                }
                ToolState::Error { error, .. } => format!("| {} failed: {error}\n", tool.name),
                ToolState::Pending | ToolState::Running => return,
            },
            _ => return,
        };
        self.print(&line);
    }

    fn open(&mut self, menu: Menu) {
        self.menus.push_back(menu);
        if self.menus.len() == 1 {
            self.draw();
        }
    }

    fn draw(&mut self) {
        if let Some(menu) = self.menus.front() {
            let text = menu.text();
            self.print(&text);
        }
    }

    /// Closes the menus of asks that have ended otherwise.
    fn close_stale(&mut self) {
        let first = self.menus.front().map(|menu| menu.id.clone());
        let engine = &self.host.engine;
        self.menus.retain(|menu| engine.asks(&menu.id));
        if first != self.menus.front().map(|menu| menu.id.clone()) {
            self.draw();
        }
    }

    fn typed(&mut self, os: &mut dyn Os, bytes: &[u8]) {
        for &byte in bytes {
            if byte != b'\n' {
                if self.line.len() < LINE_MAX_BYTES {
                    self.line.push(byte);
                }
                continue;
            }
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
            self.entered(os, line.trim_end_matches('\r'));
        }
    }

    fn entered(&mut self, os: &mut dyn Os, line: &str) {
        let now = os.now();
        let Some(menu) = self.menus.front_mut() else {
            if !line.trim().is_empty() {
                self.host.engine.prompt(now, self.root, line, None, None);
            } else if !self.host.engine.busy(self.root) {
                self.print(PROMPT);
            }
            return;
        };
        let id = menu.id.clone();
        if line.starts_with('\x1b') {
            return self.dismiss(os, &id);
        }
        if menu.questions.is_empty() {
            let permit = match line.trim() {
                "1" | "y" | "yes" => Permit::Once,
                "2" => Permit::Always,
                "3" | "n" | "no" => Permit::Reject,
                _ => return self.draw(),
            };
            let _ = self.host.engine.reply_permission(&id, permit, &By::user());
        } else {
            let at = menu.answers.len();
            let chosen = menu.questions.get(at).and_then(|question| chosen(question, line.trim()));
            let Some(chosen) = chosen else { return self.draw() };
            menu.answers.push(chosen);
            if menu.answers.len() < menu.questions.len() {
                return self.draw();
            }
            let answers = menu.answers.clone();
            let _ = self.host.engine.reply_question(&id, answers, &By::user());
        }
        self.close_stale();
    }

    fn dismiss(&mut self, os: &mut dyn Os, id: &str) {
        let _ = os;
        self.print("\n");
        let by = By::user_with(Cause::Dismiss);
        if self.host.engine.reject_question(id, Some("dismissed"), &by).is_none() {
            let _ = self.host.engine.reply_permission(id, Permit::Reject, &by);
        }
        self.close_stale();
    }

    fn signal(&mut self, os: &mut dyn Os, sig: Sig) {
        match sig {
            Sig::Int if self.host.engine.busy(self.root) => {
                self.print("\n");
                self.menus.clear();
                self.host.engine.abort(os.now(), self.root, None, false);
            }
            Sig::Int => self.leaves = Some(0),
            Sig::Winch => {
                self.print("\n");
                match self.menus.is_empty() {
                    false => self.draw(),
                    true if !self.host.engine.busy(self.root) => self.print(PROMPT),
                    true => {}
                }
            }
            _ => {}
        }
    }
}

impl Menu {
    fn text(&self) -> String {
        let Some(question) = self.questions.get(self.answers.len()) else {
            return format!(
                "Permission required: {}\n  1. Allow once\n  2. Allow always\n  3. Reject\nNumber: ",
                self.permission
            );
        };
        let head = if question.header.is_empty() { String::new() } else { format!("[{}] ", question.header) };
        let mut out = format!("{head}{}\n", question.question);
        for (n, option) in question.options.iter().enumerate() {
            let gap = if option.description.is_empty() { "" } else { " - " };
            out.push_str(&format!("  {}. {}{gap}{}\n", n + 1, option.label, option.description));
        }
        out.push_str(if question.multiple { "Numbers, by commas" } else { "Number" });
        out.push_str(if question.custom.unwrap_or(true) { ", or your own answer: " } else { ": " });
        out
    }
}

/// What a line chooses of a question; `None` if it does not fit.
fn chosen(question: &Question, line: &str) -> Option<Vec<String>> {
    if line.is_empty() {
        return Some(Vec::new());
    }
    let numbers: Option<Vec<usize>> = line.split(',').map(|word| word.trim().parse().ok()).collect();
    match numbers {
        Some(numbers) if question.multiple || numbers.len() == 1 => {
            let label = |n: usize| Some(question.options.get(n.checked_sub(1)?)?.label.clone());
            numbers.into_iter().map(label).collect()
        }
        Some(_) => None,
        None => question.custom.unwrap_or(true).then(|| vec![line.to_owned()]),
    }
}

impl Program for Interactive {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if !self.begun && !self.begin(os) {
            return Next::Wait(Wait { until: Some(os.now()), on: "tty", ..Wait::default() });
        }
        self.host.resumed();
        self.host.engine.at(os.now());
        while self.step(os) {}
        if self.out.flush(os, STDOUT).is_err() {
            self.leaves.get_or_insert(1);
        }
        let mut wait = Wait::default();
        if !self.out.is_empty() {
            wait.write.push(STDOUT);
        }
        match self.leaves {
            Some(code) if self.out.is_empty() => return Next::Exit(code),
            Some(_) => wait.on = "stdout",
            None => {
                wait.read.push(STDIN);
                self.host.wait(os.now(), &mut wait);
                if wait.on.is_empty() {
                    wait.on = "tty";
                }
            }
        }
        Next::Wait(wait)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            host,
            args: _, // not compared: they are read only at the start
            begun,
            root,
            out,
            line,
            menus,
            leaves,
        } = self;
        host.canon(canon);
        out.canon(canon);
        canon.flag(*begun).num(*root as u64).bytes(line);
        canon.flag(leaves.is_some()).num(leaves.unwrap_or(0).into());
        canon.num(menus.len() as u64);
        for Menu { id, questions, permission, answers } in menus {
            canon.text(id).text(permission).value(&(questions, answers));
        }
    }
}
