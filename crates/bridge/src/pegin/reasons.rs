//! Why a peg-in is refused (`RejectedPeginReason`), and why nothing goes back (`NonRefundablePeginReason`).

/// Codes of the event `rejected_pegin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectedPegin {
    /// More than the locking cap allows.
    CapSurpassed,
    /// Sent by several keys without saying who receives it.
    LegacyMultisigSender,
    /// Sent by nobody that could be made out.
    LegacyUndeterminedSender,
    /// The data output is for Rootstock but not as it should be.
    InvalidPayload,
    /// An output is below the minimum.
    InvalidAmount,
}

impl RejectedPegin {
    /// The event's number.
    pub const fn code(self) -> i32 {
        match self {
            RejectedPegin::CapSurpassed => 1,
            RejectedPegin::LegacyMultisigSender => 2,
            RejectedPegin::LegacyUndeterminedSender => 3,
            RejectedPegin::InvalidPayload => 4,
            RejectedPegin::InvalidAmount => 5,
        }
    }
}

/// Codes of the event `unrefundable_pegin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnrefundablePegin {
    /// Nobody to send it to.
    LegacyUndeterminedSender,
    /// Version 1 without an address for refunds.
    RefundAddressNotSet,
    /// An output is below the minimum.
    InvalidAmount,
    /// Outputs to federations of different formats: no transaction could spend both.
    DifferentFederations,
}

impl UnrefundablePegin {
    /// The event's number.
    pub const fn code(self) -> i32 {
        match self {
            UnrefundablePegin::LegacyUndeterminedSender => 1,
            UnrefundablePegin::RefundAddressNotSet => 2,
            UnrefundablePegin::InvalidAmount => 3,
            UnrefundablePegin::DifferentFederations => 4,
        }
    }
}
