//! One call of the Bridge from its input to its result (`Bridge.getGasForData`, `Bridge.execute`).

use rhizome_chainspec::Rskip;
use rhizome_primitives::Bytes;

use crate::Bridge;
use crate::abi::{Output, decode_arguments, encode_output};
use crate::dispatch::{Arguments, Callers, DEFAULT_GAS, Gas, Method, default_method, find, headers_gas};
use crate::failure::{Failure, Result};
use crate::host::{BridgeCall, BridgeHost, BridgeOutcome, CallKind, GasError, HostFault, NoFederation};
use crate::peg::{CallState, Peg};

/// A call that was understood.
#[derive(Debug)]
struct ParsedCall<'a> {
    method: &'static Method,
    arguments: Arguments<'a>,
}

/// A call of the Bridge. What the question for the gas reads and opens is kept for the run.
#[derive(Debug)]
pub struct BridgeSession<'a> {
    bridge: &'a Bridge,
    call: BridgeCall<'a>,
    parsed: Option<ParsedCall<'a>>,
    state: CallState,
}

impl<'a> BridgeSession<'a> {
    pub(crate) fn new(bridge: &'a Bridge, call: BridgeCall<'a>) -> Self {
        let parsed = parse(&call).filter(|parsed| parsed.method.gate.is_open(call.activations));
        Self { bridge, call, parsed, state: CallState::default() }
    }

    /// Name of the method that the input calls, if it calls one.
    pub fn method_name(&self) -> Option<&'static str> {
        self.parsed.as_ref().map(|parsed| parsed.method.name)
    }

    /// The call's price. Zero for those whose transactions are free.
    ///
    /// # Errors
    /// [`GasError::Unbuildable`] and [`GasError::NoFederation`] where rskj fails outside of any handler.
    pub fn required_gas(&mut self, host: &mut dyn BridgeHost) -> Result<u64, GasError> {
        // rskj sets the whole Bridge up first.
        self.bridge.genesis()?;
        let activations = self.call.activations;
        if self.call.is_from_contract() && !activations.is_active(Rskip::R88) {
            return Err(GasError::Unbuildable("call from a contract before RSKIP-88"));
        }
        // A call over RPC has no signature that could be accepted.
        let is_signed = !self.call.is_from_contract() && !self.call.local_call;
        if self.bridge.is_free_tx(&self.call.sender, is_signed, activations)? {
            return Ok(0);
        }
        let Some(parsed) = self.parsed.take() else { return Ok(DEFAULT_GAS) };
        let price = match parsed.method.gas {
            Gas::Fixed(price) => Ok(price),
            Gas::Headers => Ok(headers_gas(activations, parsed.arguments.byte_strings(0).len())),
            Gas::Confirmations => {
                let (block, branch) = (parsed.arguments.btc_hash(1), parsed.arguments.words(3).len());
                match self.peg(host)?.btc_confirmations_gas(block, branch) {
                    Ok(price) => Ok(price),
                    Err(Failure::Host(fault)) => Err(GasError::Host(fault)),
                    Err(_) => Err(GasError::Unbuildable("the Bitcoin store cannot be opened")),
                }
            }
        };
        self.parsed = Some(parsed);
        Ok(price? + 2 * self.call.data.len() as u64)
    }

    /// Runs the call. Whatever it wrote before [`BridgeOutcome::Threw`] is still there.
    ///
    /// # Errors
    /// When the state is not available.
    pub fn execute(&mut self, host: &mut dyn BridgeHost) -> Result<BridgeOutcome, HostFault> {
        match self.run(host) {
            Ok(returned) => Ok(BridgeOutcome::Returned(returned)),
            Err(Failure::Host(fault)) => Err(fault),
            Err(Failure::Illegal(message) | Failure::Threw(message)) => {
                Ok(BridgeOutcome::Threw { message: message.into_owned() })
            }
        }
    }

    fn run(&mut self, host: &mut dyn BridgeHost) -> Result<Option<Bytes>> {
        self.bridge.genesis()?;
        let activations = self.call.activations;
        let illegal_throws = activations.is_active(Rskip::R88);
        let Some(ParsedCall { method, arguments }) = self.parsed.take() else {
            return if illegal_throws { Err(Failure::threw("invalid data given")) } else { Ok(None) };
        };
        check_restrictions(&self.call, method)?;
        let mut peg = self.peg(host)?;
        let result = authorize(&mut peg, method).and_then(|()| (method.handler)(&mut peg, &arguments));
        let output = match result {
            Err(Failure::Illegal(_)) if !illegal_throws => return Ok(None),
            other => other?,
        };
        peg.save()?;
        Ok(encode(method, output, activations.is_active(Rskip::R417)))
    }

    fn peg<'s>(&'s mut self, host: &'s mut dyn BridgeHost) -> Result<Peg<'s>, NoFederation> {
        Ok(Peg {
            constants: self.bridge.constants(),
            genesis: self.bridge.genesis()?,
            federations: self.bridge.federations(),
            call: &self.call,
            host,
            cells: &mut self.state.cells,
            chain: &mut self.state.chain,
        })
    }
}

/// Finds the method and decodes its arguments. No bytes at all call the default method.
fn parse<'a>(call: &BridgeCall<'a>) -> Option<ParsedCall<'a>> {
    if call.data.is_empty() {
        return Some(ParsedCall { method: default_method(), arguments: Arguments::default() });
    }
    let (selector, arguments) = call.data.split_first_chunk::<4>()?;
    let method = find(*selector)?;
    let values = decode_arguments(method.inputs, arguments).ok()?;
    Some(ParsedCall { method, arguments: Arguments(values) })
}

fn check_restrictions(call: &BridgeCall<'_>, method: &Method) -> Result<()> {
    let since = |rule| call.activations.is_active(rule);
    if since(Rskip::R88) && !call.local_call && method.is_local_only(call.activations) {
        return Err(Failure::threw(format!("non-local call to {}", method.name)));
    }
    let accepted = match call.kind {
        CallKind::Direct | CallKind::Call => true,
        CallKind::StaticCall => method.is_view,
        CallKind::CallCode | CallKind::DelegateCall => false,
    };
    if since(Rskip::R417) && !accepted {
        return Err(Failure::threw(format!("call type not accepted by {}", method.name)));
    }
    Ok(())
}

fn authorize(peg: &mut Peg<'_>, method: &Method) -> Result<()> {
    let signers = match method.callers {
        Callers::Anyone => return Ok(()),
        Callers::FederatorsUntil(is_public) if is_public(peg.call.activations) => return Ok(()),
        Callers::Federators | Callers::FederatorsUntil(_) => false,
        Callers::Signers => true,
    };
    let sender = peg.call.sender;
    let mut federations = peg.live_federations()?;
    if signers {
        federations.extend(peg.proposed_federation()?);
    }
    if federations.iter().any(|federation| federation.has_member_with_rsk_address(&sender)) {
        return Ok(());
    }
    Err(Failure::threw(format!("the sender may not call {}", method.name)))
}

/// Methods without a result give null until RSKIP-417, empty bytes since.
fn encode(method: &Method, output: Option<Output>, empty_for_none: bool) -> Option<Bytes> {
    match (method.output, output) {
        (Some(kind), Some(output)) => Some(encode_output(kind, &output).into()),
        _ => empty_for_none.then(Bytes::new),
    }
}
