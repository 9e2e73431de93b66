//! `npm` and `pip`, driven as commands: what they are asked, and what their answers mean.
//!
//! Invariant: no script of a package is ever run (`--ignore-scripts`, wheels only), and neither tool outlives this
//! process.

use crate::install::{Progress, StoreError};
use crate::lock::Packages;
use crate::registry::sorted;
use rustix::process::{Signal, set_parent_process_death_signal};
use semver::Version;
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often the size of what is being downloaded is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Bytes of a tool's complaint that are shown.
const COMPLAINT_BYTES: usize = 600;

/// The commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// npm.
    pub npm: PathBuf,
    /// A Python with pip.
    pub python: PathBuf,
}

impl Default for Commands {
    /// As `PATH` has them; the Python is the one that `REHANG_PYTHON` names, if it is set. A Python of the system is
    /// preferred to the user's own, which is in the user's HOME, where no agent under test may look.
    fn default() -> Commands {
        let named = std::env::var_os("REHANG_PYTHON").filter(|path| !path.is_empty()).map(PathBuf::from);
        let system = || [Path::new("/usr/bin/python3"), Path::new("/usr/local/bin/python3")].into_iter();
        let found = || system().find(|path| path.exists()).unwrap_or(Path::new("python3")).to_owned();
        Commands { npm: "npm".into(), python: named.unwrap_or_else(found) }
    }
}

impl Commands {
    /// The versions that npm has of a package.
    ///
    /// # Errors
    /// No npm, no network, no such package.
    pub fn npm_versions(&self, package: &str) -> Result<Vec<Version>, StoreError> {
        let mut npm = self.npm();
        npm.args(["view", "--json", package, "versions"]);
        let out = run(npm, "npm", None)?;
        let said = String::from_utf8_lossy(&out.stdout);
        if !out.status.success() {
            return Err(npm_error(package, None, &out));
        }
        let unread = |why: String| StoreError::Tool { tool: "npm", what: format!("versions of {package}"), said: why };
        match serde_json::from_str(&said).map_err(|e| unread(e.to_string()))? {
            Value::String(one) => Ok(sorted([one.as_str()])),
            Value::Array(list) => Ok(sorted(list.iter().filter_map(Value::as_str))),
            other => Err(unread(format!("not a list: {}", clip(&other.to_string())))),
        }
    }

    /// Installs a package of npm into an empty folder, and returns what it consists of.
    ///
    /// # Errors
    /// No npm, no network, no such version, bytes that are not those of the registry.
    pub fn npm_install(
        &self,
        dir: &Path,
        package: &str,
        version: &Version,
        progress: &dyn Progress,
    ) -> Result<Packages, StoreError> {
        let io = |path: &Path, error| StoreError::Io { path: path.to_owned(), error };
        let manifest = dir.join("package.json");
        std::fs::write(&manifest, "{\"private\":true}\n").map_err(|e| io(&manifest, e))?;
        let spec = format!("{package}@{version}");
        let mut npm = self.npm();
        npm.current_dir(dir).args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"]);
        npm.args(["--no-update-notifier", "--omit=dev", "--loglevel=error"]);
        npm.arg("--cache").arg(dir.join(".npm")).arg(&spec);
        let out = run(npm, "npm", Some((dir, &format!("installing {spec}"), progress)))?;
        if !out.status.success() {
            return Err(npm_error(package, Some(version), &out));
        }
        let _ = std::fs::remove_dir_all(dir.join(".npm"));
        let path = dir.join("package-lock.json");
        let text = std::fs::read(&path).map_err(|e| io(&path, e))?;
        npm_packages(&text, package, version)
    }

    /// The versions that PyPI has of a package for this Python; if it has none of them, those for any Python, and what
    /// is wrong with one is said when it is installed.
    ///
    /// # Errors
    /// No Python, no pip, no network, no such package.
    pub fn pypi_versions(&self, package: &str) -> Result<Vec<Version>, StoreError> {
        match self.pypi_list(package, &[]) {
            Err(StoreError::NoPackage { .. }) => self.pypi_list(package, &["--ignore-requires-python"]),
            listed => listed,
        }
    }

