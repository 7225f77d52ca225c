//! Everything that can go wrong, and how it is told: one line on standard error, an exit code, one JSON object.

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;

use rhizome_chain::{BlockSummary, ChainError, InvalidBlock};
use rhizome_primitives::{Address, B256};
use rhizome_storage::{DatadirError, StorageError};
use serde::Serialize;

/// Why a command failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The command line asks for something that makes no sense.
    Usage {
        /// What and why.
        message: String,
    },
    /// A file from outside, or something asked for, is not as it should be.
    Input {
        /// What is wrong.
        message: String,
        /// The file.
        file: Option<PathBuf>,
        /// The line, from 1.
        line: Option<u64>,
        /// The block that the line holds.
        block: Option<(u64, B256)>,
    },
    /// A block breaks a rule.
    InvalidBlock {
        /// The verdict.
        invalid: Box<InvalidBlock>,
        /// The file.
        file: Option<PathBuf>,
        /// The line, from 1.
        line: Option<u64>,
    },
    /// A block needs a part of the protocol that this build does not have.
    NotBuilt {
        /// The whole story.
        message: String,
        /// The call.
        call: Box<NotBuiltCall>,
    },
    /// Our own storage failed or belongs to something else.
    Store {
        /// What happened.
        message: String,
        /// The block at which it happened.
        block: Option<(u64, B256)>,
    },
    /// A broken invariant of our own.
    Internal {
        /// What contradicts what.
        message: String,
        /// The block at which it happened.
        block: Option<(u64, B256)>,
    },
    /// The user asked to stop.
    Interrupted {
        /// Where it stopped, and what holds.
        message: String,
        /// The last block that is done, for commands that go block by block.
        block: Option<(u64, B256)>,
    },
    /// Nobody reads our output any more.
    OutputClosed,
}

/// A call of a contract that this build does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotBuiltCall {
    /// The block's number.
    pub block: u64,
    /// The block's hash.
    pub hash: B256,
    /// The called contract.
    pub to: Address,
    /// The first four bytes of the input, in hex.
    pub selector: String,
    /// The transaction.
    pub tx: B256,
}

