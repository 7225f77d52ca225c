//! Genesis files in rskj's form (`org.ethereum.core.genesis.GenesisJson`, `GenesisLoaderImpl.mapFromJson`).
//!
//! Differences: a key that stands twice, a negative balance, a balance above 256 bits, a root that is not 32 bytes and a negative
//! timestamp are refused here.

use std::path::Path;

use rhizome_primitives::{Address, B256, Bytes, U256, hex};

use crate::error::ChainSpecError;
use crate::genesis::{Genesis, GenesisAccount, GenesisContract};
use crate::json::{Json, Place, read};

const KEYS: &[&str] = &[
    "alloc",
    "nonce",
    "mixhash",
    "bitcoinMergedMiningHeader",
    "bitcoinMergedMiningMerkleProof",
    "bitcoinMergedMiningCoinbaseTransaction",
    "timestamp",
    "parentHash",
    "extraData",
    "gasLimit",
    "difficulty",
    "coinbase",
    "minimumGasPrice",
    "stateRoot",
];

/// Reads a genesis file.
pub(crate) fn from_file(path: &Path) -> Result<Genesis, ChainSpecError> {
    parse(path, &read(path)?)
}

impl Genesis {
    /// Reads the text of a genesis file; `path` is what errors call it.
    ///
    /// # Errors
    /// [`ChainSpecError`] with the place of what is wrong.
    pub fn from_json(path: &Path, text: &str) -> Result<Self, ChainSpecError> {
        let document: Json =
            serde_json::from_str(text).map_err(|source| ChainSpecError::Syntax { path: path.to_owned(), source })?;
        parse(path, &document)
    }
}

fn parse(path: &Path, document: &Json) -> Result<Genesis, ChainSpecError> {
    let root = Place::root(path, document);
    let mut genesis = Genesis::blank();
    let mut parent_hash = None;
    let mut difficulty = None;
    let mut minimum_gas_price = None;
    for (key, member) in root.members()? {
        match key {
            "alloc" => genesis.alloc = alloc(&member)?,
            // Ethereum's fields; a Rootstock header has no place for them.
            "nonce" | "mixhash" => {
                member.text()?;
            }
            "bitcoinMergedMiningHeader" => genesis.btc_header = bytes(&member)?,
            "bitcoinMergedMiningMerkleProof" => genesis.merkle_proof = bytes(&member)?,
            "bitcoinMergedMiningCoinbaseTransaction" => genesis.btc_coinbase = bytes(&member)?,
            "timestamp" => genesis.timestamp = number(&member)?,
            "parentHash" => parent_hash = Some(word(&member)?),
            "extraData" => genesis.extra_data = bytes(&member)?,
            "gasLimit" => genesis.gas_limit = number(&member)?,
            "difficulty" => difficulty = Some(signed(&member, "a number of 1 to 32 bytes in hex, the top bit clear")?),
            "coinbase" => genesis.coinbase = coinbase(&member)?,
            "minimumGasPrice" => {
                minimum_gas_price = Some(signed(&member, "a number of 1 to 32 bytes in hex, the top bit clear")?);
            }
            "stateRoot" if *member.value == Json::Null => {}
            "stateRoot" => genesis.state_root = Some(word(&member)?),
            _ => return Err(root.unknown(key, KEYS)),
        }
    }
    genesis.parent_hash = parent_hash.ok_or_else(|| root.missing("parentHash"))?;
    genesis.difficulty = difficulty.ok_or_else(|| root.missing("difficulty"))?;
    genesis.minimum_gas_price = minimum_gas_price.ok_or_else(|| root.missing("minimumGasPrice"))?;
    Ok(genesis)
}

fn alloc(place: &Place<'_>) -> Result<Vec<GenesisAccount>, ChainSpecError> {
    let mut accounts = Vec::new();
    for (key, member) in place.members()? {
        // rskj skips this one key.
        if key == "00" {
            continue;
        }
        let address = hex_bytes(key)
            .and_then(|bytes| Address::try_from(bytes.as_slice()).ok())
            .ok_or_else(|| member.expected("under a key that is an address of 20 bytes in hex"))?;
        accounts.push(account(address, &member)?);
    }
    accounts.sort_by_key(|account| account.address);
    // Two spellings of one address would be two accounts here.
    if let Some(pair) = accounts.windows(2).find(|pair| pair[0].address == pair[1].address) {
        return Err(place.expected(format!("an object with {} only once", pair[0].address)));
    }
    Ok(accounts)
}

fn account(address: Address, place: &Place<'_>) -> Result<GenesisAccount, ChainSpecError> {
    let mut balance = None;
    let mut nonce = U256::ZERO;
    let mut contract = None;
    for (key, member) in place.members()? {
        match key {
            "balance" => balance = Some(decimal(&member)?),
            "nonce" | "contract" if *member.value == Json::Null => {}
            "nonce" => nonce = decimal(&member)?,
            "contract" => contract = Some(self::contract(&member)?),
            _ => return Err(place.unknown(key, &["balance", "nonce", "contract"])),
        }
    }
    let balance = balance.ok_or_else(|| place.missing("balance"))?;
    Ok(GenesisAccount { address, balance, nonce, contract })
}

