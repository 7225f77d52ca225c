//! Block files as one stream of blocks, each with its place.
//!
//! Everything here is from outside: lines are bounded before they are read, compression is recognised by content, and whatever
//! is wrong is told with file and line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rhizome_chain::Incoming;
use rhizome_primitives::{B256, Bytes, hex};

use crate::args::BlockRangeArgs;
use crate::failure::Failure;

/// No block of the protocol comes near: 64 MiB of hex.
const MAX_LINE: u64 = 64 << 20;

/// What a line says about its block, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) file: Arc<Path>,
    pub(crate) line: u64,
    pub(crate) number: u64,
    pub(crate) hash: B256,
    /// Signed big-endian.
    pub(crate) total_difficulty: Vec<u8>,
}

impl Line {
    /// Something is wrong with this line.
    pub(crate) fn failure(&self, message: impl Into<String>) -> Failure {
        Failure::Input {
            message: message.into(),
            file: Some(self.file.to_path_buf()),
            line: Some(self.line),
            block: Some((self.number, self.hash)),
        }
    }
}

/// The blocks of several files.
pub(crate) struct BlockFiles {
    waiting: std::vec::IntoIter<PathBuf>,
    current: Option<OpenFile>,
    range: BlockRangeArgs,
    read: Arc<AtomicU64>,
    warnings: Warnings,
}

/// What is odd about files that are not wrong, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn add(&self, warning: String) {
        eprintln!("warning: {warning}");
        if let Ok(mut list) = self.0.lock() {
            list.push(warning);
        }
    }

    /// Those so far.
    pub(crate) fn take(&self) -> Vec<String> {
        self.0.lock().map(|mut list| std::mem::take(&mut *list)).unwrap_or_default()
    }
}

struct OpenFile {
    path: Arc<Path>,
    reader: Box<dyn BufRead + Send>,
    line: u64,
    /// Lines that hold a block.
    blocks: u64,
    /// Those of them that were asked for.
    taken: u64,
}

impl BlockFiles {
    /// The files in their order; `read` counts the bytes taken from disk. A file that gives no block is worth a warning.
    pub(crate) fn new(files: Vec<PathBuf>, range: BlockRangeArgs, read: Arc<AtomicU64>, warnings: Warnings) -> Self {
        Self { waiting: files.into_iter(), current: None, range, read, warnings }
    }

    fn next_block(&mut self) -> Result<Option<Incoming<Line>>, Failure> {
        loop {
            if self.current.is_none() {
                let Some(path) = self.waiting.next() else { return Ok(None) };
                self.current = Some(OpenFile::open(&path, Arc::clone(&self.read))?);
            }
            let Some(file) = &mut self.current else { continue };
            match file.next_line()? {
                None => {
                    if let Some(warning) = file.oddity() {
                        self.warnings.add(warning);
                    }
                    self.current = None;
                }
                Some(text) if text.is_empty() => {}
                Some(text) => {
                    file.blocks += 1;
                    if let Some(block) = file.parse(&text, &self.range)? {
                        file.taken += 1;
                        return Ok(Some(block));
                    }
                }
            }
        }
    }
}

impl Iterator for BlockFiles {
    type Item = Result<Incoming<Line>, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_block().transpose()
    }
}

impl OpenFile {
    fn open(path: &Path, read: Arc<AtomicU64>) -> Result<Self, Failure> {
        let at = |error: std::io::Error| fault(path, None, error.to_string());
        let file = File::open(path).map_err(|error| {
            fault(path, None, format!("expected a file of blocks, which cannot be opened: {error}"))
        })?;
        let mut raw = BufReader::with_capacity(1 << 17, Counted { file, read });
        let start = raw.fill_buf().map_err(at)?;
        let reader: Box<dyn BufRead + Send> = match start {
            [0x1f, 0x8b, ..] => Box::new(BufReader::with_capacity(1 << 18, flate2::bufread::MultiGzDecoder::new(raw))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let decoder = zstd::stream::read::Decoder::with_buffer(raw).map_err(at)?;
                Box::new(BufReader::with_capacity(1 << 18, decoder))
            }
            _ => Box::new(raw),
        };
        Ok(Self { path: path.into(), reader, line: 0, blocks: 0, taken: 0 })
    }

    /// What is odd about a file that was read to its end.
    fn oddity(&self) -> Option<String> {
        let path = self.path.display();
        match (self.blocks, self.taken) {
            (0, _) => Some(format!("{path}: expected one block a line, got none: the file is empty")),
            (blocks, 0) => Some(format!("{path}: none of its {blocks} blocks is between --from and --to")),
            _ => None,
        }
    }

    /// The next line without its end; `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut text = Vec::new();
        let read = (&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut text);
        let line = self.line + 1;
        let read = read.map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "the compressed data end too early: the file is cut".to_owned(),
                _ => format!("cannot be read: {error}"),
            };
            fault(&self.path, Some(line), what)
        })?;
        if read == 0 {
            return Ok(None);
        }
        self.line = line;
        if text.last() == Some(&b'\n') {
            text.pop();
        } else if text.len() as u64 == MAX_LINE {
            return Err(fault(&self.path, Some(line), format!("a line of more than {MAX_LINE} bytes")));
        }
        if text.last() == Some(&b'\r') {
            text.pop();
        }
        Ok(Some(text))
    }

    /// Takes a line apart; `None` when its block is not asked for.
    fn parse(&self, text: &[u8], range: &BlockRangeArgs) -> Result<Option<Incoming<Line>>, Failure> {
        let wrong = |message: String| fault(&self.path, Some(self.line), message);
        let fields: Vec<&[u8]> = text.split(|byte| *byte == b',').collect();
        let [number, hash, total_difficulty, block] = fields[..] else {
            return Err(wrong(format!("expected 4 fields (number,hash,totalDifficulty,rlp), got {}", fields.len())));
        };
        let number: u64 = std::str::from_utf8(number)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| wrong(format!("expected a block number, got {:?}", excerpt(number))))?;
        if !range.contains(number) {
            return Ok(None);
        }
        let unhex = |name: &str, text: &[u8]| {
            hex::decode(text).map_err(|error| wrong(format!("{name}: expected hex, got {:?}: {error}", excerpt(text))))
        };
        let hash = unhex("hash", hash)?;
        let hash =
            B256::try_from(&hash[..]).map_err(|_| wrong(format!("hash: expected 32 bytes, got {}", hash.len())))?;
        let total_difficulty = unhex("total difficulty", total_difficulty)?;
        let encoded = Bytes::from(unhex("block", block)?);
        let tag = Line { file: Arc::clone(&self.path), line: self.line, number, hash, total_difficulty };
        Ok(Some(Incoming { encoded, tag }))
    }
}

fn fault(path: &Path, line: Option<u64>, message: String) -> Failure {
    Failure::Input { message, file: Some(path.to_owned()), line, block: None }
}

/// The first bytes of a field, for a message.
fn excerpt(bytes: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).into_owned();
    if bytes.len() > 24 { format!("{shown}…") } else { shown }
}

struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
