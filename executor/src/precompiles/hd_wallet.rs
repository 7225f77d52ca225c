//! HDWalletUtils (RSKIP-106): Bitcoin address and extended-key helpers (rskj `co/rsk/pcc/bto`, bitcoinj-thin's
//! `DeterministicKey`).
//!
//! Public derivation is written out here because rskj keeps on where a strict library stops: the depth of a derived key
//! wraps after 255.

use bitcoin::base58;
use bitcoin::hashes::{Hash, HashEngine, Hmac, HmacEngine, hash160, sha512};
use rhizome_primitives::Bytes;
use secp256k1::{PublicKey, SECP256K1, Scalar};

use super::abi::{Arguments, BadArguments, encode_bytes, exact_int};
use super::native::Selector;

/// `toBase58Check(bytes,int256)`
const TO_BASE58_CHECK: Selector = [0x83, 0x8c, 0x2a, 0x31];
/// `deriveExtendedPublicKey(string,string)`
const DERIVE: Selector = [0xab, 0x65, 0xdd, 0xb7];
/// `extractPublicKeyFromExtendedPublicKey(string)`
const EXTRACT: Selector = [0x81, 0x5a, 0x4f, 0x90];
/// `getMultisigScriptHash(int256,bytes[])`
const MULTISIG: Selector = [0x8a, 0xd1, 0x38, 0x25];

const MULTISIG_BASE: u64 = 20_000;
const MULTISIG_PER_KEY: u64 = 700;
/// A redeem script of more keys is above the 520 bytes that Bitcoin allows.
const MULTISIG_MAX_KEYS: usize = 15;
const MAX_PATH_LEVELS: usize = 10;
/// Bytes of a serialised extended key.
const EXTENDED_KEY: usize = 78;
/// Longest text of an extended key; anything above cannot decode to [`EXTENDED_KEY`] bytes and a checksum.
const MAX_EXTENDED_KEY_TEXT: usize = 120;

/// A decoded call.
#[derive(Debug)]
pub(super) enum Method<'a> {
    ToBase58Check { hash: &'a [u8], version: [u8; 32] },
    Derive { key: &'a [u8], path: &'a [u8] },
    Extract { key: &'a [u8] },
    Multisig { threshold: [u8; 32], keys: Vec<&'a [u8]> },
}

impl<'a> Method<'a> {
    /// The method of a selector with its arguments; `None` for an unknown one.
    pub(super) fn decode(selector: Selector, arguments: Arguments<'a>) -> Result<Option<Self>, BadArguments> {
        Ok(Some(match selector {
            TO_BASE58_CHECK => Self::ToBase58Check { hash: arguments.bytes(0)?, version: arguments.int256(1)? },
            DERIVE => Self::Derive { key: arguments.bytes(0)?, path: arguments.bytes(1)? },
            EXTRACT => Self::Extract { key: arguments.bytes(0)? },
            MULTISIG => Self::Multisig { threshold: arguments.int256(0)?, keys: arguments.bytes_array(1)? },
            _ => return Ok(None),
        }))
    }

    pub(super) fn price(&self) -> u64 {
        match self {
            Self::ToBase58Check { .. } => 13_000,
            Self::Derive { .. } => 107_000,
            Self::Extract { .. } => 11_300,
            Self::Multisig { keys, .. } => MULTISIG_BASE + keys.len().saturating_sub(2) as u64 * MULTISIG_PER_KEY,
        }
    }

    pub(super) fn run(&self) -> Result<Bytes, &'static str> {
        match self {
            Self::ToBase58Check { hash, version } => to_base58_check(hash, version),
            Self::Derive { key, path } => derive(key, path),
            Self::Extract { key } => ExtendedKey::parse(key).map(|key| encode_bytes(&key.public.serialize())),
            Self::Multisig { threshold, keys } => multisig(threshold, keys),
        }
    }
}

fn to_base58_check(hash: &[u8], version: &[u8; 32]) -> Result<Bytes, &'static str> {
    if hash.len() != 20 {
        return Err("hash160 has not 20 bytes");
    }
    let version = exact_int(version).and_then(|value| u8::try_from(value).ok()).ok_or("version is not one byte")?;
    let mut payload = [version; 21];
    payload[1..].copy_from_slice(hash);
    Ok(encode_bytes(base58::encode_check(&payload).as_bytes()))
}

fn derive(key: &[u8], path: &[u8]) -> Result<Bytes, &'static str> {
    let mut key = ExtendedKey::parse(key)?;
    for index in parse_path(path)? {
        key = key.child(index)?;
    }
    Ok(encode_bytes(base58::encode_check(&key.serialize()).as_bytes()))
}

