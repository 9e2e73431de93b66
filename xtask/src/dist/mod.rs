//! What people download: one stripped binary, as an archive, as a wheel, and as packages of npm, each with its manual pages; with
//! the archive and the wheel a library for other programs. Beside them is the list of all crates in the binary (SBOM).
//!
//! Invariants: each of them holds the same binary, of this machine's platform, and that binary has at most
//! [`BINARY_MAX`] bytes; nothing is written outside of the target folder, and nothing is published.

mod check;

use crate::shipped::Shipped;
use crate::tools;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The most bytes of the binary: 20 MiB.
const BINARY_MAX: u64 = 20 << 20;
/// The library, as cargo calls it.
const LIBRARY: &str = "librehang_c.so";
/// Files beside the binary in the archive.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// What is known of the command from its manifest.
struct About {
    version: String,
    description: String,
    license: String,
    repository: String,
}

/// What was built.
struct Built {
    /// The platform as cargo names it: `x86_64-unknown-linux-gnu`.
    target: String,
    archive: PathBuf,
    wheel: PathBuf,
    /// The packages of npm: the platform's, and the launcher.
    npm: [PathBuf; 2],
}

/// Builds all of it into `target/dist`; with `check`, installs each in an empty root and runs it there. Returns 1 if the
/// binary is too large, or if what was installed does not do what it must.
pub fn dist(sh: &Shell, check: bool) -> xshell::Result<u8> {
    let out = tools::target().join("dist");
    // an older version's files would be published too
    sh.remove_path(&out)?;
    sh.create_dir(&out)?;
    let shipped = Shipped::build(sh, tools::REHANG)?;
    let binary = &shipped.binary;
    let about = about(sh)?;
    let library = library(sh, &shipped.target)?;
    let manual = out.join("man/man1");
    cmd!(sh, "{binary} man --dir {manual}").quiet().run()?;
    let archive = archive(sh, &out, &shipped, [&library, &out.join("man")])?;
    let wheel = wheel(sh, &out, &shipped, [&library, &manual])?;
    let sbom = sbom(sh, &out, &shipped.target, &wheel)?;
    let npm = npm(sh, &out, [binary, &manual], &about)?;
    let built = Built { target: shipped.target.clone(), archive, wheel, npm };
    let files = [binary, &library, &built.archive, &sbom, &built.wheel].into_iter().chain(&built.npm);
    for file in files {
        println!("{:>9}  {}", human(size(file)), file.display());
    }
    if size(binary) > BINARY_MAX {
        eprintln!("error: the binary has more than {} MiB", BINARY_MAX >> 20);
        return Ok(1);
    }
    if check { check::check(sh, &out, &built) } else { Ok(0) }
}

/// The length of a file in bytes; 0 if it does not exist.
fn size(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |meta| meta.len())
}

/// A size for people.
fn human(bytes: u64) -> String {
    let kibibytes = bytes as f64 / 1024.0;
    if kibibytes < 1024.0 { format!("{kibibytes:.1} KiB") } else { format!("{:.1} MiB", kibibytes / 1024.0) }
}

