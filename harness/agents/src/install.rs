//! The cache of installed releases.
//!
//! Invariant: a release in the cache is whole. It is put together in a folder aside, under a lock of its own, compared
//! with the lock file, and moved into its place in one step; what a killed run left aside is removed by the next one.

use crate::lock::{Hold, Lock, Packages};
use crate::model::Source;
use crate::recipe::{Agent, Recipe, Words};
use crate::registry::{NotThere, Wanted, sorted};
use crate::tool::{Commands, on_path};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// For how long a registry's list of versions is used without asking the registry again.
const LIST_LASTS: Duration = Duration::from_secs(600);

/// The cache.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    commands: Commands,
}

/// An installed release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// The folder that it is installed in; a sandbox shows it read-only.
    pub root: PathBuf,
    /// What starts it, before any argument; the first is an absolute path.
    pub program: Vec<String>,
    /// Further folders and files of the machine that it needs, such as Node.js, for a sandbox to show.
    pub needs: Vec<PathBuf>,
    /// What it consists of: `name@version` and hash.
    pub packages: Packages,
}

/// Is told how far an installation is.
pub trait Progress {
    /// What is done now, and how many bytes have been written so far.
    fn at(&self, what: &str, bytes: u64);
}

/// Ignores how far an installation is.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Progress for Quiet {
    fn at(&self, _: &str, _: u64) {}
}

/// Why a release could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A folder or a file of the cache.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: std::io::Error,
    },
    /// The lock file cannot be read as one.
    #[error("{} is no lock file ({why}): repair it, or delete it to trust the registries anew", path.display())]
    BadLock {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A command is not on `PATH`.
    #[error("{tool} cannot be found: {}", remedy(tool))]
    NoTool {
        /// `npm`, `node`, `python3` or `pip`.
        tool: &'static str,
    },
    /// A command failed.
    #[error("{tool} failed ({what}): {said}")]
    Tool {
        /// Which.
        tool: &'static str,
        /// At what.
        what: String,
        /// What it said.
        said: String,
    },
    /// The registry cannot be reached.
    #[error("{registry} cannot be reached; only what is installed already can run. {said}")]
    NoNetwork {
        /// `npm` or `PyPI`.
        registry: &'static str,
        /// What the command said.
        said: String,
    },
    /// The registry has no such package.
    #[error("{registry} has no package {package}")]
    NoPackage {
        /// `npm` or `PyPI`.
        registry: &'static str,
        /// The package.
        package: String,
    },
    /// The registry has no such version.
    #[error("{package} has no version {version}")]
    NoVersion {
        /// The package.
        package: String,
        /// The version.
        version: Version,
    },
    /// A package that this version needs cannot be found.
    #[error("{package} {version} needs {dependency}, which {registry} does not have for this machine")]
    NoDependency {
        /// `npm` or `PyPI`.
        registry: &'static str,
        /// The package.
        package: String,
        /// The version.
        version: Version,
        /// What it needs.
        dependency: String,
    },
    /// The version is for other Pythons.
    #[error(
        "{package} {version} needs another Python ({needs}): name one with REHANG_PYTHON, with a REHANG_CACHE of its own"
    )]
    OtherPython {
        /// The package.
        package: String,
        /// The version.
        version: Version,
        /// The Pythons that it is for, as it says: `>=3.12`.
        needs: String,
    },
    /// No version is what was asked for.
    #[error("{agent}: {error}; `rehang agents {agent}` lists all")]
    NotThere {
        /// The agent.
        agent: String,
        /// What is wrong.
        error: NotThere,
    },
    /// Downloaded bytes do not have the registry's hash.
    #[error("{package} came with other bytes than the registry says: {said}")]
    BadBytes {
        /// The package.
        package: String,
        /// What the command said.
        said: String,
    },
    /// A package came without a hash.
    #[error("{package} came without a hash: its bytes cannot be checked")]
    NoIntegrity {
        /// The package.
        package: String,
    },
    /// A package has other bytes than when the release was first installed.
    #[error(
        "{release}: {package} has the hash {now}, but had {recorded} when it was first installed; if that is right, \
         delete its entry in {}", lock.display()
    )]
    Changed {
        /// The release.
        release: String,
        /// The package.
        package: String,
        /// Its hash then.
        recorded: String,
        /// Its hash now.
        now: String,
        /// The lock file.
        lock: PathBuf,
    },
    /// What the agent's file calls its program is not in the package.
    #[error("{agent} {version} has no {}: its file needs a quirk for this version", program.display())]
    NoProgram {
        /// The agent.
        agent: String,
        /// The release.
        version: Version,
        /// What is missing.
        program: PathBuf,
    },
}

