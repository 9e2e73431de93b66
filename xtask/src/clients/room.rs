//! The place where a client runs.
//!
//! Invariant: nothing of the caller's HOME and environment is in it, and no network but loopback if the kernel allows it.

use super::install::Installed;
use crate::tools;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fresh folder that is HOME, working folder and everything else; deleted when this is dropped.
pub struct Room(pub PathBuf);

impl Room {
    pub fn new() -> io::Result<Room> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let path = std::env::temp_dir().join(format!("rehang-clients-{}-{}", std::process::id(), now.as_nanos()));
        fs::create_dir_all(path.join("home"))?;
        Ok(Room(path))
    }

    /// A command in it: without the caller's environment, with a dummy key, rehang's own modules, and only loopback if that is
    /// available.
    pub fn command(&self, alone: &[String], rehang: &Path, installed: &Installed, bin: Option<&Path>) -> Command {
        let (program, args) = alone.split_first().map_or(("env", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(program);
        let own = installed.program.parent().map(Path::to_owned);
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let path = bin.map(Path::to_owned).into_iter().chain(own).chain(usual);
        command.args(args).env_clear().current_dir(self.0.join("home"));
        command.env("PATH", std::env::join_paths(path).unwrap_or_default());
        command.env("HOME", self.0.join("home")).env("TMPDIR", &self.0);
        command.env("ANTHROPIC_API_KEY", "dummy").env("DISABLE_TELEMETRY", "1").env("LANG", "C.UTF-8");
        command.env("PYTHONPATH", tools::root().join("packaging/python")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("REHANG_C_LIBRARY", rehang.with_file_name("librehang_c.so")).env("REHANG_BINARY", rehang);
        command
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The words that put a command into a network namespace with only loopback; empty if that is not available.
pub fn loopback_alone() -> Vec<String> {
    let up = "ip link set lo up 2>/dev/null || exec python3 -c 'raise SystemExit(1)'; exec \"$@\"";
    let words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", up, "sh"].map(str::to_owned);
    let works = Command::new(&words[0]).args(&words[1..]).arg("true").output().is_ok_and(|out| out.status.success());
    if works { words.to_vec() } else { Vec::new() }
}
