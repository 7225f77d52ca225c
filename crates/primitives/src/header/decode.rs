//! Reading a header (`BlockFactory.decodeHeader`).

use crate::coin::{self, Coin, Difficulty, SignedCoin};
use crate::error::DecodeError;
use crate::header::{
    BTC_HEADER_LENGTH, BlockHeader, HeaderExtension, HeaderFields, HeaderLayout, HeaderRules, MiningFields,
    UnusualFields,
};
use crate::rlp::{self, Item, Items};
use crate::{Address, B256, Bytes, EMPTY_TRIE_HASH, U256};

/// The elements that every header has.
const COMMON_ELEMENTS: usize = 16;
/// Elements of a header with everything.
const MAX_ELEMENTS: usize = 23;
/// Bitcoin header, merkle proof, coinbase.
const MINING_ELEMENTS: usize = 3;

impl BlockHeader {
    /// Reads a full header, as it stands in blocks and stores.
    ///
    /// # Errors
    /// Whenever rskj refuses the bytes.
    pub fn decode(encoded: &[u8], rules: &(impl HeaderRules + ?Sized)) -> Result<Self, DecodeError> {
        decode(Bytes::copy_from_slice(encoded), false, rules)
    }

    /// Reads a header in the form of header messages.
    ///
    /// # Errors
    /// Whenever rskj refuses the bytes.
    pub fn decode_compressed(encoded: &[u8], rules: &(impl HeaderRules + ?Sized)) -> Result<Self, DecodeError> {
        decode(Bytes::copy_from_slice(encoded), true, rules)
    }
}

fn decode(raw: Bytes, compressed: bool, rules: &(impl HeaderRules + ?Sized)) -> Result<BlockHeader, DecodeError> {
    let mut elements = Elements::read(rlp::decode_list(&raw)?)?;
    let number = elements.long(8, "block number")?;
    let layout = rules.header_layout(number);
    elements.check_count(layout, compressed)?;

    let mut unusual = UnusualFields::default();
    let mut fields = HeaderFields {
        parent_hash: hash(&raw, elements.data(0), None, &mut unusual.parent_hash),
        uncles_hash: hash(&raw, elements.data(1), None, &mut unusual.uncles_hash),
        coinbase: address(elements.data(2))?,
        state_root: hash(&raw, elements.data(3), Some(EMPTY_TRIE_HASH), &mut unusual.state_root),
        transactions_root: hash(&raw, elements.data(4), Some(EMPTY_TRIE_HASH), &mut unusual.transactions_root),
        receipts_root: hash(&raw, elements.data(5), Some(EMPTY_TRIE_HASH), &mut unusual.receipts_root),
        extension: HeaderExtension::V0 { bloom: raw.slice_ref(elements.data(6)), edges: None, base_event: None },
        difficulty: difficulty(&raw, elements.data(7), &mut unusual.difficulty)?,
        number,
        gas_limit: raw.slice_ref(elements.data(9)),
        gas_used: elements.long(10, "gas used")?,
        timestamp: elements.long(11, "timestamp")?,
        extra_data: raw.slice_ref(elements.data(12)),
        paid_fees: paid_fees(&raw, elements.data(13), &mut unusual.paid_fees),
        minimum_gas_price: minimum_gas_price(&raw, elements.data(14), &mut unusual.minimum_gas_price),
        uncle_count: elements.int(15, "uncle count")?,
        umm_root: None,
        mining: MiningFields::default(),
        fork_detection_data: None,
        layout,
        unusual: None,
    };
    elements.place = COMMON_ELEMENTS;
    if layout.umm {
        fields.umm_root = Some(raw.slice_ref(elements.next()?));
    }
    fields.extension = extension(&raw, &mut elements, layout, compressed)?;
    if elements.remaining() > 0 {
        fields.mining.btc_header = raw.slice_ref(elements.next()?);
        let length = fields.mining.btc_header.len();
        if number != 0 && layout.rskip98 && length != BTC_HEADER_LENGTH {
            return Err(DecodeError::Length { field: "Bitcoin header", expected: "80", got: length });
        }
        fields.mining.merkle_proof = raw.slice_ref(elements.next()?);
        fields.mining.coinbase = raw.slice_ref(elements.next()?);
    }
    if number == 0 {
        into_genesis(&mut fields, &raw, &elements, &mut unusual)?;
    }
    if unusual != UnusualFields::default() {
        fields.unusual = Some(Box::new(unusual));
    }
    Ok(BlockHeader::new(fields))
}