    fn pypi_list(&self, package: &str, more: &[&str]) -> Result<Vec<Version>, StoreError> {
        let mut pip = self.pip();
        pip.args(["index", "versions"]).args(more).arg(package);
        let out = run(pip, "python3", None)?;
        if !out.status.success() {
            return Err(pip_error(package, None, &out));
        }
        let said = String::from_utf8_lossy(&out.stdout);
        let list = said.lines().find_map(|line| line.trim().strip_prefix("Available versions:")).unwrap_or_default();
        Ok(sorted(list.split(',')))
    }

    /// Installs a package of PyPI into an empty folder (`lib`), wheels only, and returns what it consists of.
    ///
    /// # Errors
    /// As [`Commands::npm_install`].
    pub fn pypi_install(
        &self,
        dir: &Path,
        package: &str,
        version: &Version,
        progress: &dyn Progress,
    ) -> Result<Packages, StoreError> {
        let spec = format!("{package}=={version}");
        let report = dir.join("pip-report.json");
        let mut pip = self.pip();
        pip.args(["install", "--only-binary", ":all:", "--no-cache-dir", "--ignore-installed", "--quiet"]);
        pip.arg("--target").arg(dir.join("lib")).arg("--report").arg(&report).arg(&spec);
        let out = run(pip, "python3", Some((dir, &format!("installing {spec}"), progress)))?;
        if !out.status.success() {
            return Err(pip_error(package, Some(version), &out));
        }
        let text = std::fs::read(&report).map_err(|error| StoreError::Io { path: report.clone(), error })?;
        pypi_packages(&text, package, version)
    }

    /// Where the Python that installs is: its own file, and its libraries.
    ///
    /// # Errors
    /// No Python.
    pub fn python_home(&self) -> Result<(PathBuf, PathBuf), StoreError> {
        let mut python = Command::new(&self.python);
        python.args(["-c", "import sys; print(sys.executable); print(sys.base_prefix)"]);
        let out = run(python, "python3", None)?;
        let said = String::from_utf8_lossy(&out.stdout);
        let mut lines = said.lines().map(PathBuf::from);
        match (lines.next(), lines.next()) {
            (Some(file), Some(prefix)) if out.status.success() => Ok((file, prefix)),
            _ => Err(StoreError::Tool { tool: "python3", what: "where it lies".into(), said: complaint(&out) }),
        }
    }

    fn npm(&self) -> Command {
        let mut npm = Command::new(&self.npm);
        // npm's own default is to retry for more than a minute
        npm.args(["--fetch-retries=2", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"]);
        npm
    }

    fn pip(&self) -> Command {
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "2"]);
        pip
    }
}

type Watched<'a> = Option<(&'a Path, &'a str, &'a dyn Progress)>;

fn run(mut command: Command, tool: &'static str, watched: Watched<'_>) -> Result<Output, StoreError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec only this one system call is made.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    let missing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => StoreError::NoTool { tool },
        _ => StoreError::Tool { tool, what: "starting it".to_owned(), said: error.to_string() },
    };
    let child = command.spawn().map_err(missing)?;
    let Some((dir, what, progress)) = watched else { return child.wait_with_output().map_err(missing) };
    progress.at(what, 0);
    let child = Mutex::new(Some(child));
    let waits = || match child.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(child) => child.wait_with_output(),
        None => Err(std::io::Error::other("it is waited for already")),
    };
    std::thread::scope(|scope| {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let waits = &waits;
        let waiter = std::thread::Builder::new().spawn_scoped(scope, move || {
            let out = waits();
            drop(done);
            out
        });
        // a machine that gives no thread shows no progress
        let Ok(waiter) = waiter else { return waits().map_err(missing) };
        while wait.recv_timeout(LOOK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            progress.at(what, bytes_below(dir));
        }
        waiter.join().unwrap_or_else(|_| Err(std::io::Error::other("its waiter died"))).map_err(missing)
    })
}

fn bytes_below(dir: &Path) -> u64 {
    let mut sum = 0;
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) => sum += meta.len(),
                Err(_) => {}
            }
        }
    }
    sum
}