fn contract(place: &Place<'_>) -> Result<GenesisContract, ChainSpecError> {
    let mut code = None;
    let mut storage: Option<Vec<(B256, Bytes)>> = None;
    for (key, member) in place.members()? {
        match key {
            "code" => code = Some(plain_bytes(&member)?),
            "data" => {
                let mut cells = Vec::new();
                for (slot, value) in member.members()? {
                    let slot = plain_hex(slot)
                        .filter(|slot| slot.len() <= 32)
                        .ok_or_else(|| value.expected("under a key of at most 32 bytes in hex, without 0x"))?;
                    cells.push((B256::left_padding_from(&slot), plain_bytes(&value)?));
                }
                cells.sort();
                storage = Some(cells);
            }
            _ => return Err(place.unknown(key, &["code", "data"])),
        }
    }
    let code = code.ok_or_else(|| place.missing("code"))?;
    let storage = storage.ok_or_else(|| place.missing("data"))?;
    Ok(GenesisContract { code, storage })
}

/// Hex with or without `0x`, as rskj's `Utils.parseData`.
fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    plain_hex(text.strip_prefix("0x").unwrap_or(text))
}

/// Hex without a prefix; ours would strip one.
fn plain_hex(text: &str) -> Option<Vec<u8>> {
    if text.starts_with("0x") { None } else { hex::decode(text).ok() }
}

fn bytes(place: &Place<'_>) -> Result<Bytes, ChainSpecError> {
    if *place.value == Json::Null {
        return Ok(Bytes::new());
    }
    hex_bytes(place.text()?).map(Bytes::from).ok_or_else(|| place.expected("bytes in hex"))
}

fn plain_bytes(place: &Place<'_>) -> Result<Bytes, ChainSpecError> {
    plain_hex(place.text()?).map(Bytes::from).ok_or_else(|| place.expected("bytes in hex, without 0x"))
}

fn word(place: &Place<'_>) -> Result<B256, ChainSpecError> {
    let bytes = bytes(place)?;
    B256::try_from(bytes.as_ref()).map_err(|_| place.expected("32 bytes in hex"))
}

fn coinbase(place: &Place<'_>) -> Result<Option<Address>, ChainSpecError> {
    let bytes = bytes(place)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    Address::try_from(bytes.as_ref()).map(Some).map_err(|_| place.expected("an address of 20 bytes in hex"))
}

/// Bytes that a signed number is read from and that the header keeps as they are.
fn signed(place: &Place<'_>, expected: &str) -> Result<Bytes, ChainSpecError> {
    let bytes = bytes(place)?;
    match bytes.first() {
        Some(first) if first & 0x80 == 0 && bytes.len() <= 32 => Ok(bytes),
        _ => Err(place.expected(expected)),
    }
}

fn number(place: &Place<'_>) -> Result<u64, ChainSpecError> {
    let bytes = bytes(place)?;
    let expected = || place.expected("a number of at most 8 bytes in hex, below 2^63");
    let mut word = [0; 8];
    let start = word.len().checked_sub(bytes.len()).ok_or_else(expected)?;
    word[start..].copy_from_slice(&bytes);
    let number = u64::from_be_bytes(word);
    if i64::try_from(number).is_ok() { Ok(number) } else { Err(expected()) }
}

fn decimal(place: &Place<'_>) -> Result<U256, ChainSpecError> {
    let expected = || place.expected("a decimal number below 2^256, as a text");
    let text = place.text()?;
    if text.is_empty() || text.len() > 100 || !text.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(expected());
    }
    U256::from_str_radix(text, 10).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"alloc":{
        "0000000000000000000000000000000001000006":{"balance":"21000000000000000000000000"},
        "00":{"balance":"1"},
        "0000000000000000000000000000000000000001":{"balance":"5","nonce":"7","contract":{"code":"6001","data":{"01":"0a0b"}}}},
        "nonce":"0x00","mixhash":"0x00","bitcoinMergedMiningHeader":"0x00","bitcoinMergedMiningMerkleProof":"0x00",
        "bitcoinMergedMiningCoinbaseTransaction":"0x00","timestamp":"0x62590080",
        "parentHash":"0x0000000000000000000000000000000000000000000000000000000000000000","extraData":"0x686f727365",
        "gasLimit":"0x7a1200","difficulty":"0x0000004000","coinbase":"0x3333333333333333333333333333333333333333",
        "minimumGasPrice":"0x0f4240"}"#;

    fn message(from: &str, to: &str) -> String {
        assert!(FILE.contains(from));
        Genesis::from_json(Path::new("g.json"), &FILE.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_read() {
        let genesis = Genesis::from_json(Path::new("g.json"), FILE).unwrap();
        assert_eq!(genesis.gas_limit, 8_000_000);
        assert_eq!(genesis.timestamp, 0x6259_0080);
        assert_eq!(genesis.difficulty.as_ref(), [0, 0, 0, 0x40, 0]);
        assert_eq!(genesis.alloc.len(), 2);
        assert_eq!(genesis.alloc[0].nonce, U256::from(7));
        let contract = genesis.alloc[0].contract.as_ref().unwrap();
        assert_eq!(contract.storage, [(B256::with_last_byte(1), Bytes::from_static(&[0x0a, 0x0b]))]);
        assert_eq!(genesis.state_root, None);
    }

    #[test]
    fn errors_name_the_place() {
        assert!(message("\"balance\":\"5\"", "\"balance\":\"-5\"").contains(".balance is \"-5\", expected a decimal"));
        assert!(message("gasLimit", "gaslimit").ends_with("did you mean gasLimit?"));
        assert!(message("0x7a1200", "0x7a120").contains("gasLimit is \"0x7a120\", expected"));
        assert!(message("0x0000004000", "0x").contains("difficulty is"));
        assert!(message("0x0000004000", "0x80").contains("difficulty is"));
        assert!(message("\"00\":{", "\"0000\":{").contains("expected under a key that is an address"));
        assert!(message("\"code\":\"6001\",", "").contains("has no \"code\""));
        assert!(message("0x62590080", "0x8000000000000000").contains("timestamp"));
    }
}
