//! What RSKIP351 moved out of the hashed header: bloom, sublist edges, base event (`BlockHeaderExtension`, `…V1`, `…V2`).
//!
//! In a full header these are elements of their own. In the compressed form their place is taken by `RLP[version, hash]`, and
//! they travel with the block body.

use crate::error::DecodeError;
use crate::header::HeaderLayout;
use crate::rlp::{self, ListPayload, Sink};
use crate::{B256, Bloom, Bytes, keccak256};

/// The part of a header that depends on its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderExtension {
    /// Before RSKIP351, and for any unknown version after it: all is part of the header itself. Edges and base event can only
    /// stand here in a header with an unknown version byte, which is itself not kept.
    V0 {
        /// Bloom as received.
        bloom: Bytes,
        /// Sublist edges.
        edges: Option<Vec<i16>>,
        /// Base event.
        base_event: Option<Bytes>,
    },
    /// RSKIP351.
    V1 {
        /// Bloom as received.
        bloom: Bytes,
        /// Sublist edges.
        edges: Option<Vec<i16>>,
    },
    /// RSKIP351 and RSKIP535.
    V2 {
        /// Bloom as received.
        bloom: Bytes,
        /// Base event; `None` where the header's height has none although its version says so.
        base_event: Option<Bytes>,
        /// Sublist edges.
        edges: Option<Vec<i16>>,
    },
    /// A header of version 1 or 2 in the compressed form.
    Compressed {
        /// 1 or 2.
        version: u8,
        /// The element that stands for the extension, as received: `RLP[version, hash]` in a sound header.
        data: Bytes,
    },
}

impl HeaderExtension {
    /// An empty extension as a header of this layout has it.
    pub fn for_layout(layout: HeaderLayout) -> Self {
        let bloom = Bytes::from_static(&[0; 256]);
        let edges = layout.has_edges().then(Vec::new);
        match layout.version() {
            0 => Self::V0 { bloom, edges, base_event: None },
            1 => Self::V1 { bloom, edges },
            _ => Self::V2 { bloom, base_event: Some(Bytes::new()), edges },
        }
    }

    /// The version class: 0, 1 or 2.
    pub const fn version(&self) -> u8 {
        match self {
            Self::V0 { .. } => 0,
            Self::V1 { .. } => 1,
            Self::V2 { .. } => 2,
            Self::Compressed { version, .. } => *version,
        }
    }

    /// The bloom as received.
    pub const fn bloom_bytes(&self) -> Option<&Bytes> {
        match self {
            Self::V0 { bloom, .. } | Self::V1 { bloom, .. } | Self::V2 { bloom, .. } => Some(bloom),
            Self::Compressed { .. } => None,
        }
    }

    /// Sublist edges.
    pub fn edges(&self) -> Option<&[i16]> {
        match self {
            Self::V0 { edges, .. } | Self::V1 { edges, .. } | Self::V2 { edges, .. } => edges.as_deref(),
            Self::Compressed { .. } => None,
        }
    }

    /// Base event.
    pub const fn base_event(&self) -> Option<&Bytes> {
        match self {
            Self::V0 { base_event, .. } | Self::V2 { base_event, .. } => base_event.as_ref(),
            Self::V1 { .. } | Self::Compressed { .. } => None,
        }
    }

    /// Replaces the bloom.
    pub fn set_bloom(&mut self, new: &Bloom) {
        match self {
            Self::V0 { bloom, .. } | Self::V1 { bloom, .. } | Self::V2 { bloom, .. } => {
                *bloom = Bytes::copy_from_slice(new.as_slice());
            }
            Self::Compressed { .. } => {}
        }
    }

    /// Replaces the sublist edges.
    pub fn set_edges(&mut self, new: Option<Vec<i16>>) {
        match self {
            Self::V0 { edges, .. } | Self::V1 { edges, .. } | Self::V2 { edges, .. } => *edges = new,
            Self::Compressed { .. } => {}
        }
    }

    /// The hash that the header commits to; `None` for version 0 and for a compressed header.
    pub fn hash(&self) -> Option<B256> {
        let bloom = match self {
            Self::V1 { bloom, .. } | Self::V2 { bloom, .. } => keccak256(bloom),
            Self::V0 { .. } | Self::Compressed { .. } => return None,
        };
        Some(Content { extension: self, bloom: bloom.as_slice() }.hash_as_list())
    }

    /// The extension's own encoding: `RLP[bloom, edges?]` or `RLP[bloom, base event, edges?]`; `None` for version 0 and for a
    /// compressed header.
    pub fn encode(&self) -> Option<Vec<u8>> {
        match self {
            Self::V1 { bloom, .. } | Self::V2 { bloom, .. } => Some(Content { extension: self, bloom }.list_to_vec()),
            Self::V0 { .. } | Self::Compressed { .. } => None,
        }
    }