fn multisig(threshold: &[u8; 32], keys: &[&[u8]]) -> Result<Bytes, &'static str> {
    let threshold = exact_int(threshold).and_then(|value| usize::try_from(value).ok()).unwrap_or(0);
    if threshold == 0 {
        return Err("required signatures must be above zero");
    }
    if !(2..=MULTISIG_MAX_KEYS).contains(&keys.len()) || keys.len() < threshold {
        return Err("number of public keys");
    }
    let mut compressed = Vec::with_capacity(keys.len());
    for key in keys {
        if key.len() != 33 && key.len() != 65 {
            return Err("length of a public key");
        }
        compressed.push(PublicKey::from_slice(key).map_err(|_| "public key")?.serialize());
    }
    compressed.sort_unstable();
    const OP_N: usize = 0x50;
    const OP_CHECKMULTISIG: u8 = 0xae;
    let mut script = Vec::with_capacity(3 + 34 * compressed.len());
    script.push((OP_N + threshold) as u8);
    for key in &compressed {
        script.push(key.len() as u8);
        script.extend_from_slice(key);
    }
    script.push((OP_N + compressed.len()) as u8);
    script.push(OP_CHECKMULTISIG);
    Ok(encode_bytes(hash160::Hash::hash(&script).as_byte_array()))
}

/// A public extended key (BIP-32).
struct ExtendedKey {
    header: [u8; 4],
    depth: u8,
    parent: [u8; 4],
    index: u32,
    chain_code: [u8; 32],
    public: PublicKey,
}

impl ExtendedKey {
    fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let header = match text.get(..4) {
            Some(b"xpub") => [0x04, 0x88, 0xb2, 0x1e],
            Some(b"tpub") => [0x04, 0x35, 0x87, 0xcf],
            _ => return Err("neither xpub nor tpub"),
        };
        let broken = "extended public key";
        if text.len() > MAX_EXTENDED_KEY_TEXT {
            return Err(broken);
        }
        let text = std::str::from_utf8(text).map_err(|_| broken)?;
        let bytes: [u8; EXTENDED_KEY] =
            base58::decode_check(text).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(broken)?;
        if bytes[..4] != header {
            return Err(broken);
        }
        let mut key = Self {
            header,
            depth: bytes[4],
            parent: [0; 4],
            index: u32::from_be_bytes([bytes[9], bytes[10], bytes[11], bytes[12]]),
            chain_code: [0; 32],
            public: PublicKey::from_slice(&bytes[45..]).map_err(|_| broken)?,
        };
        key.parent.copy_from_slice(&bytes[5..9]);
        key.chain_code.copy_from_slice(&bytes[13..45]);
        Ok(key)
    }

    fn child(&self, index: u32) -> Result<Self, &'static str> {
        let public = self.public.serialize();
        let mut engine = HmacEngine::<sha512::Hash>::new(&self.chain_code);
        engine.input(&public);
        engine.input(&index.to_be_bytes());
        let digest = Hmac::<sha512::Hash>::from_engine(engine).to_byte_array();
        let (mut tweak, mut chain_code) = ([0; 32], [0; 32]);
        tweak.copy_from_slice(&digest[..32]);
        chain_code.copy_from_slice(&digest[32..]);
        let unusable = "derived key is out of range";
        let tweak = Scalar::from_be_bytes(tweak).map_err(|_| unusable)?;
        let mut parent = [0; 4];
        parent.copy_from_slice(&hash160::Hash::hash(&public).as_byte_array()[..4]);
        Ok(Self {
            header: self.header,
            depth: self.depth.wrapping_add(1),
            parent,
            index,
            chain_code,
            public: self.public.add_exp_tweak(SECP256K1, &tweak).map_err(|_| unusable)?,
        })
    }

    fn serialize(&self) -> [u8; EXTENDED_KEY] {
        let mut out = [0; EXTENDED_KEY];
        out[..4].copy_from_slice(&self.header);
        out[4] = self.depth;
        out[5..9].copy_from_slice(&self.parent);
        out[9..13].copy_from_slice(&self.index.to_be_bytes());
        out[13..45].copy_from_slice(&self.chain_code);
        out[45..].copy_from_slice(&self.public.serialize());
        out
    }
}

/// A path of unsigned numbers between slashes, one to ten of them.
fn parse_path(path: &[u8]) -> Result<Vec<u32>, &'static str> {
    let broken = "path";
    let text = String::from_utf8_lossy(path);
    // The first and the last character must be digits; inside, a chunk may have a sign as long as it is not below zero.
    let digit_at_end = |character: Option<char>| character.and_then(java_digit).is_some();
    if !digit_at_end(text.chars().next()) || !digit_at_end(text.chars().next_back()) {
        return Err(broken);
    }
    let mut levels = Vec::new();
    for chunk in text.split('/') {
        if levels.len() == MAX_PATH_LEVELS {
            return Err("path of more than ten levels");
        }
        levels.push(java_natural(chunk).ok_or(broken)?);
    }
    Ok(levels)
}

