//! Why a peg-out request is refused (`RejectedPegoutReason`).

/// Codes of the event `release_request_rejected`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectedRequest {
    /// Below the minimum.
    LowAmount,
    /// Sent by a contract, from which no Bitcoin address can be derived.
    CallerContract,
    /// The fee would take too much of it.
    FeeAboveValue,
}

impl RejectedRequest {
    /// The event's number.
    pub const fn code(self) -> i32 {
        match self {
            RejectedRequest::LowAmount => 1,
            RejectedRequest::CallerContract => 2,
            RejectedRequest::FeeAboveValue => 3,
        }
    }
}
