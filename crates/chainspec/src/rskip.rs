//! The consensus rules (RSKIPs) and the network upgrades that carry them, under rskj's configuration keys.

/// Declares the rules: variant, configuration key, and the upgrade that carries the rule unless a network says otherwise.
macro_rules! rskips {
    ($($(#[$doc:meta])* $variant:ident = $key:literal => $upgrade:expr;)+) => {
        /// A consensus rule, `org.ethereum.config.blockchain.upgrades.ConsensusRule`.
        ///
        /// The numbers are those of the RSKIPs, whose texts say what a rule does; the discriminant is the rule's bit in
        /// [`Activations`](crate::Activations).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum Rskip {
            $($(#[$doc])* $variant,)+
        }

        impl Rskip {
            /// Every rule, in the order of the discriminants.
            pub const ALL: &'static [Rskip] = &[$(Rskip::$variant,)+];

            /// The rule's configuration key, such as `rskip85`.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Rskip::$variant => $key,)+
                }
            }

            /// The upgrade that carries the rule; `None` for a rule that each network places by itself.
            pub const fn upgrade(self) -> Option<NetworkUpgrade> {
                match self {
                    $(Rskip::$variant => $upgrade,)+
                }
            }
        }
    };
}

/// Declares the upgrades: variant and configuration key.
macro_rules! upgrades {
    ($($variant:ident = $key:literal;)+) => {
        /// A network upgrade, `org.ethereum.config.blockchain.upgrades.NetworkUpgrade`.
        ///
        /// Upgrades are not in release order on every network: never derive one from another.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum NetworkUpgrade {
            $($variant,)+
        }

        impl NetworkUpgrade {
            /// Every upgrade.
            pub const ALL: &'static [NetworkUpgrade] = &[$(NetworkUpgrade::$variant,)+];

            /// The upgrade's configuration key, such as `wasabi100`.
            pub const fn key(self) -> &'static str {
                match self {
                    $(NetworkUpgrade::$variant => $key,)+
                }
            }
        }
    };
}

upgrades! {
    Bahamas = "bahamas";
    AfterBridgeSync = "afterBridgeSync";
    Orchid = "orchid";
    Orchid060 = "orchid060";
    Wasabi100 = "wasabi100";
    Papyrus200 = "papyrus200";
    TwoToThree = "twoToThree";
    Iris300 = "iris300";
    Hop400 = "hop400";
    Hop401 = "hop401";
    Fingerroot500 = "fingerroot500";
    Arrowhead600 = "arrowhead600";
    Arrowhead631 = "arrowhead631";
    Lovell700 = "lovell700";
    Reed800 = "reed800";
    Reed810 = "reed810";
    Vetiver900 = "vetiver900";
    Tbd1000 = "tbd1000";
}

use NetworkUpgrade as Up;

