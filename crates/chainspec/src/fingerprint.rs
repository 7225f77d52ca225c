//! The rules fingerprint: a data directory written under other rules is refused by it.
//!
//! The hash covers a text with one fact a line, so that a change of any struct's layout does not move it. The name, the ports
//! and the peers are no rules and stay out.

use std::fmt::Write;

use rhizome_primitives::{B256, keccak256};

use crate::rskip::Rskip;
use crate::spec::ChainSpec;

pub(crate) fn of(spec: &ChainSpec) -> B256 {
    keccak256(text(spec).as_bytes())
}

fn text(spec: &ChainSpec) -> String {
    let mut out = String::from("rhizome rules 1\n");
    // Writing to a String cannot fail.
    let mut line = |name: &str, value: &dyn std::fmt::Debug| {
        let _ = writeln!(out, "{name} {value:?}");
    };
    line("network", &spec.network.name());
    line("chainId", &spec.identity.chain_id);
    for &rule in Rskip::ALL {
        // A rule that never comes says nothing, so a release that knows more rules still opens the directory.
        if let Some(height) = spec.heights.rule(rule) {
            line(rule.key(), &height);
        }
    }

    let constants = &spec.constants;
    line("durationLimit", &constants.duration_limit);
    line("minimumDifficulty", &constants.minimum_difficulty);
    line("minimumDifficultyRskip290", &constants.minimum_difficulty_rskip290);
    line("fallbackMiningDifficulty", &constants.fallback_mining_difficulty);
    line("difficultyDivisor", &constants.difficulty_divisor);
    line("difficultyDivisorRskip156", &constants.difficulty_divisor_rskip156);
    line("maxSecondsInTheFuture", &constants.new_block_max_seconds_in_the_future);
    line("maxTimestampDistance", &constants.max_timestamp_distance);
    line("maxTimestampDistanceRskip297", &constants.max_timestamp_distance_rskip297);
    line("minSequentialGas", &constants.min_sequential_gas);

    let remasc = &spec.remasc;
    line("remascMaturity", &remasc.maturity);
    line("remascSpan", &remasc.synthetic_span);
    line("remascLabs", &remasc.labs_address);
    line("remascLabsRskip218", &remasc.labs_address_rskip218);
    line(
        "remascDivisors",
        &[
            remasc.labs_divisor,
            remasc.federation_divisor,
            remasc.punishment_divisor,
            remasc.publishers_divisor,
            remasc.late_uncle_inclusion_punishment_divisor,
            remasc.paid_fees_multiplier,
            remasc.paid_fees_divisor,
        ],
    );

    let genesis = &spec.genesis;
    line("parentHash", &genesis.parent_hash);
    line("coinbase", &genesis.coinbase);
    line("difficulty", &genesis.difficulty);
    line("gasLimit", &genesis.gas_limit);
    line("timestamp", &genesis.timestamp);
    line("extraData", &genesis.extra_data);
    line("minimumGasPrice", &genesis.minimum_gas_price);
    line("mining", &[&genesis.btc_header, &genesis.merkle_proof, &genesis.btc_coinbase]);
    line("stateRoot", &genesis.state_root);
    for account in &genesis.alloc {
        line("account", &(account.address, account.nonce, account.balance));
        if let Some(contract) = &account.contract {
            line("code", &contract.code);
            for (slot, value) in &contract.storage {
                line("cell", &(slot, value));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activations::Activations;
    use crate::network::Network;

    #[test]
    fn fingerprints_tell_networks_and_rules_apart() {
        let mut seen: Vec<B256> = Network::ALL.iter().map(|network| network.spec().fingerprint()).collect();
        seen.push(ChainSpec::regtest().with_fixed_rules(Activations::NONE).fingerprint());
        let mut rich = ChainSpec::regtest();
        rich.genesis.alloc[0].balance += rhizome_primitives::U256::from(1);
        seen.push(rich.fingerprint());
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }
}
