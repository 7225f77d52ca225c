//! Which blocks are valid and which chain is the best.
//!
//! Every validity rule is a type that carries rskj's class name; [`validate`] composes them as rskj does. Rules see headers,
//! bodies and ancestors, never state, disk or a clock of their own. An invalid block ([`RuleViolation`]) and a store that failed
//! ([`ProviderError`](rhizome_primitives::ProviderError)) never turn into each other.

pub mod bitcoin;
pub mod body;
pub mod difficulty;
mod error;
pub mod fork_choice;
pub mod fork_detection;
pub mod gas_limit;
pub mod gas_price;
pub mod pow;
pub mod rule;
pub mod timestamp;
pub mod uncles;
pub mod validate;

pub use difficulty::calculate_difficulty;
pub use error::{ConsensusError, RuleError, RuleViolation};
pub use fork_choice::{Candidate, SiblingView, choose, is_broken_selection_rule, total_difficulty};
pub use pow::{ProofOfWorkError, verify_proof_of_work};
pub use rule::{BlockRule, HeaderRule, ParentRule, Rule};
pub use validate::{BlockValidator, validate_block, validate_for_relay, validate_header, validate_header_link};
