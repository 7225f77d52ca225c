//! How the Bridge's own code fails, kept apart by what rskj's callers do with it.

use std::borrow::Cow;

use rhizome_primitives::rlp::RlpError;

use crate::host::HostFault;

/// What takes the place of a Java exception inside the Bridge.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
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
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn illegal(message: impl Into<Cow<'static, str>>) -> Self {
        Failure::Illegal(message.into())
    }

    pub(crate) fn threw(message: impl Into<Cow<'static, str>>) -> Self {
        Failure::Threw(message.into())
    }

    /// An illegal argument inside a method that wraps everything into its own exception.
    pub(crate) fn wrapped(self) -> Self {
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

/// Java's `catch (Exception e)`: the value, or nothing where the code threw. A fault of the node passes through.
pub(crate) fn caught<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Failure::Host(fault)) => Err(Failure::Host(fault)),
        Err(Failure::Illegal(_) | Failure::Threw(_)) => Ok(None),
    }
}