/// The packages of npm's lock file. Every one that is not a link must have its hash: npm has checked the bytes
/// against it.
fn npm_packages(lock: &[u8], package: &str, version: &Version) -> Result<Packages, StoreError> {
    let bad = |said: String| StoreError::Tool { tool: "npm", what: format!("lock file of {package}@{version}"), said };
    let lock: Value = serde_json::from_slice(lock).map_err(|e| bad(e.to_string()))?;
    let entries = lock["packages"].as_object().ok_or_else(|| bad("no list of packages".to_owned()))?;
    let mut all = Packages::new();
    for (place, entry) in entries.iter().filter(|(place, _)| !place.is_empty()) {
        if entry["link"] == true || entry["inBundle"] == true {
            continue;
        }
        let name = entry["name"].as_str().or_else(|| place.rsplit("node_modules/").next()).unwrap_or(place);
        let found = entry["version"].as_str().unwrap_or_default();
        let hash = entry["integrity"].as_str().filter(|hash| hash.starts_with("sha"));
        let hash = hash.ok_or_else(|| StoreError::NoIntegrity { package: format!("{name}@{found}") })?;
        if name == package && place == &format!("node_modules/{package}") && found != version.to_string() {
            return Err(bad(format!("it installed {found}")));
        }
        all.insert(format!("{name}@{found}"), hash.to_owned());
    }
    if all.is_empty() { Err(bad("it holds no package".to_owned())) } else { Ok(all) }
}

/// The packages of pip's report, with the hashes of their wheels.
fn pypi_packages(report: &[u8], package: &str, version: &Version) -> Result<Packages, StoreError> {
    let bad = |said: String| StoreError::Tool { tool: "pip", what: format!("report on {package}=={version}"), said };
    let report: Value = serde_json::from_slice(report).map_err(|e| bad(e.to_string()))?;
    let mut all = Packages::new();
    for item in report["install"].as_array().into_iter().flatten() {
        let meta = &item["metadata"];
        let named = format!(
            "{}@{}",
            meta["name"].as_str().unwrap_or_default().to_lowercase(),
            meta["version"].as_str().unwrap_or_default()
        );
        let info = &item["download_info"]["archive_info"];
        let hash = info["hashes"]["sha256"].as_str().map(|hash| format!("sha256={hash}"));
        let hash = hash.or_else(|| info["hash"].as_str().map(str::to_owned));
        all.insert(named.clone(), hash.ok_or(StoreError::NoIntegrity { package: named })?);
    }
    if all.is_empty() { Err(bad("it holds no package".to_owned())) } else { Ok(all) }
}

fn npm_error(package: &str, version: Option<&Version>, out: &Output) -> StoreError {
    let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    let has = |codes: &[&str]| codes.iter().any(|code| said.contains(code));
    if has(&["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ERR_SOCKET_TIMEOUT"])
    {
        return StoreError::NoNetwork { registry: "npm", said: complaint(out) };
    }
    if has(&["EINTEGRITY"]) {
        return StoreError::BadBytes { package: package.to_owned(), said: complaint(out) };
    }
    match version {
        Some(version) if has(&["ETARGET", "E404", "notarget"]) => {
            lacks("npm", package, version, after(&said, "No matching version found for "))
        }
        None if has(&["E404"]) => StoreError::NoPackage { registry: "npm", package: package.to_owned() },
        _ => StoreError::Tool { tool: "npm", what: package.to_owned(), said: complaint(out) },
    }
}

fn pip_error(package: &str, version: Option<&Version>, out: &Output) -> StoreError {
    let said = String::from_utf8_lossy(&out.stderr);
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&["No module named pip"]) {
        return StoreError::NoTool { tool: "pip" };
    }
    let unreachable = ["NewConnectionError", "Connection refused", "Name or service not known", "name resolution"];
    if has(&unreachable) || has(&["ConnectTimeoutError", "Network is unreachable", "ReadTimeoutError"]) {
        return StoreError::NoNetwork { registry: "PyPI", said: complaint(out) };
    }
    if has(&["DO NOT MATCH THE HASHES"]) {
        return StoreError::BadBytes { package: package.to_owned(), said: complaint(out) };
    }
    let needs = |version: &Version| after(&said, &format!(" {version} Requires-Python "));
    match version {
        Some(version) if let Some(needs) = needs(version) => StoreError::OtherPython {
            package: package.to_owned(),
            version: version.clone(),
            needs: needs.trim_end_matches(';').to_owned(),
        },
        Some(version) if has(&["No matching distribution found for"]) => {
            lacks("PyPI", package, version, after(&said, "No matching distribution found for "))
        }
        None if has(&["No matching distribution found"]) => {
            StoreError::NoPackage { registry: "PyPI", package: package.to_owned() }
        }
        _ => StoreError::Tool { tool: "pip", what: package.to_owned(), said: complaint(out) },
    }
}

