//! The DER of signatures, read as loosely as by Spongy Castle 1.58 (`ASN1InputStream`), whose answer rskj takes.
//!
//! All that lies inside of the outer sequence is read, also what lies behind the two integers, with BER's indefinite lengths.
//! The outer length is definite. Open containers are on a stack of our own, at most one for each two bytes of input. Spongy
//! Castle recurses: after some thousands of levels, as many as the thread's stack has room for, it ends in a
//! `StackOverflowError`. rskj then stops instead of judging the block (`BlockExecutor`), so there is nothing to follow: a
//! nesting of any depth is read here.

use super::signature::SignatureError;

type Result<T> = std::result::Result<T, SignatureError>;

/// Universal tag numbers.
mod tag {
    pub(super) const BOOLEAN: u32 = 1;
    pub(super) const INTEGER: u32 = 2;
    pub(super) const BIT_STRING: u32 = 3;
    pub(super) const OCTET_STRING: u32 = 4;
    pub(super) const NULL: u32 = 5;
    pub(super) const OBJECT_IDENTIFIER: u32 = 6;
    pub(super) const EXTERNAL: u32 = 8;
    pub(super) const ENUMERATED: u32 = 10;
    pub(super) const UTF8_STRING: u32 = 12;
    pub(super) const SEQUENCE: u32 = 16;
    pub(super) const SET: u32 = 17;
    pub(super) const NUMERIC_STRING: u32 = 18;
    pub(super) const UNIVERSAL_STRING: u32 = 28;
    pub(super) const BMP_STRING: u32 = 30;
}

/// The contents of the two integers that a sequence starts with, after a look at everything in the sequence. Bytes behind the
/// sequence are not looked at.
pub(super) fn read_two_integers(bytes: &[u8]) -> Result<[&[u8]; 2]> {
    let mut reader = Reader { bytes, at: 0 };
    let header = reader.header(bytes.len(), bytes.len())?;
    if !header.is_universal(true, tag::SEQUENCE) {
        return reader.expected("a sequence");
    }
    let Length::Definite(len) = header.length else { return reader.expected("a definite length of the sequence") };
    let outer = Frame::definite(reader.content_end(len, bytes.len())?, len, Holds::Anything, false);
    let integers = [reader.integer(&outer)?, reader.integer(&outer)?];
    reader.walk(outer)?;
    Ok(integers)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Universal,
    Context,
    /// Application and private, which Spongy Castle does not tell apart.
    Application,
}

#[derive(Clone, Copy)]
enum Length {
    Definite(usize),
    /// Up to two zero bytes.
    Indefinite,
}

/// The start of an element.
struct Header {
    class: Class,
    constructed: bool,
    number: u32,
    length: Length,
}

impl Header {
    fn is_universal(&self, constructed: bool, number: u32) -> bool {
        self.class == Class::Universal && self.constructed == constructed && self.number == number
    }
}

/// A container whose elements are being read.
struct Frame {
    /// Where the innermost definite length ends, this one's or that of a container around.
    end: usize,
    /// Lengths in long form must be below this.
    limit: usize,
    indefinite: bool,
    /// The two zero bytes are not seen as the end: the element before was not read to its own end.
    end_hidden: bool,
    /// Read by `ASN1StreamParser`, which takes over inside of indefinite lengths and tagged elements.
    streamed: bool,
    holds: Holds,
}

impl Frame {
    fn definite(end: usize, len: usize, holds: Holds, streamed: bool) -> Self {
        Frame { end, limit: len, indefinite: false, end_hidden: false, streamed, holds }
    }

    fn indefinite(&self, holds: Holds) -> Self {
        Frame { end: self.end, limit: self.limit, indefinite: true, end_hidden: false, streamed: true, holds }
    }
}

/// What may be in a container.
enum Holds {
    Anything,
    /// Pieces of an octet string. Only the stream parser takes pieces that are in pieces themselves.
    OctetStrings,
    External(External),
}

impl Holds {
    fn of_universal(number: u32) -> Option<Self> {
        match number {
            tag::SEQUENCE | tag::SET => Some(Holds::Anything),
            tag::OCTET_STRING => Some(Holds::OctetStrings),
            tag::EXTERNAL => Some(Holds::External(External::Start)),
            _ => None,
        }
    }

    /// Takes the next element into account; `false` if it must not be there.
    fn admit(&mut self, header: &Header, streamed: bool) -> bool {
        match self {
            Holds::Anything => true,
            Holds::OctetStrings => {
                header.is_universal(false, tag::OCTET_STRING)
                    || streamed && header.is_universal(true, tag::OCTET_STRING)
            }
            Holds::External(place) => match place.after(header) {
                Some(next) => {
                    *place = next;
                    true
                }
                None => false,
            },
        }
    }

    fn may_end(&self) -> bool {
        !matches!(self, Holds::External(place) if *place != External::Complete)
    }
}