impl Failure {
    /// Wrong usage.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into() }
    }

    /// Wrong input without a place in a block file.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input { message: message.into(), file: None, line: None, block: None }
    }

    /// A file of ours that cannot be made; `option` names it.
    pub(crate) fn create(path: &std::path::Path, option: &str, error: &std::io::Error) -> Self {
        Self::store(with_advice(format!(
            "{} cannot be made: {error}; expected a place in a directory that exists and may be written to, choose another \
             {option}",
            path.display()
        )))
    }

    /// Output that could not be written.
    pub(crate) fn output(place: impl Display, error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::OutputClosed;
        }
        Self::store(format!("{place}: {error}"))
    }

    fn store(message: String) -> Self {
        Self::Store { message, block: None }
    }

    /// Trouble of the chain while it looked at a block.
    pub(crate) fn chain(error: ChainError, at: Option<BlockSummary>) -> Self {
        let block = at.map(|summary| (summary.number, summary.hash));
        let message = error.to_string();
        match error {
            ChainError::NotBuilt { number, hash, to, selector, tx } => {
                let call = NotBuiltCall { block: number, hash, to, selector, tx };
                Self::NotBuilt { message, call: Box::new(call) }
            }
            ChainError::Internal { number, hash, .. } => Self::Internal { message, block: Some((number, hash)) },
            _ => Self::Store { message: with_advice(message), block },
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Usage { .. } => "usage",
            Self::Input { .. } => "input",
            Self::InvalidBlock { .. } => "invalidBlock",
            Self::NotBuilt { .. } => "notBuilt",
            Self::Store { .. } => "store",
            Self::Internal { .. } => "internal",
            Self::Interrupted { .. } => "interrupted",
            Self::OutputClosed => "output",
        }
    }

    /// The one line.
    pub(crate) fn message(&self) -> String {
        let text = match self {
            Self::Usage { message }
            | Self::NotBuilt { message, .. }
            | Self::Internal { message, .. }
            | Self::Interrupted { message, .. } => message.clone(),
            Self::Input { message, file, line, .. } => format!("{}{message}", place(file, *line)),
            Self::InvalidBlock { invalid, file, line } => {
                format!("{}{invalid}{}", place(file, *line), what_to_send(invalid))
            }
            Self::Store { message, block: Some((number, hash)) } => format!("at block {number} ({hash}): {message}"),
            Self::Store { message, block: None } => message.clone(),
            Self::OutputClosed => "output closed".to_owned(),
        };
        text.replace(['\n', '\r'], " ")
    }

    /// Tells it and gives the exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if matches!(self, Self::OutputClosed) {
            return ExitCode::SUCCESS;
        }
        eprintln!("error: {}", self.message());
        if json {
            crate::report::print_json(&self.object());
        }
        ExitCode::from(match self {
            Self::Usage { .. } => 2,
            Self::Interrupted { .. } => crate::interrupt::EXIT_CODE,
            _ => 1,
        })
    }

    fn object(&self) -> FailureReport {
        let mut error = ErrorReport { kind: self.kind(), message: self.message(), ..ErrorReport::default() };
        let mut at = |block: &Option<(u64, B256)>| {
            error.block = block.map(|(number, _)| number);
            error.hash = block.map(|(_, hash)| hash.to_string());
        };
        match self {
            Self::Input { file, line, block, .. } => {
                at(block);
                error.file = file.as_ref().map(|file| file.display().to_string());
                error.line = *line;
            }
            Self::InvalidBlock { invalid, file, line } => {
                at(&Some((invalid.number, invalid.hash)));
                error.rule = Some(invalid.rule);
                error.expected = Some(invalid.expected.clone());
                error.got = Some(invalid.got.clone());
                error.tx = invalid.tx.map(|tx| tx.to_string());
                error.file = file.as_ref().map(|file| file.display().to_string());
                error.line = *line;
            }
            Self::NotBuilt { call, .. } => {
                at(&Some((call.block, call.hash)));
                error.call = Some(CallReport {
                    to: call.to.to_string().to_lowercase(),
                    selector: format!("0x{}", call.selector.trim_start_matches("0x")),
                    tx: call.tx.to_string(),
                });
            }
            Self::Store { block, .. } | Self::Internal { block, .. } | Self::Interrupted { block, .. } => at(block),
            Self::Usage { .. } | Self::OutputClosed => {}
        }
        FailureReport { ok: false, error }
    }
}

fn place(file: &Option<PathBuf>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", file.display()),
        (Some(file), None) => format!("{}: ", file.display()),
        (None, _) => String::new(),
    }
}

/// What execution determines and the block states otherwise may be our mistake as well.
fn what_to_send(invalid: &InvalidBlock) -> &'static str {
    match invalid.rule {
        "StateRoot" | "ReceiptsRoot" | "GasUsed" | "PaidFees" | "LogsBloom" => {
            "; if other nodes accept this block, please report this line together with the block's line of the file"
        }
        _ => "",
    }
}

/// A full disk has a remedy that is worth a word.
fn with_advice(message: String) -> String {
    if message.contains("No space left on device") {
        return format!("{message}; free some space and run the same command again: what is stored so far is intact");
    }
    message
}

impl From<DatadirError> for Failure {
    fn from(error: DatadirError) -> Self {
        Self::store(with_advice(error.to_string()))
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Refused(message) => Self::input(message),
            other => Self::store(with_advice(other.to_string())),
        }
    }
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Storage(error) => error.into(),
            other => Self::chain(other, None),
        }
    }
}

#[derive(Serialize)]
struct FailureReport {
    ok: bool,
    error: ErrorReport,
}

#[derive(Default, Serialize)]
struct ErrorReport {
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    got: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<CallReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

#[derive(Serialize)]
struct CallReport {
    to: String,
    selector: String,
    tx: String,
}