/// Reads version, edges and base event.
fn extension(
    raw: &Bytes,
    elements: &mut Elements<'_>,
    layout: HeaderLayout,
    compressed: bool,
) -> Result<HeaderExtension, DecodeError> {
    let data = raw.slice_ref(elements.data(6));
    if !layout.rskip351 {
        return Ok(HeaderExtension::V0 { bloom: data, edges: None, base_event: None });
    }
    let version = |bytes: &[u8]| bytes.first().copied().ok_or(DecodeError::Empty { field: "header version" });
    if compressed {
        let first = rlp::decode_list(&data)?.collect_all()?;
        let first = first.first().ok_or(DecodeError::Empty { field: "header version" })?;
        return Ok(match version(first.data())? {
            version @ (1 | 2) => HeaderExtension::Compressed { version, data },
            _ => HeaderExtension::V0 { bloom: data, edges: None, base_event: None },
        });
    }
    let version = version(elements.next()?)?;
    let mut edges = None;
    if layout.rskip144 && elements.remaining() > 0 {
        edges = Some(rlp::shorts_from_bytes(elements.next()?));
    }
    let mut base_event = None;
    if layout.has_base_event() {
        // In the recovery window the element may be missing, with or without the mining fields behind it.
        let missing = matches!(elements.remaining(), 0 | MINING_ELEMENTS);
        base_event = Some(if missing { Bytes::new() } else { raw.slice_ref(elements.next()?) });
    }
    Ok(match version {
        1 => HeaderExtension::V1 { bloom: data, edges },
        2 => HeaderExtension::V2 { bloom: data, base_event, edges },
        _ => HeaderExtension::V0 { bloom: data, edges, base_event },
    })
}

/// A header of block 0 is read as a genesis header whatever stands in it (`GenesisHeader`): fixed roots, no fees, no uncles, no
/// UMM root, and the difficulty keeps its bytes.
fn into_genesis(
    fields: &mut HeaderFields,
    raw: &Bytes,
    elements: &Elements<'_>,
    unusual: &mut UnusualFields,
) -> Result<(), DecodeError> {
    if fields.coinbase.is_none() {
        return Err(DecodeError::Empty { field: "coinbase" });
    }
    let (bloom, difficulty) = (elements.data(6), elements.data(7));
    let stripped = coin::strip_leading_zeros(&fields.gas_limit);
    if stripped.is_empty() && !fields.gas_limit.is_empty() {
        fields.gas_limit = Bytes::from_static(&[0]);
    } else {
        fields.gas_limit = fields.gas_limit.slice_ref(stripped);
    }
    fields.transactions_root = EMPTY_TRIE_HASH;
    fields.receipts_root = EMPTY_TRIE_HASH;
    fields.paid_fees = Coin::ZERO;
    fields.uncle_count = 0;
    fields.umm_root = None;
    fields.extension = HeaderExtension::V0 { bloom: raw.slice_ref(bloom), edges: None, base_event: None };
    unusual.transactions_root = None;
    unusual.receipts_root = None;
    unusual.paid_fees = None;
    let minimal = fields.difficulty.is_none_or(|value| *value.to_signed_bytes() == *difficulty);
    if !minimal {
        unusual.difficulty = Some(raw.slice_ref(difficulty));
    }
    Ok(())
}

/// A hash; one of another length is kept in `unusual` and reads as zero, which no hash of real content equals.
fn hash(raw: &Bytes, data: &[u8], empty: Option<B256>, unusual: &mut Option<Bytes>) -> B256 {
    match (data, empty) {
        ([], Some(hash)) => hash,
        _ => B256::try_from(data).unwrap_or_else(|_| {
            *unusual = Some(raw.slice_ref(data));
            B256::ZERO
        }),
    }
}

pub(crate) fn address(data: &[u8]) -> Result<Option<Address>, DecodeError> {
    match data {
        [] => Ok(None),
        _ => Address::try_from(data).map(Some).map_err(|_| DecodeError::Length {
            field: "address",
            expected: "0 or 20",
            got: data.len(),
        }),
    }
}

