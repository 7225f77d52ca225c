//! The real program under test.
#![allow(dead_code, unreachable_pub)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The built program; the first call builds it, which is no work when it is up to date.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--locked", "-p", "rhizome-node"])
            .current_dir(rhizome_tests::repository())
            .status()
            .unwrap();
        assert!(status.success(), "the program does not build");
        // Tests are in target/release/deps.
        let test = std::env::current_exe().unwrap();
        let path = test.parent().and_then(Path::parent).unwrap().join("rhizome");
        assert!(path.exists(), "{} is missing", path.display());
        path
    })
}

/// A finished run.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The object in the last line of standard output.
    pub fn json(&self) -> Value {
        let last = self.stdout.lines().last().unwrap_or_else(|| panic!("no output: {self:?}"));
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"))
    }

    pub fn assert_ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// A failure is exit code 1 or 2, one line with these words on standard error, and no panic.
    pub fn assert_failure(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        let lines: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(lines.len(), 1, "{self:?}");
        for word in words {
            assert!(lines[0].contains(word), "{word:?} is not in: {}", lines[0]);
        }
        self
    }
}

pub fn command() -> Command {
    let mut command = Command::new(binary());
    for variable in
        ["RHIZOME_CHAIN", "RHIZOME_DATADIR", "RHIZOME_CONFIG", "RHIZOME_TRIE_ENGINE", "RHIZOME_EXECUTOR", "RUST_LOG"]
    {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null());
    command
}

pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    let mut command = command();
    command.args(arguments);
    finish(command.output().unwrap())
}

pub fn finish(output: Output) -> Run {
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Arguments of different kinds as one list.
#[macro_export]
macro_rules! arguments {
    ($($argument:expr),* $(,)?) => {
        [$(std::ffi::OsString::from(&$argument)),*]
    };
}
