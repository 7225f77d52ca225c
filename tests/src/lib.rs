//! Where the recorded data of the reference node is found and how a test over it reports.
//!
//! The folder comes from `RHIZOME_DATA`; without it `../shared/data` beside the repository is used, and the fixtures in the
//! repository where that is missing. A file that no folder holds is reported as absent and its test passes: another draw of
//! the same data may hold more or fewer files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

pub mod chains;

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The data folders that are searched, in order.
pub fn data_folders() -> Vec<PathBuf> {
    let fixtures = repository().join("tests/fixtures");
    if let Some(folder) = std::env::var_os("RHIZOME_DATA") {
        return vec![PathBuf::from(folder)];
    }
    vec![repository().join("../shared/data"), fixtures]
}

/// The path of a data file such as `vectors/rlp.jsonl.gz`, or `None` after printing that it is absent.
pub fn data_file(relative: &str) -> Option<PathBuf> {
    let found = data_folders().into_iter().map(|folder| folder.join(relative)).find(|path| path.exists());
    if found.is_none() {
        println!("{relative}: absent");
    }
    found
}

/// A reader over a data file, decompressed where its name ends in `.gz`.
///
/// # Panics
/// When the file cannot be opened.
pub fn open(path: &Path) -> Box<dyn BufRead + Send> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_some_and(|extension| extension == "gz") {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)))
    } else {
        Box::new(BufReader::with_capacity(1 << 16, file))
    }
}

/// Parses one JSON text of any nesting depth.
///
/// # Panics
/// When the text is not JSON.
pub fn parse_json(text: &str, place: &str) -> Value {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    serde::de::Deserialize::deserialize(&mut reader).unwrap_or_else(|error| panic!("{place}: {error}"))
}

/// The JSON lines of `vectors/NAME.jsonl.gz`, or `None` when the file is absent.
pub fn vectors(name: &str) -> Option<impl Iterator<Item = Value>> {
    data_file(&format!("vectors/{name}.jsonl.gz")).map(|path| json_lines(&path))
}

/// The document `vectors/NAME.json.gz`, or `None` when the file is absent.
pub fn vector_document(name: &str) -> Option<Value> {
    let path = data_file(&format!("vectors/{name}.json.gz"))?;
    let mut text = String::new();
    open(&path).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(parse_json(&text, &path.display().to_string()))
}

/// The JSON values of a file with one value a line.
///
/// # Panics
/// When a line cannot be read or is not JSON.
pub fn json_lines(path: &Path) -> impl Iterator<Item = Value> + use<> {
    let place = path.display().to_string();
    open(path).lines().enumerate().map(move |(index, line)| {
        let place = format!("{place} line {}", index + 1);
        let line = line.unwrap_or_else(|error| panic!("{place}: {error}"));
        parse_json(&line, &place)
    })
}

/// Counts the cases of one data file and fails the test at its end when any of them differed.
#[derive(Debug)]
pub struct Tally {
    name: String,
    passed: usize,
    total: usize,
    differences: Vec<String>,
}

impl Tally {
    /// How many differences are printed in full.
    const SHOWN: usize = 20;

    /// Starts the count of a file.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), passed: 0, total: 0, differences: Vec::new() }
    }

    /// Counts one case; `Err` says how it differed.
    pub fn case(&mut self, result: Result<(), String>) {
        self.total += 1;
        match result {
            Ok(()) => self.passed += 1,
            Err(difference) if self.differences.len() < Self::SHOWN => self.differences.push(difference),
            Err(_) => {}
        }
    }

    /// Counts one comparison of two printable values.
    pub fn equal<T: PartialEq + std::fmt::Debug>(&mut self, case: &str, got: T, expected: T) {
        let same = got == expected;
        self.case(if same { Ok(()) } else { Err(format!("{case}: expected {expected:?}, got {got:?}")) });
    }

    /// Prints `file: passed/total` and fails when a case differed or when there was none.
    ///
    /// # Panics
    /// When a case differed or the file held no case.
    pub fn finish(self) {
        println!("{}: {}/{}", self.name, self.passed, self.total);
        for difference in &self.differences {
            println!("  {difference}");
        }
        assert!(self.total > 0, "{}: no cases", self.name);
        assert_eq!(self.passed, self.total, "{}: {} cases differ", self.name, self.total - self.passed);
    }
}

/// Bytes from hex without or with `0x`.
///
/// # Panics
/// When the text is not hex.
pub fn unhex(text: &str) -> Vec<u8> {
    rhizome_primitives::hex::decode(text).unwrap_or_else(|error| panic!("{text:?} is not hex: {error}"))
}

/// The text of a member.
///
/// # Panics
/// When the member is absent or not a text.
pub fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("no text {member:?} in {value}"))
}

/// The bytes of a hex member.
pub fn bytes(value: &Value, member: &str) -> Vec<u8> {
    unhex(text(value, member))
}

/// The bytes of a hex member that may be null or missing.
pub fn optional_bytes(value: &Value, member: &str) -> Option<Vec<u8>> {
    value[member].as_str().map(unhex)
}

/// A number given as JSON number or decimal text.
///
/// # Panics
/// When the member is neither.
pub fn number(value: &Value, member: &str) -> u64 {
    let found = &value[member];
    found
        .as_u64()
        .or_else(|| found.as_str().and_then(|text| text.parse().ok()))
        .unwrap_or_else(|| panic!("no number {member:?} in {value}"))
}