fn difficulty(raw: &Bytes, data: &[u8], unusual: &mut Option<Bytes>) -> Result<Option<Difficulty>, DecodeError> {
    if data.is_empty() {
        return Ok(None);
    }
    match Difficulty::from_signed_bytes(data) {
        Err(DecodeError::OutOfRange { .. }) => {
            *unusual = Some(minimal_signed(raw, data));
            Ok(Some(Difficulty(U256::MAX)))
        }
        result => result.map(Some),
    }
}

fn paid_fees(raw: &Bytes, data: &[u8], unusual: &mut Option<Bytes>) -> Coin {
    coin::unsigned(data).unwrap_or_else(|| {
        *unusual = Some(raw.slice_ref(coin::strip_leading_zeros(data)));
        Coin::MAX
    })
}

fn minimum_gas_price(raw: &Bytes, data: &[u8], unusual: &mut Option<Bytes>) -> Option<SignedCoin> {
    let first = data.first()?;
    Some(coin::signed(data).unwrap_or_else(|| {
        *unusual = Some(minimal_signed(raw, data));
        if first & 0x80 == 0 { SignedCoin::MAX } else { SignedCoin::MIN }
    }))
}

/// The shortest two's complement form of a number that is too wide for a word, as a part of its bytes.
fn minimal_signed(raw: &Bytes, data: &[u8]) -> Bytes {
    let redundant = data.windows(2).take_while(|pair| matches!(pair, [0, 0..=0x7f] | [0xff, 0x80..=0xff])).count();
    raw.slice_ref(&data[redundant..])
}

/// The elements of a header list.
struct Elements<'a> {
    items: [&'a [u8]; MAX_ELEMENTS],
    count: usize,
    place: usize,
}

impl<'a> Elements<'a> {
    fn read(list: Items<'a>) -> Result<Self, DecodeError> {
        let mut elements = Self { items: [&[]; MAX_ELEMENTS], count: 0, place: 0 };
        for item in list {
            let item: Item<'a> = item?;
            if let Some(place) = elements.items.get_mut(elements.count) {
                *place = item.data();
            }
            elements.count += 1;
        }
        if (COMMON_ELEMENTS..=MAX_ELEMENTS).contains(&elements.count) {
            Ok(elements)
        } else {
            Err(elements.wrong_count(format!("{COMMON_ELEMENTS} to {MAX_ELEMENTS}")))
        }
    }

    fn wrong_count(&self, expected: String) -> DecodeError {
        DecodeError::ElementCount { what: "block header", expected: expected.into(), got: self.count }
    }

    fn check_count(&self, layout: HeaderLayout, compressed: bool) -> Result<(), DecodeError> {
        let in_full_form = !compressed;
        let expected = COMMON_ELEMENTS
            + usize::from(layout.umm)
            + usize::from(in_full_form && layout.rskip351)
            + usize::from(in_full_form && layout.has_edges())
            + usize::from(in_full_form && layout.has_base_event());
        let tolerant = in_full_form && layout.has_base_event() && layout.short_event_window;
        let fits = |count| count == expected || count == expected + MINING_ELEMENTS;
        if fits(self.count) || (tolerant && fits(self.count + 1)) {
            return Ok(());
        }
        let mined = expected + MINING_ELEMENTS;
        let fewer = if tolerant { ", or one less without a base event" } else { "" };
        Err(self.wrong_count(format!("{expected} or, with merged mining, {mined}{fewer}")))
    }