fn remedy(tool: &str) -> &'static str {
    match tool {
        "npm" | "node" => "install Node.js 20 or later, and put it on PATH",
        "pip" => "install pip for python3 (`python3 -m ensurepip`, or your system's package `python3-pip`)",
        _ => "install Python 3.10 to 3.12, and put it on PATH",
    }
}

/// The file beside an installed release: what the release consists of.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    release: String,
    packages: Packages,
}

const MARKER: &str = "rehang-installed.json";

impl Store {
    /// The cache in a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        Store::with(dir, Commands::default())
    }

    /// As [`Store::open`], with other commands than those on `PATH`.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn with(dir: &Path, commands: Commands) -> Result<Store, StoreError> {
        let dir = std::path::absolute(dir).map_err(|error| StoreError::Io { path: dir.to_owned(), error })?;
        for part in ["hold", "staging", "versions"] {
            make(&dir.join(part))?;
        }
        Ok(Store { dir, commands })
    }

    /// The default folder of the cache: `REHANG_CACHE`, else `$XDG_CACHE_HOME/rehang`, else `~/.cache/rehang`.
    pub fn default_dir() -> PathBuf {
        let of = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let cache = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
        of("REHANG_CACHE").or_else(|| Some(cache()?.join("rehang"))).unwrap_or_else(|| PathBuf::from(".rehang-cache"))
    }

    /// The folder of the cache.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The versions that the registry has, in the order of semver, pre-releases included. A list that was read within
    /// the last ten minutes is used again; without a network, the last list there is.
    ///
    /// # Errors
    /// A registry that cannot be asked.
    pub fn versions(&self, agent: &Agent) -> Result<Vec<Version>, StoreError> {
        let source = &agent.file.source;
        let list = self.dir.join("versions").join(key(source, "list")).with_extension("json");
        let kept = || {
            let words: Vec<String> = serde_json::from_slice(&std::fs::read(&list).ok()?).ok()?;
            Some(sorted(words.iter().map(String::as_str)))
        };
        let fresh = || SystemTime::now().duration_since(std::fs::metadata(&list).ok()?.modified().ok()?).ok();
        if fresh().is_some_and(|age| age < LIST_LASTS)
            && let Some(versions) = kept()
        {
            return Ok(versions);
        }
        let asked = match source {
            Source::Npm(package) => self.commands.npm_versions(&here(package)),
            Source::Pypi(package) => self.commands.pypi_versions(package),
        };
        match asked {
            Ok(versions) => {
                // a failure does no harm: the next run asks the registry again
                let _ = self.keep(&list, &versions.iter().map(Version::to_string).collect::<Vec<_>>());
                Ok(versions)
            }
            Err(error @ StoreError::NoNetwork { .. }) => kept().ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// The versions that are meant, in the order of semver. A version that is named in full and installed already needs
    /// no registry.
    ///
    /// # Errors
    /// A registry that cannot be asked; no version is meant, with the nearest ones.
    pub fn pick(&self, agent: &Agent, wanted: &Wanted) -> Result<Vec<Version>, StoreError> {
        if let Wanted::Exact(version) = wanted
            && agent.at(version).is_ok_and(|recipe| self.place(&recipe).join(MARKER).is_file())
        {
            return Ok(vec![version.clone()]);
        }
        let all = self.versions(agent)?;
        wanted.among(&all).map_err(|error| StoreError::NotThere { agent: agent.name().to_owned(), error })
    }

    /// Whether a release is in the cache.
    pub fn has(&self, recipe: &Recipe) -> bool {
        self.place(recipe).join(MARKER).is_file()
    }

    /// Installs a release, or finds it installed. Two runs at once are fine: the second waits for the first.
    ///
    /// # Errors
    /// Why it could not be installed.
    pub fn install(&self, recipe: &Recipe, progress: &dyn Progress) -> Result<Installed, StoreError> {
        let place = self.place(recipe);
        if let Some(marker) = marker(&place) {
            return self.installed(recipe, place, marker);
        }
        let name = key(&recipe.source, &recipe.version.to_string());
        let _hold = Hold::take(&self.dir.join("hold").join(&name), || {
            progress.at(&format!("waiting for another run that installs {} {}", recipe.agent, recipe.version), 0);
        })?;
        if let Some(marker) = marker(&place) {
            return self.installed(recipe, place, marker);
        }
        let aside = self.dir.join("staging").join(&name);
        remove(&aside)?;
        remove(&place)?;
        make(&aside)?;
        let packages = match &recipe.source {
            Source::Npm(package) => self.commands.npm_install(&aside, &here(package), &recipe.version, progress),
            Source::Pypi(package) => self.commands.pypi_install(&aside, package, &recipe.version, progress),
        };
        let packages = match packages {
            Ok(packages) => packages,
            Err(error) => {
                // the first error is reported; the next run removes what is left here
                let _ = remove(&aside);
                return Err(error);
            }
        };
        let release = release(recipe);
        Lock::record(&self.dir, &release, &packages)?;
        self.keep(&aside.join(MARKER), &Marker { release: release.clone(), packages: packages.clone() })?;
        make(place.parent().unwrap_or(&self.dir))?;
        std::fs::rename(&aside, &place).map_err(|error| StoreError::Io { path: place.clone(), error })?;
        self.installed(recipe, place, Marker { release, packages })
    }

    fn installed(&self, recipe: &Recipe, root: PathBuf, marker: Marker) -> Result<Installed, StoreError> {
        let words = Words::default()
            .with("root", root.display().to_string())
            .with("arch", arch())
            .with("machine", std::env::consts::ARCH);
        let mut program: Vec<String> = recipe.program.iter().map(|part| words.fill(part)).collect();
        let mut needs = Vec::new();
        match program.first().map(String::as_str) {
            Some("node") => {
                let node = on_path("node").ok_or(StoreError::NoTool { tool: "node" })?;
                program[0] = node.display().to_string();
                needs.push(node);
            }
            Some("python3") => {
                let (file, prefix) = self.commands.python_home()?;
                program[0] = file.display().to_string();
                needs.extend([file, prefix]);
            }
            _ => {}
        }
        let inside = program.iter().map(Path::new).find(|part| part.starts_with(&root));
        if let Some(missing) = inside.filter(|part| !part.exists()) {
            let program = missing.strip_prefix(&root).unwrap_or(missing).to_owned();
            return Err(StoreError::NoProgram {
                agent: recipe.agent.clone(),
                version: recipe.version.clone(),
                program,
            });
        }
        Ok(Installed { root, program, needs, packages: marker.packages })
    }

    fn place(&self, recipe: &Recipe) -> PathBuf {
        let (registry, package) = match &recipe.source {
            Source::Npm(package) => ("npm", here(package)),
            Source::Pypi(package) => ("pypi", package.clone()),
        };
        self.dir.join(registry).join(package.replace('/', "+")).join(recipe.version.to_string())
    }

    fn keep(&self, path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
        let io = |error: std::io::Error| StoreError::Io { path: path.to_owned(), error };
        let text = serde_json::to_vec(value).map_err(|e| io(e.into()))?;
        let aside = path.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&aside, text).and_then(|()| std::fs::rename(&aside, path)).map_err(io)
    }
}

