//! How the Bridge's own code fails, kept apart by what rskj's callers do with it.

use std::borrow::Cow;

use rhizome_primitives::rlp::RlpError;

use crate::host::{HostFault, NoFederation};

/// What takes the place of a Java exception inside the Bridge.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// rskj's `BridgeIllegalArgumentException`: before RSKIP-88 the call ends with null and without saving.
    #[error("{0}")]
    Illegal(Cow<'static, str>),
    /// Any other exception of rskj.
    #[error("{0}")]
    Threw(Cow<'static, str>),
    /// The state is not available: never swallowed.
    #[error(transparent)]
    Host(#[from] HostFault),
}

/// Result of everything that can fail as rskj's code does.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// An illegal argument.
    pub fn illegal(message: impl Into<Cow<'static, str>>) -> Self {
        Failure::Illegal(message.into())
    }

    /// Any other exception.
    pub fn threw(message: impl Into<Cow<'static, str>>) -> Self {
        Failure::Threw(message.into())
    }

    /// An illegal argument inside a method that wraps everything into its own exception.
    pub fn wrapped(self) -> Self {
        match self {
            Failure::Illegal(message) => Failure::Threw(message),
            other => other,
        }
    }
}

impl From<RlpError> for Failure {
    fn from(error: RlpError) -> Self {
        Failure::Threw(format!("stored cell does not decode: {error}").into())
    }
}

impl From<NoFederation> for Failure {
    fn from(missing: NoFederation) -> Self {
        Failure::Threw(missing.to_string().into())
    }
}

/// Java's `catch (Exception e)`: the value, or nothing where the code threw.
///
/// # Errors
/// A fault of the node passes through.
pub fn caught<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Failure::Host(fault)) => Err(Failure::Host(fault)),
        Err(Failure::Illegal(_) | Failure::Threw(_)) => Ok(None),
    }
}