    const fn data(&self, index: usize) -> &'a [u8] {
        self.items[index]
    }

    const fn remaining(&self) -> usize {
        self.count.saturating_sub(self.place)
    }

    fn next(&mut self) -> Result<&'a [u8], DecodeError> {
        if self.remaining() == 0 {
            return Err(self.wrong_count(format!("more than {}", self.place)));
        }
        self.place += 1;
        Ok(self.items[self.place - 1])
    }

    fn long(&self, index: usize, field: &'static str) -> Result<u64, DecodeError> {
        coin::long_exact(self.data(index), field)
    }

    fn int(&self, index: usize, field: &'static str) -> Result<u32, DecodeError> {
        let value = self.long(index, field)?;
        i32::try_from(value).map(i32::unsigned_abs).map_err(|_| DecodeError::OutOfRange {
            field,
            bits: 31,
            got: self.data(index).len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layout() -> impl Strategy<Value = HeaderLayout> {
        any::<[bool; 7]>().prop_map(|[umm, rskip92, rskip98, rskip110, rskip144, rskip351, rskip535]| HeaderLayout {
            umm,
            rskip92,
            rskip98,
            rskip110,
            rskip144,
            rskip351,
            rskip535,
            short_event_window: false,
        })
    }

    prop_compose! {
        fn fields()(
            layout in layout(),
            number in 1u64..i64::MAX as u64,
            numbers in any::<[u32; 4]>(),
            coinbase in proptest::option::of(any::<[u8; 20]>()),
            difficulty in proptest::option::of(any::<[u8; 32]>()),
            price in proptest::option::of(any::<[u8; 32]>()),
            gas_limit in proptest::collection::vec(any::<u8>(), 0..10),
            edges in proptest::collection::vec(any::<i16>(), 0..5),
            event in proptest::collection::vec(any::<u8>(), 0..130),
            mined in any::<bool>(),
        ) -> HeaderFields {
            let mut fields = HeaderFields::new(number, layout);
            fields.coinbase = coinbase.map(Address::from);
            fields.difficulty = difficulty.map(|bytes| Difficulty(U256::from_be_bytes(bytes)));
            fields.minimum_gas_price = price.map(|bytes| SignedCoin::from_raw(U256::from_be_bytes(bytes)));
            fields.gas_limit = gas_limit.into();
            fields.gas_used = u64::from(numbers[0]);
            fields.timestamp = u64::from(numbers[1]);
            fields.paid_fees = Coin::from(numbers[2]);
            fields.uncle_count = numbers[3] >> 1;
            fields.extra_data = event.clone().into();
            if layout.has_edges() {
                fields.extension.set_edges(Some(edges));
            }
            if let HeaderExtension::V2 { base_event, .. } = &mut fields.extension {
                *base_event = Some(event.into());
            }
            if mined {
                fields.mining.btc_header = Bytes::from_static(&[7; BTC_HEADER_LENGTH]);
                fields.mining.coinbase = Bytes::from_static(&[8; 120]);
            }
            fields
        }
    }

    /// The full encoding of a plain header with one element replaced.
    fn with_element(number: u64, index: usize, element: &[u8]) -> Vec<u8> {
        let encoded = HeaderFields::new(number, HeaderLayout::default()).encode_full();
        let mut out = Vec::new();
        rlp::put_list(&mut out, |out| {
            for (place, item) in rlp::decode_list(&encoded).unwrap().enumerate() {
                rlp::put_bytes(out, if place == index { element } else { item.unwrap().data() });
            }
        });
        out
    }

    #[test]
    fn numbers_above_a_word_are_written_as_received() {
        let mut wide = vec![1; 40];
        for index in [7, 13, 14] {
            let encoded = with_element(5, index, &wide);
            let header = BlockHeader::decode(&encoded, &HeaderLayout::default()).unwrap();
            assert!(!header.is_usual());
            assert_eq!(header.encode_full(), encoded);
            // Leading zeros go.
            let padded = with_element(5, index, &[&[0, 0], &wide[..]].concat());
            let header = BlockHeader::decode(&padded, &HeaderLayout::default()).unwrap();
            assert_eq!(header.encode_full(), encoded);
        }
        wide[0] = 0x80;
        let encoded = with_element(5, 14, &wide);
        let header = BlockHeader::decode(&encoded, &HeaderLayout::default()).unwrap();
        assert_eq!(header.minimum_gas_price, Some(SignedCoin::MIN));
        assert_eq!(header.encode_full(), encoded);
        assert!(BlockHeader::decode(&with_element(5, 7, &wide), &HeaderLayout::default()).is_err());
    }

    #[test]
    fn hashes_of_odd_length_are_written_as_received() {
        for index in [0, 1, 3, 4, 5] {
            let encoded = with_element(5, index, &[1, 2, 3]);
            let header = BlockHeader::decode(&encoded, &HeaderLayout::default()).unwrap();
            assert!(!header.is_usual());
            assert_eq!(header.encode_full(), encoded);
            let empty = BlockHeader::decode(&with_element(5, index, &[]), &HeaderLayout::default()).unwrap();
            assert_eq!(empty.is_usual(), index >= 3, "an empty root is the empty trie");
        }
    }

    #[test]
    fn block_zero_is_read_as_genesis() {
        let layout = HeaderLayout::default();
        let read = |index, element: &[u8]| BlockHeader::decode(&with_element(0, index, element), &layout);
        assert_eq!(read(4, &[1; 32]).unwrap().transactions_root, EMPTY_TRIE_HASH);
        assert_eq!(read(13, &[1]).unwrap().paid_fees, Coin::ZERO);
        assert_eq!(read(15, &[1]).unwrap().uncle_count, 0);
        assert_eq!(&read(9, &[0, 0, 5]).unwrap().gas_limit[..], [5]);
        assert_eq!(&read(9, &[0, 0]).unwrap().gas_limit[..], [0]);
        assert_eq!(read(2, &[]), Err(DecodeError::Empty { field: "coinbase" }));
        // The difficulty keeps its bytes.
        let encoded = with_element(0, 7, &[0, 0, 1]);
        let header = BlockHeader::decode(&encoded, &layout).unwrap();
        assert_eq!((header.difficulty(), header.encode_full()), (Difficulty::ONE, encoded));
    }

    #[test]
    fn the_recovery_window_lets_the_base_event_be_missing() {
        let layout = HeaderLayout { rskip144: true, rskip351: true, rskip535: true, ..HeaderLayout::default() };
        let open = HeaderLayout { short_event_window: true, ..layout };
        for mining in [0, MINING_ELEMENTS] {
            let mut fields = HeaderFields::new(9, layout);
            if mining > 0 {
                fields.mining.coinbase = Bytes::from_static(&[1]);
            }
            let encoded = fields.encode_full();
            let items = rlp::decode_list(&encoded).unwrap().collect_all().unwrap();
            let event = items.len() - mining - 1;
            let mut short = Vec::new();
            rlp::put_list(&mut short, |out| {
                let kept = items.iter().enumerate().filter(|(place, _)| *place != event);
                kept.for_each(|(_, item)| rlp::put_bytes(out, item.data()));
            });
            assert!(BlockHeader::decode(&short, &layout).is_err());
            let header = BlockHeader::decode(&short, &open).unwrap();
            assert_eq!(header.base_event(), Some(&Bytes::new()));
            assert_eq!(header.encode_full(), encoded);
        }
    }

    #[test]
    fn an_unknown_version_is_plain_and_forgets_its_byte() {
        let layout = HeaderLayout { rskip144: true, rskip351: true, ..HeaderLayout::default() };
        let encoded = HeaderFields::new(9, layout).encode_full();
        let mut odd = Vec::new();
        rlp::put_list(&mut odd, |out| {
            for (place, item) in rlp::decode_list(&encoded).unwrap().enumerate() {
                rlp::put_bytes(out, if place == COMMON_ELEMENTS { &[0x7f] } else { item.unwrap().data() });
            }
        });
        let header = BlockHeader::decode(&odd, &layout).unwrap();
        assert_eq!((header.version(), header.edges()), (0, Some(&[][..])));
        assert_eq!(header.encode_full().len() + 1, odd.len());
        assert_eq!(header.encode_compressed(), header.encode_full());
    }

    proptest! {
        #[test]
        fn headers_survive(fields in fields()) {
            let layout = fields.layout;
            let header = BlockHeader::new(fields);
            let decoded = BlockHeader::decode(&header.encode_full(), &layout).unwrap();
            prop_assert_eq!(&decoded, &header);
            prop_assert_eq!(decoded.hash(), header.hash());
            let compressed = BlockHeader::decode_compressed(&header.encode_compressed(), &layout).unwrap();
            prop_assert_eq!(compressed.hash(), header.hash());
            prop_assert_eq!(compressed.encode_compressed(), header.encode_compressed());
        }

        #[test]
        fn any_bytes(raw in proptest::collection::vec(any::<u8>(), 0..300), layout in layout()) {
            let _ = BlockHeader::decode(&raw, &layout);
            let _ = BlockHeader::decode_compressed(&raw, &layout);
            let _ = HeaderExtension::decode_with_version(&raw);
        }

        #[test]
        fn damaged_headers(fields in fields(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let layout = fields.layout;
            for (mut encoded, compressed) in [(fields.encode_full(), false), (fields.encode_compressed(), true)] {
                let place = place.index(encoded.len());
                encoded[place] = byte;
                if let Ok(header) = decode(encoded.into(), compressed, &layout) {
                    let _ = (header.hash(), header.hash_for_merged_mining(), header.mining_fork_detection_data());
                    let _ = (header.logs_bloom(), header.gas_limit_value(), header.encode_full());
                }
            }
        }
    }
}