fn about(sh: &Shell) -> xshell::Result<About> {
    let text = cmd!(sh, "cargo metadata --format-version 1 --no-deps --offline").quiet().read()?;
    let all: Value = serde_json::from_str(&text).unwrap_or_default();
    let packages = all["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let command = packages.iter().find(|package| package["name"] == "rehang").unwrap_or(&Value::Null);
    let text = |key: &str| command[key].as_str().unwrap_or_default().to_owned();
    let [version, description, license, repository] = ["version", "description", "license", "repository"].map(text);
    Ok(About { version, description, license, repository })
}

/// The library, which other programs load: built apart, since a panic in it must not end them.
fn library(sh: &Shell, target: &str) -> xshell::Result<PathBuf> {
    cmd!(sh, "cargo build --locked --profile embedded --package rehang-c-api --target {target}").quiet().run()?;
    Ok(tools::target().join(target).join("embedded").join(LIBRARY))
}

/// `rehang-TARGET.tar.gz`, as the metadata for cargo-binstall in `harness/cli/Cargo.toml` says.
fn archive(
    sh: &Shell,
    out: &Path,
    Shipped { target, binary, .. }: &Shipped,
    [library, manual]: [&Path; 2],
) -> xshell::Result<PathBuf> {
    let name = format!("rehang-{target}");
    let folder = out.join("archive").join(&name);
    sh.create_dir(&folder)?;
    for file in [binary.as_path(), library, &tools::root().join("harness/c-api/include/rehang.h")] {
        sh.copy_file(file, &folder)?;
    }
    for file in LICENCES {
        sh.copy_file(tools::root().join(file), &folder)?;
    }
    cmd!(sh, "cp --recursive {manual} {folder}").quiet().run()?;
    let (archive, above) = (out.join(format!("{name}.tar.gz")), out.join("archive"));
    // neither times nor owners: the same binary makes the same archive
    let same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
    cmd!(sh, "tar --create --gzip {same...} --file {archive} --directory {above} {name}").quiet().run()?;
    Ok(archive)
}

/// A wheel with the binary, the Python module and its library, made by maturin, which a virtual environment in the target
/// folder holds.
fn wheel(sh: &Shell, out: &Path, shipped: &Shipped, [library, manual]: [&Path; 2]) -> xshell::Result<PathBuf> {
    let venv = tools::target().join("dist-tools");
    let maturin = venv.join("bin/maturin");
    if !maturin.exists() {
        let pip = venv.join("bin/pip");
        cmd!(sh, "python3 -m venv {venv}").quiet().run()?;
        cmd!(sh, "{pip} install --quiet --disable-pip-version-check maturin>=1.9,<2").quiet().run()?;
    }
    let (from, made) = (tools::root().join("packaging/python"), out.join("python"));
    sh.create_dir(made.join("rehang"))?;
    sh.copy_file(from.join("README.md"), &made)?;
    for file in [from.join("rehang/__init__.py"), from.join("rehang/py.typed"), library.to_owned()] {
        sh.copy_file(file, made.join("rehang"))?;
    }
    // pip copies what is in this folder into the environment: so `man rehang` finds the pages there
    let shared = made.join("data/data/share/man");
    sh.create_dir(&shared)?;
    cmd!(sh, "cp --recursive {manual} {shared}").quiet().run()?;
    // maturin puts into the wheel what lies in that folder, and the library is not to lie in the repository
    let project = sh.read_file(from.join("pyproject.toml"))?;
    let harness = tools::root().join("harness");
    sh.write_file(made.join("pyproject.toml"), project.replace("../../harness", &harness.to_string_lossy()))?;
    let _in = sh.push_dir(&made);
    let _target = sh.push_env("CARGO_TARGET_DIR", tools::target());
    let _same = shipped.variables().map(|(name, value)| sh.push_env(name, value));
    cmd!(sh, "{maturin} build --quiet --out {out}").quiet().run()?;
    find(sh, out, ".whl")
}

/// `rehang-TARGET.cdx.json`, the crates of the binary in the form of CycloneDX: maturin has put it into the wheel.
fn sbom(sh: &Shell, out: &Path, target: &str, wheel: &Path) -> xshell::Result<PathBuf> {
    let listed = cmd!(sh, "python3 -m zipfile --list {wheel}").quiet().read()?;
    let inside = listed.split_whitespace().find(|word| word.ends_with(".cyclonedx.json")).unwrap_or_default();
    let (unpacked, file) = (out.join("sbom"), out.join(format!("rehang-{target}.cdx.json")));
    cmd!(sh, "python3 -m zipfile --extract {wheel} {unpacked}").quiet().run()?;
    sh.copy_file(unpacked.join(inside), &file)?;
    Ok(file)
}

/// The packages of npm, made of `packaging/npm`: the launcher, and the platform's with the binary.
fn npm(sh: &Shell, out: &Path, [binary, manual]: [&Path; 2], about: &About) -> xshell::Result<[PathBuf; 2]> {
    let from = tools::root().join("packaging/npm");
    let cpu = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    let mut packed = Vec::new();
    for (folder, name) in [("platform", format!("@rehang/linux-{cpu}")), ("rehang", "rehang".to_owned())] {
        let made = out.join("npm").join(folder);
        sh.create_dir(made.join("bin"))?;
        let text = sh.read_file(from.join(folder).join("package.json"))?;
        let mut package: Value = serde_json::from_str(&text).unwrap_or_default();
        package["name"] = json!(name);
        for (key, value) in
            [("version", &about.version), ("license", &about.license), ("repository", &about.repository)]
        {
            package[key] = json!(value);
        }
        if folder == "platform" {
            package["cpu"] = json!([cpu]);
            sh.copy_file(binary, made.join("bin/rehang"))?;
        } else {
            package["description"] = json!(about.description);
            sh.create_dir(made.join("man"))?;
            let pages = sh.read_dir(manual)?;
            for page in &pages {
                sh.copy_file(page, made.join("man"))?;
            }
            let names = pages.iter().filter_map(|page| Some(format!("man/{}", page.file_name()?.to_str()?)));
            package["man"] = names.collect();
            for version in package["optionalDependencies"].as_object_mut().into_iter().flat_map(|all| all.values_mut())
            {
                *version = json!(about.version);
            }
            sh.copy_file(from.join("rehang/bin/rehang.js"), made.join("bin"))?;
            sh.create_dir(made.join("lib"))?;
            for file in sh.read_dir(from.join("rehang/lib"))? {
                sh.copy_file(file, made.join("lib"))?;
            }
        }
        sh.write_file(made.join("package.json"), format!("{package:#}\n"))?;
        for file in LICENCES.map(|file| tools::root().join(file)).into_iter().chain([from.join("README.md")]) {
            sh.copy_file(file, &made)?;
        }
        let _in = sh.push_dir(&made);
        let file = cmd!(sh, "npm pack --silent --pack-destination {out}").quiet().read()?;
        packed.push(out.join(file.trim()));
    }
    Ok([packed.remove(0), packed.remove(0)])
}

/// The file of a folder whose name ends with this.
fn find(sh: &Shell, folder: &Path, ending: &str) -> xshell::Result<PathBuf> {
    let all = sh.read_dir(folder)?;
    let found = all.into_iter().find(|path| path.to_string_lossy().ends_with(ending));
    Ok(found.unwrap_or_else(|| folder.join(ending)))
}