/// Node's name for this machine: `x64` or `arm64`.
pub fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn here(package: &str) -> String {
    package.replace("{arch}", arch())
}

fn release(recipe: &Recipe) -> String {
    match &recipe.source {
        Source::Npm(package) => format!("npm:{}@{}", here(package), recipe.version),
        Source::Pypi(package) => format!("pypi:{package}@{}", recipe.version),
    }
}

fn key(source: &Source, version: &str) -> String {
    let (registry, package) = match source {
        Source::Npm(package) => ("npm", here(package)),
        Source::Pypi(package) => ("pypi", package.clone()),
    };
    format!("{registry}+{}@{version}", package.replace('/', "+"))
}

fn marker(place: &Path) -> Option<Marker> {
    serde_json::from_slice(&std::fs::read(place.join(MARKER)).ok()?).ok()
}

fn make(dir: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(dir).map_err(|error| StoreError::Io { path: dir.to_owned(), error })
}

fn remove(dir: &Path) -> Result<(), StoreError> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::Io { path: dir.to_owned(), error })
        }
        _ => Ok(()),
    }
}
/// Refuses a folder of the cache that belongs to another user, or that everybody may write to: what is in it could be
/// changed, or be a trap. A folder that is not there yet is fine.
///
/// # Errors
/// It is such a folder, or cannot be looked at.
pub fn refuse_foreign(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let meta = match std::fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    let why = match meta.uid() == rustix::process::geteuid().as_raw() {
        false => "belongs to another user",
        true if meta.mode() & 0o002 != 0 => "can be written by everybody",
        true => return Ok(()),
    };
    let text = format!("{} {why}; set REHANG_CACHE to a folder of your own", folder.display());
    Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, text))
}

#[cfg(test)]
mod tests {
    use super::refuse_foreign;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_cache_of_somebody_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || refuse_foreign(folder.path()).is_err();
        let set = |mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        assert!(!refused() && refuse_foreign(&folder.path().join("new")).is_ok());
        set(0o777);
        assert!(refused());
        set(0o755);
        assert!(!refused());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
            assert!(refused());
        }
    }
}
