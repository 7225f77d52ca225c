//! Chain files: a built-in network with other heights and another genesis.
//!
//! ```json
//! {"base":"regtest","genesis":"genesis.json","activations":{"orchid":60},"rskips":{"rskip97":60}}
//! ```
//! `rskips` beats `activations`, which beats the base. A moved upgrade takes its rules along, except those that the base places
//! by themselves. A height of −1 is never. The genesis file lies beside the chain file, in rskj's form.

use std::path::Path;

use crate::activations::ActivationHeights;
use crate::error::ChainSpecError;
use crate::json::{Json, Place, read};
use crate::network::Network;
use crate::rskip::{NetworkUpgrade, Rskip};
use crate::spec::ChainSpec;

const KEYS: &[&str] = &["base", "genesis", "activations", "rskips"];

impl ChainSpec {
    /// Reads a chain file and the genesis file it names.
    ///
    /// # Errors
    /// [`ChainSpecError`], which names file, place and what may stand there.
    pub fn from_file(path: &Path) -> Result<Self, ChainSpecError> {
        let document = read(path)?;
        let mut chain = parse(path, &document)?;
        let mut spec = chain.base.spec();
        spec.name = path.display().to_string();
        spec.heights = chain.heights();
        if let Some(genesis) = &chain.genesis {
            let beside = path.parent().unwrap_or_else(|| Path::new("")).join(genesis);
            spec.genesis = crate::genesis_file::from_file(&beside)?;
        }
        Ok(spec)
    }
}

/// What a chain file says.
#[derive(Debug)]
struct ChainFile {
    base: Network,
    genesis: Option<String>,
    activations: Vec<(NetworkUpgrade, Option<u64>)>,
    rskips: Vec<(Rskip, Option<u64>)>,
}

impl ChainFile {
    /// The heights: later entries beat earlier ones, so the base comes first.
    fn heights(&mut self) -> ActivationHeights {
        let mut upgrades = self.base.upgrade_heights();
        upgrades.append(&mut self.activations);
        let mut pinned = self.base.pinned_rules().to_vec();
        pinned.append(&mut self.rskips);
        ActivationHeights::new(&upgrades, &pinned)
    }
}

fn parse(path: &Path, document: &Json) -> Result<ChainFile, ChainSpecError> {
    let root = Place::root(path, document);
    let mut base = None;
    let mut genesis = None;
    let mut activations = Vec::new();
    let mut rskips = Vec::new();
    for (key, member) in root.members()? {
        match key {
            "base" => base = Some(network(&member)?),
            "genesis" => genesis = Some(member.text()?.to_owned()),
            "activations" => {
                for (key, at) in member.members()? {
                    let upgrade = NetworkUpgrade::from_key(key).ok_or_else(|| unknown_height(&member, key, true))?;
                    activations.push((upgrade, height(&at)?));
                }
            }
            "rskips" => {
                for (key, at) in member.members()? {
                    let rule = Rskip::from_key(key).ok_or_else(|| unknown_height(&member, key, false))?;
                    rskips.push((rule, height(&at)?));
                }
            }
            _ => return Err(root.unknown(key, KEYS)),
        }
    }
    let base = base.ok_or_else(|| root.missing("base"))?;
    Ok(ChainFile { base, genesis, activations, rskips })
}

fn network(place: &Place<'_>) -> Result<Network, ChainSpecError> {
    Network::from_name(place.text()?)
        .ok_or_else(|| place.expected("one of mainnet, testnet, testnet2, devnet, regtest"))
}

