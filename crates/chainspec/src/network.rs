//! The networks as rskj's configuration files define them (`config/*.conf`, `Constants`, `remasc.json`).

use rhizome_primitives::address;

use crate::activations::ActivationHeights;
use crate::constants::{Constants, RemascConfig};
use crate::genesis::Genesis;
use crate::rskip::{NetworkUpgrade as Up, Rskip};
use crate::spec::ChainSpec;

/// A network that rskj has built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Network {
    /// The main network.
    Mainnet,
    /// The public test network.
    Testnet,
    /// The second test network: the first one's genesis with a chain id of its own.
    Testnet2,
    /// A local network for development.
    Devnet,
    /// A local network whose blocks need no work.
    Regtest,
}

/// How peers tell a network apart, and where they are found. Three numbers identify a network: the chain id in signatures, the
/// peer-to-peer network id, and the hash of the genesis block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkIdentity {
    /// The number in signatures (EIP-155), one byte.
    pub chain_id: u8,
    /// The number in status messages and discovery packets.
    pub network_id: u64,
    /// TCP and UDP port of peers, where the network has one of its own.
    pub peer_port: Option<u16>,
    /// Well-known peers, `host:port`.
    pub bootstrap: &'static [&'static str],
}

impl Network {
    /// Every built-in network.
    pub const ALL: &'static [Network] =
        &[Network::Mainnet, Network::Testnet, Network::Testnet2, Network::Devnet, Network::Regtest];

