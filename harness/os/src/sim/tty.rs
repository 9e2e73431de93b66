//! A pseudo-terminal: the kernel's line discipline, who holds its ends, and whom its keys reach.
//!
//! Invariant: what comes out of either end is what [`LineDiscipline`] makes of what went in, and nothing else.

use crate::line_discipline::LineDiscipline;
use rehang_scenario::Canon;

/// One pseudo-terminal.
#[derive(Debug)]
pub struct Tty {
    /// What it makes of what is typed and printed.
    pub line: LineDiscipline,
    /// The foreground process group; 0 when none.
    pub foreground: u32,
    /// The session that it controls; 0 when none.
    pub session: u32,
    /// Open slave ends.
    pub slaves: u32,
    /// The master is open.
    pub master: bool,
    /// The shell in its foreground ignores a hang-up.
    pub nohup: bool,
}

impl Tty {
    /// A terminal as the kernel makes it.
    pub fn new() -> Tty {
        Tty { line: LineDiscipline::new(), foreground: 0, session: 0, slaves: 0, master: true, nohup: false }
    }

    /// Whether a read of the slave returns something; one that was hung up returns its end.
    pub fn readable(&self) -> bool {
        self.line.readable() || !self.master
    }

    /// Writes the state.
    pub fn canon(&self, canon: &mut Canon) {
        let Tty { line, foreground, session, slaves, master, nohup } = self;
        line.canon(canon);
        canon.num(u64::from(*foreground)).num(u64::from(*session)).num(u64::from(*slaves));
        canon.flag(*master).flag(*nohup);
    }
}
