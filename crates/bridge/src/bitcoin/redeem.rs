//! Recognition of redeem scripts (bitcoinj-thin's `RedeemScriptParserFactory`, `RedeemScriptValidator` and parsers).
//!
//! Known forms: plain M of N; the two forms with an emergency key set behind a relative time lock (P2SH ERP, and the older
//! one whose final `OP_CHECKMULTISIG` stands outside of the condition, which Bitcoin calls non-standard); one fixed
//! testnet script; and each of them behind a flyover prefix (push of 32 bytes, `OP_DROP`).

use super::key::BtcKey;
use super::script::{Chunk, Script, ScriptBuilder, ScriptError, op, parse_chunks};
use super::signature::EcdsaSignature;

/// The redeem script of testnet's first federation with emergency keys. Its time lock is written in the wrong byte order,
/// and rskj tells nothing about it beyond its bytes.
pub const HARDCODED_TESTNET_ERP: [u8; 286] = rhizome_primitives::hex!(
    "6453210208f40073a9e43b3e9103acec79767a6de9b0409749884e989960fee578012fce210225e892391625854128c5c4ea4340de0c2a70570f33db53426fc9c746597a03f42102afc230c2d355b1a577682b07bc2646041b5d0177af0f98395a46018da699b6da210344a3c38cd59afcba3edcebe143e025574594b001700dec41e59409bdbd0f2a0921039a060badbeb24bee49eb2063f616c0f0f0765d4ca646b20a88ce828f259fcdb955670300cd50b27552210216c23b2ea8e4f11c3f9e22711addb1d16a93964796913830856b568cc3ea21d3210275562901dd8faae20de0a4166362a4f82188db77dbed4ca887422ea1ec185f1421034db69f2112f4fb1bb6141bf6e2bd6631f0484d0bd95b16767902c9fe219d4a6f5368ae"
);

/// What stands behind the flyover prefix, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedeemKind {
    /// M of N.
    Standard,
    /// Condition around two whole multi-signature checks.
    P2shErp,
    /// Condition around two key lists, one check behind it.
    NonStandardErp,
    /// [`HARDCODED_TESTNET_ERP`], of which nothing can be asked.
    HardcodedTestnetErp,
}

/// A recognised redeem script.
#[derive(Debug, Clone)]
pub struct RedeemScript<'a> {
    kind: RedeemKind,
    flyover: bool,
    program: &'a [u8],
    /// M, the keys, N of the part that spends at once.
    standard: Vec<Chunk<'a>>,
    /// Offset of the first byte behind that part.
    end: usize,
}

impl<'a> RedeemScript<'a> {
    /// Recognises a script.
    ///
    /// # Errors
    /// `ScriptException` for unknown forms; other exceptions where the reference trips over malformed ones.
    pub fn parse(program: &'a [u8]) -> Result<Self, ScriptError> {
        let all = parse_chunks(program)?;
        if program == HARDCODED_TESTNET_ERP {
            return Ok(RedeemScript {
                kind: RedeemKind::HardcodedTestnetErp,
                flyover: false,
                program,
                standard: Vec::new(),
                end: 0,
            });
        }
        let mut chunks = all.as_slice();
        let mut flyover = false;
        loop {
            if chunks.len() < 4 {
                return Err(ScriptError::Script("expected at least 4 chunks, got fewer"));
            }
            if has_flyover_prefix(chunks) && is_redeem_like(&chunks[2..]) {
                chunks = &chunks[2..];
                flyover = true;
                continue;
            }
            break;
        }
        let (kind, from, to) = if is_standard(chunks)? {
            (RedeemKind::Standard, 0, chunks.len() - 1)
        } else if let Some(else_at) = p2sh_erp_split(chunks)? {
            (RedeemKind::P2shErp, 1, else_at - 1)
        } else if let Some(else_at) = non_standard_erp_split(chunks)? {
            (RedeemKind::NonStandardErp, 1, else_at)
        } else {
            return Err(ScriptError::Script("expected a known kind of redeem script, got another"));
        };
        let end = chunks[to].start;
        Ok(RedeemScript { kind, flyover, program, standard: chunks[from..to].to_vec(), end })
    }