/// How far an external value is read: perhaps an object identifier, perhaps an integer, perhaps one other element, and last
/// one with tag 0, 1 or 2.
#[derive(Clone, Copy, PartialEq, Eq)]
enum External {
    Start,
    AfterIdentifier,
    AfterInteger,
    AfterDescriptor,
    Complete,
}

impl External {
    fn after(self, header: &Header) -> Option<Self> {
        match self {
            External::Complete => None,
            _ if header.class == Class::Context => (header.number <= 2).then_some(External::Complete),
            External::Start if header.is_universal(false, tag::OBJECT_IDENTIFIER) => Some(External::AfterIdentifier),
            External::Start | External::AfterIdentifier if header.is_universal(false, tag::INTEGER) => {
                Some(External::AfterInteger)
            }
            External::AfterDescriptor => None,
            _ => Some(External::AfterDescriptor),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn expected<T>(&self, what: &'static str) -> Result<T> {
        Err(SignatureError { at: self.at, expected: what })
    }

    fn content_end(&self, len: usize, end: usize) -> Result<usize> {
        match self.at.checked_add(len) {
            Some(content_end) if content_end <= end => Ok(content_end),
            _ => self.expected("as many bytes as the length says"),
        }
    }

    fn take(&mut self, len: usize, end: usize) -> Result<&'a [u8]> {
        let taken = &self.bytes[self.at..self.content_end(len, end)?];
        self.at += len;
        Ok(taken)
    }

    fn byte(&mut self, end: usize) -> Result<u8> {
        Ok(self.take(1, end)?[0])
    }

    /// Reads tag and length.
    fn header(&mut self, end: usize, limit: usize) -> Result<Header> {
        let first = self.byte(end)?;
        let class = match first >> 6 {
            0 => Class::Universal,
            2 => Class::Context,
            _ => Class::Application,
        };
        let constructed = first & 0x20 != 0;
        let number = match u32::from(first & 0x1f) {
            0x1f => self.long_number(end)?,
            0 if class == Class::Universal => return self.expected("a tag"),
            short => short,
        };
        let length = match self.byte(end)? {
            0x80 if constructed => Length::Indefinite,
            0x80 => return self.expected("a definite length of a primitive element"),
            short @ 0..0x80 => Length::Definite(short.into()),
            long => {
                let count = usize::from(long & 0x7f);
                if count > 4 {
                    return self.expected("a length in at most four bytes");
                }
                let len = self.take(count, end)?.iter().fold(0, |len, byte| (len << 8) | usize::from(*byte));
                if len >= limit {
                    return self.expected("a length within the container");
                }
                Length::Definite(len)
            }
        };
        Ok(Header { class, constructed, number, length })
    }

    /// A tag number in bytes of seven bits. Bits beyond 32 are lost.
    fn long_number(&mut self, end: usize) -> Result<u32> {
        let mut byte = self.byte(end)?;
        if byte & 0x7f == 0 {
            return self.expected("a tag number without leading zeros");
        }
        let mut number = 0;
        while byte & 0x80 != 0 {
            number = (number | u32::from(byte & 0x7f)) << 7;
            byte = self.byte(end)?;
        }
        Ok(number | u32::from(byte))
    }

    fn integer(&mut self, frame: &Frame) -> Result<&'a [u8]> {
        if self.at == frame.end {
            return self.expected("an integer");
        }
        let header = self.header(frame.end, frame.limit)?;
        match header.length {
            Length::Definite(len) if header.is_universal(false, tag::INTEGER) => {
                let content = self.take(len, frame.end)?;
                if is_minimal(content) { Ok(content) } else { self.expected("an integer without needless bytes") }
            }
            _ => self.expected("an integer"),
        }
    }

    /// Reads the elements of a container, and those inside of them.
    fn walk(&mut self, outer: Frame) -> Result<()> {
        let mut open = vec![outer];
        while let Some(frame) = open.last_mut() {
            if self.is_at_end(frame) {
                if !frame.holds.may_end() {
                    return self.expected("the tagged element of an external value");
                }
                open.pop();
                if let Some(parent) = open.last_mut() {
                    parent.end_hidden = false;
                }
                continue;
            }
            let header = self.header(frame.end, frame.limit)?;
            if !frame.holds.admit(&header, frame.streamed) {
                return self.expected("another kind of element in this container");
            }
            if let Some(inner) = self.enter(frame, &header)? {
                open.push(inner);
            }
        }
        Ok(())
    }

    /// Whether a container has no more elements; steps over the mark of that.
    fn is_at_end(&mut self, frame: &Frame) -> bool {
        if !frame.indefinite {
            return self.at == frame.end;
        }
        let is_marked = !frame.end_hidden && self.bytes[self.at..frame.end].starts_with(&[0, 0]);
        if is_marked {
            self.at += 2;
        }
        is_marked
    }