rskips! {
    /// Transactions to the Bridge pay for their gas.
    BridgeTxsPaid = "areBridgeTxsPaid" => Some(Up::AfterBridgeSync);
    R85 = "rskip85" => Some(Up::Orchid);
    R87 = "rskip87" => Some(Up::Orchid);
    R88 = "rskip88" => Some(Up::Orchid);
    R89 = "rskip89" => Some(Up::Orchid);
    R90 = "rskip90" => Some(Up::Orchid);
    /// STATICCALL, RETURNDATA* and REVERT.
    R91 = "rskip91" => Some(Up::Orchid);
    /// Flat merge-mining proof; block hash without proof and coinbase.
    R92 = "rskip92" => Some(Up::Orchid);
    /// No difficulty reset after a gap of ten minutes.
    R97 = "rskip97" => Some(Up::Orchid);
    /// No fallback mining; a Bitcoin header has exactly 80 bytes.
    R98 = "rskip98" => Some(Up::Orchid);
    R103 = "rskip103" => Some(Up::Orchid060);
    /// The HD wallet helper contract.
    R106 = "rskip106" => Some(Up::Wasabi100);
    /// Fork detection data in the hash for merged mining.
    R110 = "rskip110" => Some(Up::Wasabi100);
    /// The block header contract.
    R119 = "rskip119" => Some(Up::Wasabi100);
    /// Bitwise shift opcodes (EIP-145).
    R120 = "rskip120" => Some(Up::Wasabi100);
    /// The Bridge's method for a Bitcoin transaction's confirmations.
    R122 = "rskip122" => Some(Up::Wasabi100);
    R123 = "rskip123" => Some(Up::Wasabi100);
    R124 = "rskip124" => Some(Up::Wasabi100);
    /// CREATE2 (EIP-1014).
    R125 = "rskip125" => Some(Up::Wasabi100);
    /// The unitrie's state root is checked.
    R126 = "rskip126" => Some(Up::Wasabi100);
    R132 = "rskip132" => Some(Up::Wasabi100);
    /// The locking cap.
    R134 = "rskip134" => Some(Up::Papyrus200);
    R136 = "rskip136" => Some(Up::Bahamas);
    R137 = "rskip137" => Some(Up::Papyrus200);
    /// EXTCODEHASH (EIP-1052).
    R140 = "rskip140" => Some(Up::Papyrus200);
    R143 = "rskip143" => Some(Up::Papyrus200);
    /// Parallel transaction execution.
    R144 = "rskip144" => Some(Up::Reed810);
    R146 = "rskip146" => Some(Up::Papyrus200);
    R150 = "rskip150" => Some(Up::TwoToThree);
    /// SELFBALANCE (EIP-1884).
    R151 = "rskip151" => Some(Up::Papyrus200);
    /// CHAINID (EIP-1344).
    R152 = "rskip152" => Some(Up::Papyrus200);
    /// The BLAKE2 compression contract (EIP-152).
    R153 = "rskip153" => Some(Up::Iris300);
    /// Difficulty divisor 400.
    R156 = "rskip156" => Some(Up::Papyrus200);
    R169 = "rskip169" => Some(Up::Iris300);
    /// Peg-in version 1.
    R170 = "rskip170" => Some(Up::Iris300);
    R171 = "rskip171" => Some(Up::Iris300);
    R174 = "rskip174" => Some(Up::Iris300);
    /// Flyover peg-ins.
    R176 = "rskip176" => Some(Up::Iris300);
    /// Bitcoin and Rootstock timestamps are close.
    R179 = "rskip179" => Some(Up::Iris300);
    /// The merge-mining proof is limited.
    R180 = "rskip180" => Some(Up::Iris300);
    /// Peg-in rejection events.
    R181 = "rskip181" => Some(Up::Iris300);
    /// The active federation's creation height is kept.
    R186 = "rskip186" => Some(Up::Iris300);
    /// Unified merged mining: a root beside the block's own hash.
    Umm = "rskipUMM" => Some(Up::Papyrus200);
    /// Peg-out refunds and events.
    R185 = "rskip185" => Some(Up::Iris300);
    R191 = "rskip191" => Some(Up::Iris300);
    /// Errors inside precompiled contracts are handled.
    R197 = "rskip197" => Some(Up::Iris300);
    R199 = "rskip199" => Some(Up::Iris300);
    R200 = "rskip200" => Some(Up::Iris300);
    /// ERP federations.
    R201 = "rskip201" => Some(Up::Iris300);
    /// The call stack depth contract.
    R203 = "rskip203" => Some(Up::Arrowhead600);
    /// New address for the labs' share of the rewards.
    R218 = "rskip218" => Some(Up::Iris300);
    R219 = "rskip219" => Some(Up::Iris300);
    R220 = "rskip220" => Some(Up::Iris300);
    /// Cap on a transaction's gas price.
    R252 = "rskip252" => Some(Up::Fingerroot500);
    /// Peg-out batching.
    R271 = "rskip271" => Some(Up::Hop400);
    R284 = "rskip284" => Some(Up::Hop400);
    /// The testnet's difficulty drops to a higher minimum.
    R290 = "rskip290" => Some(Up::Hop400);
    /// Flyover improvements.
    R293 = "rskip293" => Some(Up::Hop400);
    R294 = "rskip294" => Some(Up::Hop400);
    /// Wider distance of Bitcoin and Rootstock time on the testnet.
    R297 = "rskip297" => Some(Up::Hop400);
    /// The Bridge is compatible with segwit.
    R305 = "rskip305" => Some(Up::Reed800);
    /// Base58 destination in the release event.
    R326 = "rskip326" => Some(Up::Fingerroot500);
    /// Block header extension, version 1.
    R351 = "rskip351" => Some(Up::Reed810);
    /// P2SH ERP federations.
    R353 = "rskip353" => Some(Up::Hop401);
    R357 = "rskip357" => Some(Up::Hop401);
    R374 = "rskip374" => Some(Up::Fingerroot500);
    R375 = "rskip375" => Some(Up::Fingerroot500);
    R376 = "rskip376" => Some(Up::Arrowhead600);
    R377 = "rskip377" => Some(Up::Fingerroot500);
    R379 = "rskip379" => Some(Up::Arrowhead600);
    R383 = "rskip383" => Some(Up::Fingerroot500);
    R385 = "rskip385" => Some(Up::Fingerroot500);
    /// PUSH0 (EIP-3855).
    R398 = "rskip398" => Some(Up::Arrowhead600);
    /// Cheaper call data (EIP-2028).
    R400 = "rskip400" => Some(Up::Arrowhead600);
    /// BASEFEE (EIP-3198).
    R412 = "rskip412" => Some(Up::Arrowhead600);
    R415 = "rskip415" => Some(Up::Arrowhead600);
    R417 = "rskip417" => Some(Up::Arrowhead600);
    R419 = "rskip419" => Some(Up::Lovell700);
    R427 = "rskip427" => Some(Up::Lovell700);
    R428 = "rskip428" => Some(Up::Lovell700);
    R434 = "rskip434" => Some(Up::Arrowhead631);
    /// Initcode is limited and metered (EIP-3860).
    R438 = "rskip438" => Some(Up::Lovell700);
    /// MCOPY (EIP-5656).
    R445 = "rskip445" => Some(Up::Lovell700);
    /// Transient storage (EIP-1153).
    R446 = "rskip446" => Some(Up::Lovell700);
    R453 = "rskip453" => Some(Up::Lovell700);
    R454 = "rskip454" => Some(Up::Lovell700);
    R459 = "rskip459" => Some(Up::Lovell700);
    R460 = "rskip460" => Some(Up::Lovell700);
    /// The Union Bridge's integration with the PowPeg.
    R502 = "rskip502" => Some(Up::Reed810);
    /// secp256k1 addition and multiplication contracts.
    R516 = "rskip516" => Some(Up::Reed800);
    /// Base and super event cells in the Bridge.
    R529 = "rskip529" => Some(Up::Reed810);
    /// Base event in the block header, version 2.
    R535 = "rskip535" => None;
    /// More methods of the block header contract.
    R536 = "rskip536" => Some(Up::Reed810);
    /// Estimated fees of the next peg-out event.
    R540 = "rskip540" => Some(Up::Vetiver900);
    /// New code that starts with 0xEF is rejected (EIP-3541).
    R544 = "rskip544" => Some(Up::Vetiver900);
    /// Takes RSKIP459 back.
    R551 = "rskip551" => Some(Up::Vetiver900);
    /// BLAKE2 improvements in data handling.
    R552 = "rskip552" => Some(Up::Vetiver900);
    /// Peg-outs are sorted deterministically.
    R559 = "rskip559" => Some(Up::Tbd1000);
}

impl Rskip {
    /// The rule with this configuration key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.key() == key)
    }
}

impl NetworkUpgrade {
    /// The upgrade with this configuration key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|upgrade| upgrade.key() == key)
    }
}

impl std::fmt::Display for Rskip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key())
    }
}

impl std::fmt::Display for NetworkUpgrade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key())
    }
}