    /// The form behind the flyover prefix.
    pub fn kind(&self) -> RedeemKind {
        self.kind
    }

    /// Whether it begins with a derivation hash.
    pub fn is_flyover(&self) -> bool {
        self.flyover
    }

    /// `getM`: signatures needed to spend at once; −1 for the fixed testnet script.
    pub fn required_signatures(&self) -> i32 {
        match self.standard.first() {
            Some(first) => first.positive_number().ok().flatten().unwrap_or(-1),
            None => -1,
        }
    }

    /// `hasErpFormat`: whether an input script needs one more empty push, to choose the part that spends at once. Not said
    /// of the fixed testnet script.
    pub fn has_erp_format(&self) -> bool {
        matches!(self.kind, RedeemKind::P2shErp | RedeemKind::NonStandardErp)
    }

    /// Encodings of the keys that spend at once.
    pub fn key_bytes(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let end = self.standard.len().saturating_sub(1);
        self.standard.get(1..end.max(1)).unwrap_or_default().iter().filter_map(|chunk| chunk.data)
    }

    /// `getPubKeys`.
    pub fn keys(&self) -> Result<Vec<BtcKey>, ScriptError> {
        if self.kind == RedeemKind::HardcodedTestnetErp {
            return Err(ScriptError::Script("expected a multi-signature script, got another"));
        }
        self.key_bytes()
            .map(|bytes| {
                BtcKey::decode(bytes).map_err(|_| {
                    ScriptError::IllegalArgument("expected public keys in the redeem script, got other bytes")
                })
            })
            .collect()
    }

    /// `findKeyInRedeem`: position among the keys, by encoding; −1 for the fixed testnet script.
    pub fn find_key(&self, key: &BtcKey) -> Result<i32, ScriptError> {
        if self.kind == RedeemKind::HardcodedTestnetErp {
            return Ok(-1);
        }
        self.key_bytes()
            .position(|bytes| bytes == key.bytes())
            .map(|position| position as i32)
            .ok_or(ScriptError::IllegalState("expected a key of the redeem script, got another"))
    }

    /// `findSigInRedeem`: position of the key that made a signature; 0 for the fixed testnet script.
    pub fn find_signature(&self, signature: &[u8], hash: &[u8; 32]) -> Result<i32, ScriptError> {
        if self.kind == RedeemKind::HardcodedTestnetErp {
            return Ok(0);
        }
        if !self.standard.first().is_some_and(Chunk::is_op_code) {
            return Err(ScriptError::IllegalArgument("expected an opcode as number of signatures, got data"));
        }
        if !EcdsaSignature::is_canonical_encoding(signature) {
            return Err(ScriptError::Verification("expected a signature in canonical encoding, got another"));
        }
        let signature = EcdsaSignature::decode_der(signature)
            .map_err(|_| ScriptError::Verification("expected a signature in DER, got other bytes"))?;
        for (position, bytes) in self.key_bytes().enumerate() {
            let key = BtcKey::decode(bytes).map_err(|_| {
                ScriptError::IllegalArgument("expected public keys in the redeem script, got other bytes")
            })?;
            if key.verify(hash, &signature) {
                return Ok(position as i32);
            }
        }
        Err(ScriptError::IllegalState("expected a signature by a key of the redeem script, got one by another"))
    }

    /// `extractStandardRedeemScriptChunks` as a script: the part that spends at once, as plain M of N.
    pub fn standard_part(&self) -> Result<Script, ScriptError> {
        let first =
            self.standard.first().ok_or(ScriptError::Script("expected a multi-signature script, got another"))?;
        let builder = ScriptBuilder::new().chunks(&self.program[first.start..self.end]);
        // The check itself is the chunk behind the part, except in the old form, which gets one.
        let check = match self.kind {
            RedeemKind::NonStandardErp => op::CHECKMULTISIG,
            _ => self.program[self.end],
        };
        Ok(builder.op(check).build())
    }
}