    /// The encoding that travels with a body: `RLP[version, encoded extension]` (`BlockHeaderExtension.toEncoded`).
    pub fn encode_with_version(&self) -> Option<Vec<u8>> {
        let inner = self.encode()?;
        let mut out = Vec::with_capacity(inner.len() + 12);
        rlp::put_list(&mut out, |out| {
            rlp::put_byte(out, self.version());
            rlp::put_bytes(out, &inner);
        });
        Some(out)
    }

    /// Reads what [`encode_with_version`](Self::encode_with_version) writes (`BlockHeaderExtension.fromEncoded`).
    ///
    /// # Errors
    /// When the list has not two elements, the version is neither 1 nor 2, or the inner encoding is broken.
    pub fn decode_with_version(encoded: &[u8]) -> Result<Self, DecodeError> {
        let [version, inner] = rlp::decode_list(encoded)?.exactly::<2>()?.map_err(|got| DecodeError::ElementCount {
            what: "header extension",
            expected: "2".into(),
            got,
        })?;
        Self::decode(version.data().first().copied().unwrap_or(0), inner.data())
    }

    /// Reads the extension's own encoding.
    ///
    /// Elements after the known ones are ignored, and edges are read only when the count is exact, as in rskj.
    ///
    /// # Errors
    /// When the version is neither 1 nor 2, the bytes are not one list or elements are missing.
    pub fn decode(version: u8, encoded: &[u8]) -> Result<Self, DecodeError> {
        let elements = |encoded| -> Result<_, DecodeError> { Ok(rlp::decode_list(encoded)?.collect_all()?) };
        let bytes = |item: &rlp::Item<'_>| Bytes::copy_from_slice(item.data());
        let short = |expected: &'static str, got| {
            let what = "header extension content";
            DecodeError::ElementCount { what, expected: expected.into(), got }
        };
        match version {
            1 => {
                let items = elements(encoded)?;
                let bloom = bytes(items.first().ok_or_else(|| short("1 or more", 0))?);
                let edges = (items.len() == 2).then(|| rlp::shorts_from_bytes(items[1].data()));
                Ok(Self::V1 { bloom, edges })
            }
            2 => {
                let items = elements(encoded)?;
                let [bloom, base_event, ..] = items.as_slice() else { return Err(short("2 or more", items.len())) };
                let edges = (items.len() == 3).then(|| rlp::shorts_from_bytes(items[2].data()));
                Ok(Self::V2 { bloom: bytes(bloom), base_event: Some(bytes(base_event)), edges })
            }
            got => Err(DecodeError::UnknownVersion { what: "header extension", got }),
        }
    }
}

/// The elements of an extension, with the bloom or its hash in the first place.
struct Content<'a> {
    extension: &'a HeaderExtension,
    bloom: &'a [u8],
}

impl ListPayload for Content<'_> {
    fn put_payload<S: Sink>(&self, out: &mut S) {
        rlp::put_bytes(out, self.bloom);
        if let HeaderExtension::V2 { base_event, .. } = self.extension {
            rlp::put_bytes(out, base_event.as_ref().map_or(&[][..], |event| event));
        }
        if let Some(edges) = self.extension.edges() {
            rlp::put_shorts(out, edges);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_survive() {
        let bloom = Bytes::from(vec![7; 256]);
        let cases = [
            HeaderExtension::V1 { bloom: bloom.clone(), edges: None },
            HeaderExtension::V1 { bloom: bloom.clone(), edges: Some(vec![]) },
            HeaderExtension::V1 { bloom: bloom.clone(), edges: Some(vec![1, -2]) },
            HeaderExtension::V2 { bloom: bloom.clone(), base_event: Some(Bytes::new()), edges: Some(vec![5]) },
            HeaderExtension::V2 { bloom, base_event: Some(Bytes::from_static(&[0])), edges: None },
        ];
        for extension in cases {
            let encoded = extension.encode_with_version().unwrap();
            assert_eq!(HeaderExtension::decode_with_version(&encoded), Ok(extension));
        }
    }

    #[test]
    fn unknown_versions_are_refused() {
        assert!(HeaderExtension::decode(0, &[0xc1, 0x80]).is_err());
        assert!(HeaderExtension::decode(3, &[0xc1, 0x80]).is_err());
        assert!(HeaderExtension::decode(1, &[0xc0]).is_err());
        assert!(HeaderExtension::decode(2, &[0xc1, 0x80]).is_err());
    }
}
