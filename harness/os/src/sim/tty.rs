//! A pseudo-terminal: the kernel's line discipline, who holds its ends, and which processes its keys reach.
//!
//! Invariant: what comes out of either end is what [`LineDiscipline`] makes of what went in, and nothing else.

use crate::line_discipline::LineDiscipline;
use rehang_scenario::Canon;

/// One pseudo-terminal.
#[derive(Debug)]
pub struct Tty {
    /// The line discipline, which processes what is typed and printed.
    pub line: LineDiscipline,
    /// The foreground process group; 0 if there is none.
    pub foreground: u32,
    /// The session that it controls; 0 if there is none.
    pub session: u32,
    /// How many slave ends are open.
    pub slaves: u32,
    /// Whether the master is open.
    pub master: bool,
    /// Whether the shell in its foreground ignores a hang-up.
    pub nohup: bool,
}

impl Tty {
    /// A terminal in the state in which the kernel creates it.
    pub fn new() -> Tty {
        Tty { line: LineDiscipline::new(), foreground: 0, session: 0, slaves: 0, master: true, nohup: false }
    }

    /// Whether a read of the slave returns something; after a hang-up it returns the end.
    pub fn readable(&self) -> bool {
        self.line.readable() || !self.master
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Tty { line, foreground, session, slaves, master, nohup } = self;
        line.canon(canon);
        canon.num(u64::from(*foreground)).num(u64::from(*session)).num(u64::from(*slaves));
        canon.flag(*master).flag(*nohup);
    }
}
