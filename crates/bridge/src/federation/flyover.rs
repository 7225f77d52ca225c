//! Flyover variants of a federation's script (rskj's `FlyoverRedeemScriptBuilderImpl`, `PegUtils.getFlyoverFederation…`,
//! `FlyoverCompatibleBtcWallet`).

use rhizome_primitives::B256;

use super::{Federation, FederationFormat, output_script};
use crate::bitcoin::script::op;
use crate::bitcoin::wallet::RedeemSource;
use crate::bitcoin::{Address, RedeemScript, Script, ScriptBuilder, ScriptError};

/// The redeem script behind a derivation hash, which must not be zero.
///
/// # Errors
/// If the hash is zero or the redeem script of no known form.
pub fn flyover_redeem_script(derivation_hash: &B256, redeem: &Script) -> Result<Script, ScriptError> {
    if derivation_hash.is_zero() {
        return Err(ScriptError::Runtime("flyover derivation hash is zero"));
    }
    RedeemScript::parse(redeem.as_bytes())
        .map_err(|_| ScriptError::Runtime("flyover redeem script of an unknown form"))?;
    Ok(ScriptBuilder::new().data(derivation_hash.as_slice())?.op(op::DROP).chunks(redeem.as_bytes()).build())
}

/// The output that pays to a flyover redeem script, in the way of the federation's format.
pub fn flyover_output_script(flyover_redeem: &Script, format: FederationFormat) -> Script {
    output_script(format, flyover_redeem)
}

/// Address of a federation's flyover variant.
///
/// # Errors
/// As [`flyover_redeem_script`].
pub fn flyover_address(derivation_hash: &B256, federation: &Federation) -> Result<Address, ScriptError> {
    let redeem = flyover_redeem_script(derivation_hash, federation.redeem_script())?;
    let output = flyover_output_script(&redeem, federation.format());
    Ok(Address::p2sh(federation.network(), output.pub_key_hash()?))
}

/// What is stored of a flyover variant (`FlyoverFederationInformation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlyoverInfo {
    /// Derivation hash.
    pub derivation_hash: B256,
    /// Hash in the output of the federation itself.
    pub federation_hash: [u8; 20],
    /// Hash in the output of the variant; the key of the cell.
    pub flyover_hash: [u8; 20],
}

/// `findRedeemDataFromScriptHash` of rskj's wallets: the flyover variant if one is stored for this hash, else the
/// federation with this hash. A variant of another federation than these is nothing.
///
/// # Errors
/// As [`flyover_redeem_script`].
pub fn redeem_script_for<'f>(
    federations: impl IntoIterator<Item = &'f Federation>,
    hash: &[u8; 20],
    flyover: Option<&FlyoverInfo>,
) -> Result<Option<Script>, ScriptError> {
    let wanted = flyover.map_or(*hash, |info| info.federation_hash);
    let federation = federations.into_iter().find(|federation| federation.address().hash == wanted);
    match (federation, flyover) {
        (Some(federation), Some(info)) => {
            flyover_redeem_script(&info.derivation_hash, federation.redeem_script()).map(Some)
        }
        (federation, _) => Ok(federation.map(|federation| federation.redeem_script().clone())),
    }
}

/// Redeem scripts of federations without flyover variants (`BridgeBtcWallet`).
#[derive(Debug, Clone, Copy)]
pub struct NoFlyover<'a>(pub &'a [&'a Federation]);

impl RedeemSource for NoFlyover<'_> {
    type Error = ScriptError;

    fn redeem_script(&mut self, hash: &[u8; 20]) -> Result<Option<Script>, ScriptError> {
        redeem_script_for(self.0.iter().copied(), hash, None)
    }
}
