//! [`Workshop`]: a copy of the workspace in which faults are tried.

use core::time::Duration;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use super::Mutant;

/// Directories that are no source.
const LEFT_OUT: [&str; 2] = ["target", ".git"];

/// Tests that are asked where neither model nor simulation found anything.
const CONTRACT: [&str; 5] = ["test", "-p", "tests", "--test", "contract"];

/// A judge that takes longer than many times what it takes without a fault will not end: a fault
/// may let an elector send requests for ever.
const PATIENCE: Duration = Duration::from_secs(180);

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A copy of the workspace.
#[derive(Debug)]
pub struct Workshop {
    source: PathBuf,
    copy: PathBuf,
}

/// What came of a fault.
#[expect(clippy::exhaustive_enums, reason = "there is nothing else to find")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It was found, as said.
    Killed(String),
    /// It was not found.
    Survived(String),
}

impl Workshop {
    /// A copy of the workspace `source` below `place`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn new(source: &Path, place: &Path) -> io::Result<Self> {
        let copy = place.join("copy");
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        copy_sources(source, &copy)?;
        Ok(Self {
            source: source.into(),
            copy,
        })
    }

    /// Another copy below `place`, which begins with what was built for this one.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn another(&self, place: &Path) -> io::Result<Self> {
        let other = Self::new(&self.source, place)?;
        if !other.built().exists() {
            copy_tree(&self.built(), &other.built(), &|_| true)?;
        }
        Ok(other)
    }

    /// Tries the elector, or the heart, as it is.
    ///
    /// # Errors
    /// Where it does not build.
    pub fn try_sound(&self, of_hearts: bool) -> Result<Trial, String> {
        self.run_judges(of_hearts)
    }

    /// Tries it with a fault in it.
    ///
    /// # Errors
    /// Where the fault does not fit the source, or what comes out does not build.
    pub fn try_out(&self, mutant: &Mutant) -> Result<Trial, String> {
        let file = Path::new("core/src").join(mutant.file);
        let source = fs::read_to_string(self.source.join(&file)).map_err(told)?;
        fs::write(self.copy.join(&file), mutant.put_into(&source)?).map_err(told)?;
        let trial = self.run_judges(mutant.is_of_hearts());
        fs::write(self.copy.join(&file), source).map_err(told)?;
        trial
    }

    fn run_judges(&self, of_hearts: bool) -> Result<Trial, String> {
        let built = self.cargo(&["build", "-p", "tests", "--bin", "mutants"])?;
        if !built.status.success() {
            return Err(format!("it does not build:\n{}", text(&built.stderr)));
        }
        let judged = self.judge(if of_hearts {
            "--judge-hearts"
        } else {
            "--judge"
        })?;
        let Some(judged) = judged else {
            return Ok(Trial::Killed(format!(
                "no end within {} s",
                PATIENCE.as_secs()
            )));
        };
        if !judged.status.success() {
            return Ok(Trial::Killed(last_words(&judged)));
        }
        if of_hearts {
            // Nothing but lives and worlds counts.
            return Ok(Trial::Survived(last_words(&judged)));
        }
        let tested = self.cargo(
            &[
                &CONTRACT[..],
                &["--test", "scenarios", "--test", "watching"],
            ]
            .concat(),
        )?;
        if text(&tested.stderr).contains("could not compile") {
            return Err(format!("tests do not build:\n{}", text(&tested.stderr)));
        }
        if !tested.status.success() {
            return Ok(Trial::Killed(failures(&tested)));
        }
        Ok(Trial::Survived(last_words(&judged)))
    }

    /// Runs the judge that was built, unless it has no end.
    fn judge(&self, which: &str) -> Result<Option<Output>, String> {
        let mut child = Command::new(self.built().join("debug/mutants"))
            .arg(which)
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(told)?;
        let looks = PATIENCE.as_millis() / LOOK_EVERY.as_millis();
        for _ in 0..looks {
            if child.try_wait().map_err(told)?.is_some() {
                return child.wait_with_output().map(Some).map_err(told);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        child.kill().map_err(told)?;
        child.wait().map_err(told)?;
        Ok(None)
    }

    fn built(&self) -> PathBuf {
        self.copy.with_file_name("built")
    }

    fn cargo(&self, arguments: &[&str]) -> Result<Output, String> {
        Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(&self.copy)
            .env("CARGO_TARGET_DIR", self.built())
            .env("CARGO_INCREMENTAL", "1")
            // Quick to build, and quick enough to run.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("RUST_BACKTRACE", "0")
            .output()
            .map_err(told)
    }
}

fn told(error: io::Error) -> String {
    error.to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last line that was printed or, where there is none, the first panic.
fn last_words(output: &Output) -> String {
    let (printed, complaint) = (text(&output.stdout), text(&output.stderr));
    let panic = || complaint.split_once("panicked at ").map(|(_, what)| what);
    let first_two = |what: &str| what.lines().take(2).collect::<Vec<_>>().join(" ");
    let words = printed.lines().last().map(str::to_owned);
    words
        .or_else(|| panic().map(first_two))
        .unwrap_or_else(|| "it ended without a word".into())
}

/// How many tests failed, and the first of them.
fn failures(output: &Output) -> String {
    let printed = text(&output.stdout);
    let failed: Vec<_> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
        .collect();
    match failed.first() {
        Some(first) => format!("contract, {} tests: {first}", failed.len()),
        None => last_words(output),
    }
}

/// Copies the sources of a workspace. They keep their times, so that what has not changed is not
/// built again; but for the core's, since an earlier run may have been ended with a fault built in.
fn copy_sources(from: &Path, to: &Path) -> io::Result<()> {
    let is_source = |name: &OsStr| LEFT_OUT.iter().all(|left_out| name != *left_out);
    copy_tree(from, to, &is_source)?;
    touch_tree(&to.join("core/src"))
}

/// Copies what `is_wanted` by its name, with the times of files.
fn copy_tree(from: &Path, to: &Path, is_wanted: &dyn Fn(&OsStr) -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if !is_wanted(&entry.file_name()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_tree(&source, &target, is_wanted)?;
        } else {
            fs::copy(&source, &target)?;
            set_modified(&target, entry.metadata()?.modified()?)?;
        }
    }
    Ok(())
}

/// Makes all files below `place` new.
fn touch_tree(place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        if path.is_dir() {
            touch_tree(&path)?;
        } else {
            let text = fs::read(&path)?;
            fs::write(&path, text)?;
        }
    }
    Ok(())
}

fn set_modified(file: &Path, time: SystemTime) -> io::Result<()> {
    fs::File::options()
        .write(true)
        .open(file)?
        .set_modified(time)
}