/// Java's `Integer.parseInt` of a number that is not below zero.
fn java_natural(text: &str) -> Option<u32> {
    let mut characters = text.chars().peekable();
    let negative = match characters.peek()? {
        '-' => {
            characters.next();
            true
        }
        '+' => {
            characters.next();
            false
        }
        _ => false,
    };
    characters.peek()?;
    let mut value = 0u32;
    for character in characters {
        value =
            value.checked_mul(10)?.checked_add(java_digit(character)?).filter(|&value| i32::try_from(value).is_ok())?;
    }
    (!negative || value == 0).then_some(value)
}

/// Java's `Character.digit(c, 10)` of one UTF-16 unit: every script's decimal digits in the basic plane (Unicode 13).
fn java_digit(character: char) -> Option<u32> {
    const ZEROS: [u32; 37] = [
        0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
        0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
        0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    ];
    let code = u32::from(character);
    let at = ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?;
    Some(code - ZEROS[at]).filter(|&digit| digit < 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_java_reads_them() {
        assert_eq!(parse_path(b"1/2"), Ok(vec![1, 2]));
        assert_eq!(parse_path(b"0001/+5/-0/2147483647"), Ok(vec![1, 5, 0, 2_147_483_647]));
        assert_eq!(parse_path("\u{661}/\u{ff12}".as_bytes()), Ok(vec![1, 2]));
        for bad in [&b""[..], b"/1", b"1/", b"1//2", b"1/-1/2", b"1/2147483648", b"1H", b"M/1", b"1/ 2/3", b"\xff1"] {
            assert!(parse_path(bad).is_err(), "{bad:?}");
        }
        assert!(parse_path(b"1/1/1/1/1/1/1/1/1/1").is_ok());
        assert!(parse_path(b"1/1/1/1/1/1/1/1/1/1/1").is_err());
    }

    #[test]
    fn selectors_are_those_of_the_signatures() {
        for (selector, signature) in [
            (TO_BASE58_CHECK, "toBase58Check(bytes,int256)"),
            (DERIVE, "deriveExtendedPublicKey(string,string)"),
            (EXTRACT, "extractPublicKeyFromExtendedPublicKey(string)"),
            (MULTISIG, "getMultisigScriptHash(int256,bytes[])"),
            (super::super::native::GET_CALL_STACK_DEPTH, "getCallStackDepth()"),
        ] {
            assert_eq!(selector, rhizome_primitives::keccak256(signature)[..4], "{signature}");
        }
    }

    #[test]
    fn short_inputs_have_prices_where_they_decode() {
        let price = |selector, input: &[u8]| {
            Method::decode(selector, Arguments::new(input)).ok().flatten().map(|method| method.price())
        };
        for selector in [TO_BASE58_CHECK, DERIVE, EXTRACT, MULTISIG] {
            assert_eq!(price(selector, &[]), None);
        }
        let zeros = [0; 64];
        assert_eq!(price(MULTISIG, &zeros[..32]), Some(MULTISIG_BASE));
        assert_eq!(price(MULTISIG, &zeros[..31]), None);
        assert_eq!(price(DERIVE, &zeros[..32]), Some(107_000));
        assert_eq!(price(DERIVE, &zeros[..45]), Some(107_000));
        assert_eq!(price(EXTRACT, &zeros[..32]), Some(11_300));
        assert_eq!(price(TO_BASE58_CHECK, &zeros[..63]), None);
        assert_eq!(price(TO_BASE58_CHECK, &zeros), Some(13_000));
    }

    #[test]
    fn hostile_arguments_do_no_harm() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        for _ in 0..20_000 {
            let selector = [TO_BASE58_CHECK, DERIVE, EXTRACT, MULTISIG][next() as usize % 4];
            let mut input = Vec::new();
            for _ in 0..next() % 12 {
                let mut word = [0; 32];
                let value = match next() % 4 {
                    0 => next(),
                    1 => u32::MAX - next() % 100,
                    _ => next() % 400,
                };
                word[28..].copy_from_slice(&value.to_be_bytes());
                input.extend_from_slice(&word);
            }
            input.truncate(input.len().saturating_sub(next() as usize % 3));
            if let Ok(Some(method)) = Method::decode(selector, Arguments::new(&input)) {
                assert!(method.price() >= 11_300);
                let _ = method.run();
            }
        }
    }
}
