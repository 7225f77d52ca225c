//! Which rules are active: the heights of a network, and the set of one block.
//!
//! Invariant: the eras of [`ActivationHeights`] are sorted by height, start at 0, and always agree with its rule heights; a
//! block's set is one binary search.

use crate::rskip::{NetworkUpgrade, Rskip};

const RULES: usize = Rskip::ALL.len();
const UPGRADES: usize = NetworkUpgrade::ALL.len();

/// The set of rules that are active in a block.
///
/// A plain value of 16 bytes, passed to everything whose behaviour depends on the rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Activations(u128);

impl Activations {
    /// No rule at all.
    pub const NONE: Self = Self(0);
    /// Every rule.
    pub const ALL: Self = Self(u128::MAX >> (128 - RULES));

    /// Whether a rule is active.
    #[inline]
    pub const fn is_active(self, rule: Rskip) -> bool {
        self.0 & (1 << rule as u8) != 0
    }

    /// The same set with a rule added.
    #[must_use]
    pub const fn with(self, rule: Rskip) -> Self {
        Self(self.0 | 1 << rule as u8)
    }

    /// The same set with a rule removed.
    #[must_use]
    pub const fn without(self, rule: Rskip) -> Self {
        Self(self.0 & !(1 << rule as u8))
    }

    /// The set of the rules with these configuration keys; the first unknown key is the error.
    ///
    /// # Errors
    /// The key that names no rule.
    pub fn from_keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        keys.into_iter().map(|key| Rskip::from_key(key).ok_or_else(|| key.to_owned())).collect()
    }

    /// The rules of the set.
    pub fn iter(self) -> impl Iterator<Item = Rskip> {
        Rskip::ALL.iter().copied().filter(move |&rule| self.is_active(rule))
    }

    /// The set as bits, to key caches by it; bit `n` is the rule with discriminant `n`.
    pub const fn bits(self) -> u128 {
        self.0
    }
}

impl FromIterator<Rskip> for Activations {
    fn from_iter<I: IntoIterator<Item = Rskip>>(rules: I) -> Self {
        rules.into_iter().fold(Self::NONE, Self::with)
    }
}

impl std::fmt::Debug for Activations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter().map(Rskip::key)).finish()
    }
}

/// From which block on each rule and upgrade is active; `None` is never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivationHeights {
    upgrades: [Option<u64>; UPGRADES],
    rules: [Option<u64>; RULES],
    /// The sets by the height they start at.
    eras: Vec<(u64, Activations)>,
}

impl ActivationHeights {
    /// The heights that follow from a network's upgrades and the rules it places by itself.
    ///
    /// A rule that is not in `pinned` has its upgrade's height; an upgrade that is not in `upgrades` never comes.
    pub fn new(upgrades: &[(NetworkUpgrade, Option<u64>)], pinned: &[(Rskip, Option<u64>)]) -> Self {
        let mut upgrade_heights = [None; UPGRADES];
        for &(upgrade, height) in upgrades {
            upgrade_heights[upgrade as usize] = height;
        }
        let mut rules = [None; RULES];
        for &rule in Rskip::ALL {
            rules[rule as usize] = rule.upgrade().and_then(|upgrade| upgrade_heights[upgrade as usize]);
        }
        for &(rule, height) in pinned {
            rules[rule as usize] = height;
        }
        Self { upgrades: upgrade_heights, rules, eras: eras_of(&rules) }
    }

    /// Every rule of the set from block 0 on, all others never; upgrades have no height.
    pub fn fixed(set: Activations) -> Self {
        let pinned: Vec<_> = set.iter().map(|rule| (rule, Some(0))).collect();
        Self::new(&[], &pinned)
    }

    /// The height a rule starts at.
    pub fn rule(&self, rule: Rskip) -> Option<u64> {
        self.rules[rule as usize]
    }

    /// The height an upgrade starts at.
    pub fn upgrade(&self, upgrade: NetworkUpgrade) -> Option<u64> {
        self.upgrades[upgrade as usize]
    }

    /// The rules active in a block.
    pub fn at(&self, number: u64) -> Activations {
        let after = self.eras.partition_point(|&(start, _)| start <= number);
        // Era 0 starts at block 0, so at least one era is not after any number.
        self.eras[after.saturating_sub(1)].1
    }
}

fn eras_of(rules: &[Option<u64>; RULES]) -> Vec<(u64, Activations)> {
    let mut starts: Vec<u64> = rules.iter().flatten().copied().chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    let set_at = |number| {
        Rskip::ALL.iter().copied().filter(|&rule| rules[rule as usize].is_some_and(|height| height <= number)).collect()
    };
    starts.into_iter().map(|start| (start, set_at(start))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_starts_at_its_height_and_never_before() {
        let heights = ActivationHeights::new(
            &[(NetworkUpgrade::Orchid, Some(10)), (NetworkUpgrade::Iris300, Some(5))],
            &[(Rskip::R97, None), (Rskip::R535, Some(12))],
        );
        assert!(!heights.at(9).is_active(Rskip::R92));
        assert!(heights.at(10).is_active(Rskip::R92));
        assert!(heights.at(5).is_active(Rskip::R179) && !heights.at(4).is_active(Rskip::R179));
        assert!(!heights.at(u64::MAX).is_active(Rskip::R97));
        assert!(heights.at(12).is_active(Rskip::R535) && !heights.at(11).is_active(Rskip::R535));
        assert_eq!(heights.at(0), Activations::NONE);
    }

    #[test]
    fn sets_are_built_and_listed_by_key() {
        let set = Activations::from_keys(["rskip85", "rskipUMM"]).unwrap();
        assert_eq!(set.iter().map(Rskip::key).collect::<Vec<_>>(), ["rskip85", "rskipUMM"]);
        assert_eq!(Activations::from_keys(["rskip85", "rskip1"]), Err("rskip1".into()));
        assert_eq!(Rskip::ALL.iter().copied().collect::<Activations>(), Activations::ALL);
        assert_eq!(ActivationHeights::fixed(set).at(0), set);
    }
}
