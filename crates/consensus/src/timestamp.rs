//! Time: not too far ahead of the clock, close to the Bitcoin header's, and later than the parent's.

use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::BlockHeader;

use crate::bitcoin::BtcHeader;
use crate::error::RuleError;
use crate::rule::{HeaderRule, ParentRule, Rule};

/// One rule with three parts. On a network without an allowed lead over the clock, which is regtest, all of it is off.
///
/// As a header rule it asks for clock and Bitcoin time; as a parent rule for these and the order. Importing a block asks the
/// header rule only, so there the order counts for uncles alone.
#[derive(Clone, Copy, Debug)]
pub struct BlockTimeStampValidationRule<'a> {
    /// The network.
    pub spec: &'a ChainSpec,
    /// Seconds since 1970; without it the clock is not asked.
    pub clock: Option<u64>,
}

impl BlockTimeStampValidationRule<'_> {
    const fn is_off(&self) -> bool {
        self.spec.constants.new_block_max_seconds_in_the_future == 0
    }

    fn check_clock(&self, header: &BlockHeader) -> Result<(), RuleError> {
        let Some(now) = self.clock else {
            return Ok(());
        };
        let lead = self.spec.constants.new_block_max_seconds_in_the_future;
        if header.timestamp <= now.saturating_add(lead) {
            return Ok(());
        }
        Err(RuleError::broken(format_args!("a time of at most {now} + {lead}"), header.timestamp))
    }

    /// RSKIP179, RSKIP297.
    fn check_bitcoin_time(&self, header: &BlockHeader) -> Result<(), RuleError> {
        let activations = self.spec.activations(header.number);
        if !activations.is_active(Rskip::R179) {
            return Ok(());
        }
        let distance = self.spec.max_timestamp_distance(activations);
        let expected = format_args!("a Bitcoin time less than {distance} seconds from {}", header.timestamp);
        match BtcHeader::parse(&header.mining.btc_header) {
            Ok(bitcoin) if u64::from(bitcoin.time).abs_diff(header.timestamp) < distance => Ok(()),
            Ok(bitcoin) => Err(RuleError::broken(expected, bitcoin.time)),
            Err(error) => Err(RuleError::broken(expected, error)),
        }
    }

    /// The part that needs the parent.
    pub(crate) fn check_order(&self, header: &BlockHeader, parent: &BlockHeader) -> Result<(), RuleError> {
        if self.is_off() || header.timestamp > parent.timestamp {
            return Ok(());
        }
        Err(RuleError::broken(format_args!("a time after the parent's {}", parent.timestamp), header.timestamp))
    }
}

impl Rule for BlockTimeStampValidationRule<'_> {
    const NAME: &'static str = "BlockTimeStampValidationRule";
}

impl HeaderRule for BlockTimeStampValidationRule<'_> {
    fn check(&self, header: &BlockHeader) -> Result<(), RuleError> {
        if self.is_off() {
            return Ok(());
        }
        self.check_clock(header)?;
        self.check_bitcoin_time(header)
    }
}

impl ParentRule for BlockTimeStampValidationRule<'_> {
    fn check(&self, header: &BlockHeader, parent: &BlockHeader) -> Result<(), RuleError> {
        HeaderRule::check(self, header)?;
        self.check_order(header, parent)
    }
}