/// The error of a key that is no upgrade (or no rule); one that is the other of the two is told where it belongs.
fn unknown_height(place: &Place<'_>, key: &str, in_upgrades: bool) -> ChainSpecError {
    let belongs = match (in_upgrades, Rskip::from_key(key).is_some(), NetworkUpgrade::from_key(key).is_some()) {
        (true, true, _) => Some("rskips"),
        (false, _, true) => Some("activations"),
        _ => None,
    };
    if let Some(object) = belongs {
        return ChainSpecError::UnknownKey {
            path: place.path.to_owned(),
            place: place.name(),
            key: key.to_owned(),
            nearest: Some(format!("{object}.{key}")),
            known: Vec::new(),
        };
    }
    let known: Vec<&str> = if in_upgrades {
        NetworkUpgrade::ALL.iter().map(|upgrade| upgrade.key()).collect()
    } else {
        Rskip::ALL.iter().map(|rule| rule.key()).collect()
    };
    place.unknown(key, &known)
}

/// A block number, or −1 for never. The limit is rskj's, whose numbers are signed.
fn height(place: &Place<'_>) -> Result<Option<u64>, ChainSpecError> {
    match place.value {
        Json::Integer(-1) => Ok(None),
        Json::Integer(number) if (0..=i128::from(i64::MAX)).contains(number) => Ok(u64::try_from(*number).ok()),
        _ => Err(place.expected("a block number, or -1 for never")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heights(text: &str) -> Result<ActivationHeights, ChainSpecError> {
        let document: Json = serde_json::from_str(text).unwrap();
        parse(Path::new("chain.json"), &document).map(|mut chain| chain.heights())
    }

    fn message(text: &str) -> String {
        heights(text).unwrap_err().to_string()
    }

    #[test]
    fn rskips_beat_activations_beat_the_base() {
        let heights = heights(
            r#"{"base":"regtest","activations":{"orchid":60,"reed810":70,"iris300":-1},"rskips":{"rskip98":5,"rskip144":9}}"#,
        )
        .unwrap();
        // Moved with the upgrade.
        assert_eq!(heights.rule(Rskip::R92), Some(60));
        assert_eq!(heights.upgrade(NetworkUpgrade::Orchid), Some(60));
        // Set by itself.
        assert_eq!(heights.rule(Rskip::R98), Some(5));
        assert_eq!(heights.rule(Rskip::R144), Some(9));
        // Pinned by the base.
        assert_eq!(heights.rule(Rskip::R97), None);
        assert_eq!(heights.rule(Rskip::R351), Some(1));
        assert_eq!(heights.rule(Rskip::R502), Some(70));
        // Never.
        assert_eq!(heights.rule(Rskip::R179), None);
    }

    #[test]
    fn errors_name_the_key_and_the_nearest_one() {
        assert_eq!(
            message(r#"{"base":"regtest","activations":{"wasabi":3}}"#),
            r#"chain.json: unknown key "wasabi" in activations; did you mean wasabi100?"#
        );
        assert_eq!(
            message(r#"{"base":"regtest","activations":{"rskip97":3}}"#),
            r#"chain.json: unknown key "rskip97" in activations; did you mean rskips.rskip97?"#
        );
        assert_eq!(
            message(r#"{"base":"regtest","rskips":{"rskipUmm":3}}"#),
            r#"chain.json: unknown key "rskipUmm" in rskips; did you mean rskipUMM?"#
        );
        assert_eq!(
            message(r#"{"base":"regtest","activation":{}}"#),
            r#"chain.json: unknown key "activation" in the file; did you mean activations?"#
        );
        assert_eq!(
            message(r#"{"base":"regtest","colour":1}"#),
            r#"chain.json: unknown key "colour" in the file; expected one of base, genesis, activations, rskips"#
        );
    }

    #[test]
    fn bad_values_name_their_place() {
        for value in ["-2", "1.0", "9223372036854775808", "\"60\"", "null", "true", "[1]", "1e3"] {
            let text = format!(r#"{{"base":"regtest","activations":{{"orchid":{value}}}}}"#);
            assert!(message(&text).starts_with("chain.json: activations.orchid is "), "{}", message(&text));
        }
        assert!(message(r#"{"base":"ropsten"}"#).contains("one of mainnet"));
        assert_eq!(message("{}"), r#"chain.json: the file has no "base""#);
        assert_eq!(message("[]"), "chain.json: the file is a list, expected an object");
    }
}