/// The error if this requirement cannot be met: it is the package itself, or one that it needs.
fn lacks(registry: &'static str, package: &str, version: &Version, requirement: Option<&str>) -> StoreError {
    let (package, version) = (package.to_owned(), version.clone());
    let itself = |needed: &&str| {
        let rest = needed.strip_prefix(package.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', '@']))
    };
    match requirement.filter(|needed| !itself(needed)) {
        Some(needed) => StoreError::NoDependency { registry, package, version, dependency: clip(needed) },
        None => StoreError::NoVersion { package, version },
    }
}

/// The word behind these words.
fn after<'t>(said: &'t str, words: &str) -> Option<&'t str> {
    let (_, rest) = said.split_once(words)?;
    rest.split_whitespace().next().map(|word| word.trim_end_matches('.'))
}

/// The part of what a tool said that fits in a line or two.
fn complaint(out: &Output) -> String {
    let said = String::from_utf8_lossy(&out.stderr);
    let noise = |line: &&str| !line.contains("warn") && !line.contains("complete log") && !line.trim().is_empty();
    clip(&said.lines().filter(noise).collect::<Vec<_>>().join("; "))
}

fn clip(text: &str) -> String {
    let end = text.floor_char_boundary(text.len().min(COMPLAINT_BYTES));
    text[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The path of a command on `PATH`, links followed.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())?;
    std::fs::canonicalize(found).ok().filter(|file| file.file_name() != Some(OsStr::new("")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn output(stderr: &str) -> Output {
        Output {
            status: std::process::ExitStatus::from_raw(256),
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
        }
    }

    #[test]
    fn what_a_version_needs_is_told_from_the_version() {
        let version = Version::new(0, 86, 1);
        let pip = |stderr: &str| pip_error("aider-chat", Some(&version), &output(stderr)).to_string();
        let npm = |stderr: &str| npm_error("mine", Some(&version), &output(stderr)).to_string();
        assert_eq!(
            pip("ERROR: Could not find a version that satisfies the requirement pyperclip==1.9.0 (from aider-chat)\n\
                 ERROR: No matching distribution found for pyperclip==1.9.0\n"),
            "aider-chat 0.86.1 needs pyperclip==1.9.0, which PyPI does not have for this machine"
        );
        let itself = "ERROR: No matching distribution found for aider-chat==0.86.1\n";
        assert_eq!(pip(itself), "aider-chat has no version 0.86.1");
        let elsewhere = "ERROR: Ignored the following versions that require a different python version: \
                         0.86.1 Requires-Python >=3.12; 0.90.0 Requires-Python >=3.13\n";
        assert_eq!(
            pip(&format!("{elsewhere}{itself}")),
            "aider-chat 0.86.1 needs another Python (>=3.12): name one with REHANG_PYTHON, with a REHANG_CACHE of its own"
        );
        let another = "ERROR: No matching distribution found for aider-chat-tools==1\n";
        assert!(pip(another).contains("needs aider-chat-tools==1"), "a longer name is another package");
        assert_eq!(
            npm("npm error code ETARGET\nnpm error notarget No matching version found for left@^2.\n"),
            "mine 0.86.1 needs left@^2, which npm does not have for this machine"
        );
        assert_eq!(
            npm("npm error code ETARGET\nnotarget No matching version found for mine@0.86.1.\n"),
            "mine has no version 0.86.1"
        );
        assert_eq!(npm("npm error code E404\n"), "mine has no version 0.86.1");
    }
}
