//! Names that other programs have chosen, on a terminal: nothing in them is obeyed by it.
//!
//! Invariant: what is checked has come through a real terminal, for a pipe gets a text that was stripped of everything.

use std::fs::File;
use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Sets the clipboard (OSC 52), clears the screen by C0 and by C1, turns the text around.
const EVIL: &str = "x\u{1b}]52;c;cHduZWQ=\u{7}\u{1b}[2J\u{9b}2J\u{9d}0;t\u{9c}\u{202e}\u{2066}y";

/// A child that is ended with the test.
struct Ours(Child);

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a command says to a terminal that is its stdin, stdout and stderr.
fn on_a_terminal(command: &mut Command) -> String {
    let nix::pty::OpenptyResult { master, slave } = nix::pty::openpty(None, None).unwrap();
    let ends = [slave.try_clone().unwrap(), slave.try_clone().unwrap(), slave];
    let [stdin, stdout, stderr] = ends.map(Stdio::from);
    let mut child = command.stdin(stdin).stdout(stdout).stderr(stderr).spawn().unwrap();
    // the command's own copies of the terminal
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut said = Vec::new();
    // EIO at the end
    let _ = File::from(master).read_to_end(&mut said);
    child.wait().unwrap();
    String::from_utf8_lossy(&said).into_owned()
}

/// What a terminal would obey beside colours and the ends of lines.
fn obeyed(said: &str) -> Vec<char> {
    let mut parts = said.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        match code.filter(|(code, _)| code.chars().all(|c| c.is_ascii_digit() || c == ';')) {
            Some((_, rest)) => plain.push_str(rest),
            None => plain.push_str(&format!("\u{1b}{part}")),
        }
    }
    let turns = |c: &char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    plain.chars().filter(|c| (c.is_control() && !matches!(c, '\r' | '\n')) || turns(c)).collect()
}

/// Looks on a terminal until the name is told, and judges that.
fn why(pid: u32, told: &str) {
    let mut said = String::new();
    for _ in 0..200 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
        command.args(["why", &pid.to_string(), "--window", "20ms", "--tree"]);
        said = on_a_terminal(&mut command);
        assert_eq!(obeyed(&said), Vec::<char>::new(), "{told}: {said:?}");
        if said.contains(told) {
            return;
        }
    }
    panic!("{told} is never told: {said:?}")
}

fn cat(program: &Path, stdin: impl Into<Stdio>, folder: &Path) -> Ours {
    let mut command = Command::new(program);
    command.arg0(EVIL).current_dir(folder).stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
    Ours(command.spawn().expect("cat"))
}

#[test]
fn no_name_is_obeyed_by_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let evil = folder.path().join(EVIL);
    std::fs::create_dir(&evil).unwrap();
    let masked = "x\u{fffd}]52;c;cHduZWQ=\u{fffd}\u{fffd}[2J";
    let (read, _write) = std::io::pipe().unwrap();
    // its arguments, its folder, its name and its program
    let program = folder.path().join("\u{1b}[2J\u{202e}");
    std::fs::copy("/bin/cat", &program).unwrap();
    why(cat(&program, read, &evil).0.id(), "\u{fffd}[2J\u{fffd}");
    // a FIFO's name
    let fifo = folder.path().join("f").join(EVIL);
    std::fs::create_dir(folder.path().join("f")).unwrap();
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let both = File::options().read(true).write(true).open(&fifo).unwrap();
    why(cat(Path::new("cat"), both, folder.path()).0.id(), masked);
    // a socket's
    let place = folder.path().join(EVIL.replace('y', "z"));
    let listener = UnixListener::bind(&place).unwrap();
    let client = UnixStream::connect(&place).unwrap();
    let _server = listener.accept().unwrap();
    why(cat(Path::new("cat"), std::os::fd::OwnedFd::from(client), folder.path()).0.id(), masked);
}
