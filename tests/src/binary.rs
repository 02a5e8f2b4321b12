//! Where is the `quorate` program that belongs to this test run?

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

static PATH: OnceLock<PathBuf> = OnceLock::new();

/// The program, built from the present sources if it is not yet, in the profile of the running test.
///
/// `QUORATE_BIN` names another one, an image under test for instance.
pub fn path() -> Result<&'static Path> {
    if let Some(found) = PATH.get() {
        return Ok(found);
    }
    let found = match std::env::var_os("QUORATE_BIN") {
        Some(given) => PathBuf::from(given),
        None => find_or_build()?,
    };
    Ok(PATH.get_or_init(|| found))
}

fn find_or_build() -> Result<PathBuf> {
    // A test program is TARGET/PROFILE/deps/name-hash.
    let test = std::env::current_exe().context("cannot tell where the test program is")?;
    let folder =
        test.parent().and_then(Path::parent).context("the test program is not in a target folder")?;
    let binary = folder.join("quorate").with_extension(std::env::consts::EXE_EXTENSION);
    let root = workspace_root();
    if !is_fresh(&binary, &root)? {
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let target = folder.parent().context("the profile folder is in no target folder")?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--workspace", "--bin", "quorate", "--profile", profile])
            .current_dir(&root)
            .env("CARGO_TARGET_DIR", target)
            .status()
            .context("cannot run cargo to build the program under test")?;
        ensure!(status.success(), "the program under test does not build");
    }
    ensure!(binary.exists(), "{} is not there after its build", binary.display());
    Ok(binary)
}

/// The root of the workspace these tests are in.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the tests are in a folder of the workspace").to_path_buf()
}

/// Whether the program is newer than every source it is made from.
fn is_fresh(binary: &Path, root: &Path) -> Result<bool> {
    let Ok(built) = binary.metadata().and_then(|m| m.modified()) else { return Ok(false) };
    let mut newest = SystemTime::UNIX_EPOCH;
    for part in ["node", "cluster", "api"] {
        newest = newest.max(newest_source(&root.join(part))?);
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        newest = newest.max(root.join(file).metadata()?.modified()?);
    }
    Ok(built >= newest)
}

fn newest_source(folder: &Path) -> Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !["tests", "benches", "target", "node_modules"].contains(&name) {
                newest = newest.max(newest_source(&path)?);
            }
        } else if name.ends_with(".rs") || name == "Cargo.toml" {
            newest = newest.max(path.metadata()?.modified()?);
        }
    }
    Ok(newest)
}
