//! What a Rootstock network is: its rules by height, its constants, its genesis.
//!
//! Everything that differs between networks is a value of [`ChainSpec`]; nothing here executes or reads a block. A spec is one
//! of the built-in networks or a chain file laid over one of them ([`ChainSpec::from_file`]).

mod activations;
pub mod constants;
mod error;
mod file;
mod fingerprint;
mod genesis;
mod genesis_file;
mod json;
mod layout;
mod network;
mod rskip;
mod spec;

pub use activations::{ActivationHeights, Activations};
pub use constants::{Constants, RemascConfig, SublistGasLimits};
pub use error::ChainSpecError;
pub use genesis::{Genesis, GenesisAccount, GenesisContract};
pub use network::{Network, NetworkIdentity};
pub use rskip::{NetworkUpgrade, Rskip};
pub use spec::ChainSpec;
