//! The methods of the contract: one table ([`METHODS`]) that says all about each of them, and the search in it.

mod arguments;
mod handlers;
mod table;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use arguments::Arguments;
pub use table::METHODS;

use rhizome_chainspec::{Activations, Rskip};

use crate::abi::{Output, Type};
use crate::failure::Result;
use crate::peg::Peg;

/// Price of input that is no call of a method, and of the default method.
pub(crate) const DEFAULT_GAS: u64 = 23_000;

/// What a method costs before the charge for the input's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gas {
    /// Always the same.
    Fixed(u64),
    /// By the number of headers, since RSKIP-124.
    Headers,
    /// By the depth of a Bitcoin block and the length of a merkle branch.
    Confirmations,
}

/// When a method exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// At all heights.
    Always,
    /// From a rule on.
    From(Rskip),
    /// Until a rule.
    Until(Rskip),
}

impl Gate {
    /// Whether the gate is open.
    pub fn is_open(self, activations: Activations) -> bool {
        match self {
            Gate::Always => true,
            Gate::From(rule) => activations.is_active(rule),
            Gate::Until(rule) => !activations.is_active(rule),
        }
    }
}

/// Who may call a method, as far as the wrapper around it decides (`Bridge.activeAndRetiringFederationOnly` and its
/// siblings). Voters and the like are checked by the methods themselves.
#[derive(Debug, Clone, Copy)]
pub enum Callers {
    /// Everybody.
    Anyone,
    /// Members of the active and the retiring federation.
    Federators,
    /// Members of the active, the retiring and the proposed federation.
    Signers,
    /// Everybody once this says so, before the members of the active and the retiring federation.
    FederatorsUntil(fn(Activations) -> bool),
}

pub(crate) type Handler = fn(&mut Peg<'_>, &Arguments<'_>) -> Result<Option<Output>>;

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Name.
    pub name: &'static str,
    /// First four bytes of the signature's hash.
    pub selector: [u8; 4],
    /// Types of the arguments.
    pub inputs: &'static [Type],
    /// Type of the result.
    pub output: Option<Type>,
    /// Price.
    pub gas: Gas,
    /// When it exists.
    pub gate: Gate,
    /// When only calls over RPC may use it.
    pub local_only: Option<Gate>,
    /// Whether STATICCALL may reach it since RSKIP-417. CALL may reach every method, CALLCODE and DELEGATECALL none.
    pub is_view: bool,
    /// Who may call it.
    pub callers: Callers,
    pub(crate) handler: Handler,
}

impl Method {
    /// Name and argument types.
    pub fn signature(&self) -> String {
        let types: Vec<_> = self.inputs.iter().map(|kind| kind.canonical_name()).collect();
        format!("{}({})", self.name, types.join(","))
    }

    /// Whether only calls over RPC may use it.
    pub fn is_local_only(&self, activations: Activations) -> bool {
        self.local_only.is_some_and(|gate| gate.is_open(activations))
    }
}

/// The method of a selector.
pub fn find(selector: [u8; 4]) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.selector == selector)
}

/// The method of an input without bytes.
pub(crate) fn default_method() -> &'static Method {
    find(*b"\x80\xaf\x28\x71").expect("releaseBtc is in the table")
}

/// Price of `receiveHeaders` for a number of headers (`Bridge.receiveHeadersGetCost`).
pub fn headers_gas(activations: Activations, headers: usize) -> u64 {
    if !activations.is_active(Rskip::R124) {
        return 22_000;
    }
    let (base, further) = if activations.is_active(Rskip::R132) { (25_000, 3_500) } else { (66_000, 1_650) };
    base + headers.saturating_sub(1) as u64 * further
}