fn has_flyover_prefix(chunks: &[Chunk<'_>]) -> bool {
    chunks[0].opcode == 32 && chunks[1].opcode == op::DROP
}

fn is_redeem_like(chunks: &[Chunk<'_>]) -> bool {
    if chunks.len() < 4 {
        return false;
    }
    let last = &chunks[chunks.len() - 1];
    last.is_check_multisig() || (last.opcode == op::ENDIF && chunks[chunks.len() - 2].is_check_multisig())
}

/// `hasStandardRedeemScriptStructure`.
fn is_standard(chunks: &[Chunk<'_>]) -> Result<bool, ScriptError> {
    if !is_redeem_like(chunks) || !chunks[chunks.len() - 1].is_check_multisig() {
        return Ok(false);
    }
    is_key_list(&chunks[..chunks.len() - 1])
}

/// M, keys, N: [`is_standard`] without the final check.
fn is_key_list(chunks: &[Chunk<'_>]) -> Result<bool, ScriptError> {
    let len = chunks.len() + 1;
    if len < 4 {
        return Ok(false);
    }
    if chunks[0].positive_number()?.is_none() {
        return Ok(false);
    }
    let Some(keys) = chunks[chunks.len() - 1].positive_number()? else { return Ok(false) };
    if len as i64 != i64::from(keys) + 3 {
        return Ok(false);
    }
    Ok(chunks[1..chunks.len() - 1].iter().all(|chunk| !chunk.is_op_code()))
}

/// Position of `OP_ELSE` before a time lock; errors as the reference runs off the end.
fn time_lock_split(chunks: &[Chunk<'_>]) -> Result<Option<usize>, ScriptError> {
    for (at, chunk) in chunks.iter().enumerate().skip(1) {
        if chunk.opcode == op::ELSE && chunks.len() >= at + 3 {
            let Some(drop) = chunks.get(at + 3) else {
                return Err(ScriptError::Runtime("expected an index within the script, got one beyond"));
            };
            let found = chunks[at + 1].is_push_data()
                && chunks[at + 2].opcode == op::CHECKSEQUENCEVERIFY
                && drop.opcode == op::DROP;
            return Ok(found.then_some(at));
        }
    }
    Ok(None)
}

/// `hasP2shErpRedeemScriptStructure`.
fn p2sh_erp_split(chunks: &[Chunk<'_>]) -> Result<Option<usize>, ScriptError> {
    if !is_redeem_like(chunks) || chunks[0].opcode != op::NOTIF || chunks[chunks.len() - 1].opcode != op::ENDIF {
        return Ok(None);
    }
    let Some(at) = time_lock_split(chunks)? else { return Ok(None) };
    let emergency = chunks
        .get(at + 4..chunks.len() - 1)
        .ok_or(ScriptError::IllegalArgument("expected an emergency part, got the end of the script"))?;
    Ok((is_standard(&chunks[1..at])? && is_standard(emergency)?).then_some(at))
}

/// `hasNonStandardErpRedeemScriptStructure`.
fn non_standard_erp_split(chunks: &[Chunk<'_>]) -> Result<Option<usize>, ScriptError> {
    if !is_redeem_like(chunks) || chunks[0].opcode != op::NOTIF || chunks[chunks.len() - 2].opcode != op::ENDIF {
        return Ok(None);
    }
    let Some(at) = time_lock_split(chunks)? else { return Ok(None) };
    let emergency = chunks
        .get(at + 4..chunks.len() - 2)
        .ok_or(ScriptError::IllegalArgument("expected an emergency part, got the end of the script"))?;
    Ok((is_key_list(&chunks[1..at])? && is_key_list(emergency)?).then_some(at))
}