    /// The name used on the command line and in chain files.
    pub const fn name(self) -> &'static str {
        match self {
            Network::Mainnet => "mainnet",
            Network::Testnet => "testnet",
            Network::Testnet2 => "testnet2",
            Network::Devnet => "devnet",
            Network::Regtest => "regtest",
        }
    }

    /// The network of this name; rskj's own `main` is accepted too.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "main" {
            return Some(Network::Mainnet);
        }
        Self::ALL.iter().copied().find(|network| network.name() == name)
    }

    /// Whether this is one of the test networks that RSKIP290 and RSKIP297 are about.
    pub const fn is_testnet(self) -> bool {
        matches!(self, Network::Testnet | Network::Testnet2)
    }

    /// The network's definition.
    pub fn spec(self) -> ChainSpec {
        ChainSpec {
            name: self.name().to_owned(),
            network: self,
            identity: self.identity(),
            constants: self.constants(),
            remasc: self.remasc(),
            genesis: self.genesis(),
            heights: ActivationHeights::new(&self.upgrade_heights(), self.pinned_rules()),
        }
    }

    const fn identity(self) -> NetworkIdentity {
        let (chain_id, network_id, peer_port, bootstrap): (u8, u64, Option<u16>, &'static [&'static str]) = match self {
            Network::Mainnet => (30, 775, Some(5050), MAINNET_BOOTSTRAP),
            Network::Testnet => (31, 8100, Some(50505), TESTNET_BOOTSTRAP),
            Network::Testnet2 => (34, 8100, Some(50505), TESTNET_BOOTSTRAP),
            Network::Devnet => (32, 44_444_444, None, &[]),
            Network::Regtest => (33, 7771, Some(50501), &[]),
        };
        NetworkIdentity { chain_id, network_id, peer_port, bootstrap }
    }

    const fn constants(self) -> Constants {
        match self {
            Network::Mainnet => Constants::mainnet(),
            Network::Testnet | Network::Testnet2 => Constants::testnet(),
            Network::Devnet => Constants::devnet(),
            Network::Regtest => Constants::regtest(),
        }
    }

    const fn remasc(self) -> RemascConfig {
        const REGTEST_LABS: rhizome_primitives::Address = address!("dabadabadabadabadabadabadabadabadaba0001");
        const DEVNET_LABS: rhizome_primitives::Address = address!("dabadabadabadabadabadabadabadabadaba0002");
        const TESTNET_LABS: rhizome_primitives::Address = address!("dabadabadabadabadabadabadabadabadaba0003");
        const TESTNET2_LABS: rhizome_primitives::Address = address!("dabadabadabadabadabadabadabadabadaba0004");
        match self {
            Network::Mainnet => RemascConfig::new(
                4000,
                10,
                address!("14d3065c8eb89895f4df12450ec6b130049f8034"),
                address!("dcb12179ba4697350f66224c959bdd9c282818df"),
            ),
            Network::Testnet => RemascConfig::new(50, 10, TESTNET_LABS, TESTNET_LABS),
            Network::Testnet2 => RemascConfig::new(50, 10, TESTNET2_LABS, TESTNET2_LABS),
            Network::Devnet => RemascConfig::new(20, 10, DEVNET_LABS, DEVNET_LABS),
            Network::Regtest => RemascConfig::new(10, 5, REGTEST_LABS, REGTEST_LABS),
        }
    }

    fn genesis(self) -> Genesis {
        match self {
            Network::Mainnet => Genesis::mainnet(),
            Network::Testnet | Network::Testnet2 => Genesis::testnet(),
            Network::Devnet => Genesis::devnet(),
            Network::Regtest => Genesis::regtest(),
        }
    }

    /// The heights of the network's upgrades; one that is not listed never comes.
    pub(crate) fn upgrade_heights(self) -> Vec<(Up, Option<u64>)> {
        let heights: &[(Up, u64)] = match self {
            Network::Mainnet => &[
                (Up::Bahamas, 3_397),
                (Up::AfterBridgeSync, 370_000),
                (Up::Orchid, 729_000),
                (Up::Orchid060, 1_052_700),
                (Up::Wasabi100, 1_591_000),
                (Up::TwoToThree, 2_018_000),
                (Up::Papyrus200, 2_392_700),
                (Up::Iris300, 3_614_800),
                (Up::Hop400, 4_598_500),
                (Up::Hop401, 4_976_300),
                (Up::Fingerroot500, 5_468_000),
                (Up::Arrowhead600, 6_223_700),
                (Up::Arrowhead631, 6_549_300),
                (Up::Lovell700, 7_338_024),
                (Up::Reed800, 8_052_200),
                (Up::Vetiver900, 8_804_200),
            ],
            Network::Testnet => &[
                (Up::Bahamas, 0),
                (Up::AfterBridgeSync, 114_000),
                (Up::Orchid, 0),
                (Up::Orchid060, 0),
                (Up::Wasabi100, 0),
                (Up::TwoToThree, 504_000),
                (Up::Papyrus200, 863_000),
                (Up::Iris300, 2_060_500),
                (Up::Hop400, 3_103_000),
                (Up::Hop401, 3_362_200),
                (Up::Fingerroot500, 4_015_800),
                (Up::Arrowhead600, 4_927_100),
                (Up::Lovell700, 6_110_487),
                (Up::Reed800, 6_835_700),
                (Up::Reed810, 7_139_600),
                (Up::Vetiver900, 7_604_200),
            ],
            Network::Testnet2 => &[
                (Up::Bahamas, 0),
                (Up::AfterBridgeSync, 114_000),
                (Up::Orchid, 0),
                (Up::Orchid060, 0),
                (Up::Wasabi100, 0),
                (Up::TwoToThree, 504_000),
                (Up::Papyrus200, 863_000),
                (Up::Iris300, 2_060_500),
                (Up::Hop400, 3_103_000),
                (Up::Hop401, 3_362_200),
                (Up::Fingerroot500, 4_015_800),
                (Up::Arrowhead600, 4_927_100),
            ],
            Network::Devnet => &[
                (Up::Bahamas, 0),
                (Up::Orchid, 0),
                (Up::Orchid060, 0),
                (Up::Wasabi100, 0),
                (Up::TwoToThree, 0),
                (Up::Papyrus200, 0),
                (Up::Iris300, 0),
                (Up::Hop400, 0),
                (Up::Hop401, 0),
                (Up::Fingerroot500, 0),
                (Up::Arrowhead600, 0),
                (Up::Lovell700, 0),
                (Up::Reed800, 0),
                (Up::Vetiver900, 0),
            ],
            Network::Regtest => &[
                (Up::Bahamas, 0),
                (Up::Orchid, 0),
                (Up::Orchid060, 0),
                (Up::Wasabi100, 0),
                (Up::TwoToThree, 0),
                (Up::Papyrus200, 0),
                (Up::Iris300, 0),
                (Up::Hop400, 0),
                (Up::Hop401, 0),
                (Up::Fingerroot500, 0),
                (Up::Arrowhead600, 0),
                (Up::Lovell700, 0),
                (Up::Reed800, 0),
                (Up::Reed810, 0),
                (Up::Vetiver900, 0),
                (Up::Tbd1000, 0),
            ],
        };
        heights.iter().map(|&(upgrade, height)| (upgrade, Some(height))).collect()
    }

    /// The rules that leave their upgrade on this network.
    pub(crate) const fn pinned_rules(self) -> &'static [(Rskip, Option<u64>)] {
        match self {
            Network::Mainnet => &[(Rskip::R536, Some(8_804_200))],
            Network::Testnet => &[
                (Rskip::R97, None),
                (Rskip::R132, Some(43_550)),
                (Rskip::R284, Some(2_581_800)),
                (Rskip::R290, Some(2_581_800)),
                (Rskip::R535, Some(7_604_200)),
            ],
            Network::Testnet2 => &[
                (Rskip::R97, None),
                (Rskip::R132, Some(43_550)),
                (Rskip::R284, Some(2_581_800)),
                (Rskip::R290, Some(2_581_800)),
            ],
            Network::Devnet => &[(Rskip::R97, None), (Rskip::Umm, Some(1))],
            Network::Regtest => &[
                (Rskip::R97, None),
                (Rskip::Umm, Some(1)),
                (Rskip::R144, Some(1)),
                (Rskip::R351, Some(1)),
                (Rskip::R535, Some(1)),
            ],
        }
    }
}

const MAINNET_BOOTSTRAP: &[&str] = &[
    "bootstrap01.rsk.co:5050",
    "bootstrap02.rsk.co:5050",
    "bootstrap03.rsk.co:5050",
    "bootstrap04.rsk.co:5050",
    "bootstrap05.rsk.co:5050",
    "bootstrap06.rsk.co:5050",
    "bootstrap07.rsk.co:5050",
    "bootstrap08.rsk.co:5050",
    "bootstrap09.rsk.co:5050",
    "bootstrap10.rsk.co:5050",
    "bootstrap11.rsk.co:5050",
    "bootstrap12.rsk.co:5050",
    "bootstrap13.rsk.co:5050",
    "bootstrap14.rsk.co:5050",
    "bootstrap15.rsk.co:5050",
    "bootstrap16.rsk.co:5050",
];

const TESTNET_BOOTSTRAP: &[&str] = &[
    "bootstrap01.testnet.rsk.co:50505",
    "bootstrap02.testnet.rsk.co:50505",
    "bootstrap03.testnet.rsk.co:50505",
    "bootstrap04.testnet.rsk.co:50505",
    "bootstrap05.testnet.rsk.co:50505",
    "bootstrap06.testnet.rsk.co:50505",
    "bootstrap07.testnet.rsk.co:50505",
    "bootstrap08.testnet.rsk.co:50505",
];