    /// Reads the content of an element, or returns it as a container to be read.
    fn enter(&mut self, frame: &mut Frame, header: &Header) -> Result<Option<Frame>> {
        let holds = match header.class {
            Class::Universal if header.constructed => match Holds::of_universal(header.number) {
                Some(holds) => holds,
                None => return self.expected("a tag of a constructed element"),
            },
            _ => Holds::Anything,
        };
        let len = match header.length {
            Length::Indefinite => return Ok(Some(frame.indefinite(holds))),
            Length::Definite(len) => len,
        };
        if header.class == Class::Universal && !header.constructed {
            let is_read_whole = self.primitive(header.number, len, frame.end)?;
            frame.end_hidden = !is_read_whole;
            return Ok(None);
        }
        let end = self.content_end(len, frame.end)?;
        if header.class == Class::Application || !header.constructed {
            self.at = end;
            frame.end_hidden = false;
            return Ok(None);
        }
        let streamed = frame.streamed || header.class == Class::Context;
        Ok(Some(Frame::definite(end, len, holds, streamed)))
    }

    /// Reads the content of a primitive universal element, of some kinds not all of it: what is left is taken for the next
    /// elements, and the answer is `false`.
    fn primitive(&mut self, number: u32, len: usize, end: usize) -> Result<bool> {
        let read = match number {
            tag::NULL => 0,
            tag::BMP_STRING => len & !1,
            _ => len,
        };
        let content = self.take(read, end)?;
        let fits = match number {
            tag::NULL | tag::BMP_STRING | tag::OCTET_STRING | tag::OBJECT_IDENTIFIER | tag::UTF8_STRING => true,
            tag::NUMERIC_STRING..=tag::UNIVERSAL_STRING => true,
            tag::BOOLEAN => content.len() == 1,
            tag::INTEGER => is_minimal(content),
            tag::ENUMERATED => !content.is_empty() && is_minimal(content),
            tag::BIT_STRING => matches!(content, [0] | [0..=7, _, ..]),
            _ => false,
        };
        if fits { Ok(read == len) } else { self.expected("a well-formed primitive element") }
    }
}

/// Whether a number has no first byte that only repeats its sign.
fn is_minimal(content: &[u8]) -> bool {
    !matches!(content, [0, 0..0x80, ..] | [0xff, 0x80..=0xff, ..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rhizome_primitives::hex;

    use super::*;

    fn is_taken(behind: &[u8]) -> bool {
        let elements = [&[2, 1, 1, 2, 1, 2], behind].concat();
        let sequence = [&[0x30, 0x83], &(elements.len() as u32).to_be_bytes()[1..], &elements].concat();
        let integers = read_two_integers(&sequence);
        assert!(integers.is_err() || integers == Ok([&[1], &[2]]));
        integers.is_ok()
    }

    /// Elements behind the two integers, with Spongy Castle's answers.
    #[test]
    fn elements_are_taken_as_by_spongy_castle() {
        // Subject, elements that are taken, elements that are refused.
        let answers = [
            (
                "indefinite lengths",
                "30800000 31800000 24800000 a0800000 60800000 e0800000 3080308000000000 300430800000 3080600200000000 \
                 3080800200000000",
                "3080 308000 30800001 c0800000 04800000 23800000 28800000 3f9010800000 30803080000000 30053080000000 \
                 300330800000 30806002000000",
            ),
            (
                "lengths in long form",
                "0500 81020500 3081020500 3084000000020500",
                "3004058104 3080058104040000 30040581030400 05810104 308500000000020500",
            ),
            (
                "elements not read whole, behind which two zero bytes end nothing",
                "0501 05010400 3080050104000000 30800501308000000000 3080050130000000 30801e0104000000 \
                 30801e0200000000 30801e03000004000000 300405010400",
                "308005010000 308005013000 30801e010000 30801e0300000400 300505010400 a08005010000",
            ),
            (
                "octet strings in pieces",
                "2400 24050400040107 248004000000 2480240204000000 2480248000000000 2480240224000000 3080240224000000 \
                 a00424022400 a006240424800000",
                "240404000401 24022400 2480248004000000 240424800000 24800201010000 2480800000",
            ),
            (
                "external values",
                "2802a000 2802a100 2802a200 28028000 2803bf0200 2805020101a000 280506012aa000 280806012a020101a000 \
                 280802010106012aa000 280b06012a020101040101a000 280806012a040101a000 2880a0000000 28040500a000 \
                 28808001070000 2880810280000000",
                "2800 2802a300 28026000 2808040101040101a000 2804a000a000 28050201010500 2880a000 \
                 2880020101a20201ff0000",
            ),
        ];
        for (subject, taken, refused) in answers {
            for (elements, expected) in [(taken, true), (refused, false)] {
                for element in elements.split_whitespace() {
                    assert_eq!(is_taken(&hex::decode(element).unwrap()), expected, "{subject}: {element}");
                }
            }
        }
    }

    #[test]
    fn depth_is_not_limited() {
        const DEPTH: usize = 100_000;
        let nested = [[0x30, 0x80].repeat(DEPTH), vec![0; 2 * DEPTH]].concat();
        assert!(is_taken(&nested));
        assert!(!is_taken(&nested[..nested.len() - 1]));
    }
}
