//! JSON with its keys in order and none of them twice, and typed access that names the place of what is wrong.

use std::io::Read;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::error::ChainSpecError;

/// A JSON value. Numbers keep only the form that heights need.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries: Vec<(String, Json)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format_args!("the key {key:?} stands here twice")));
            }
            entries.push((key, map.next_value()?));
        }
        Ok(Json::Object(entries))
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Integer(value) => write!(f, "{value}"),
            Json::Float(value) => write!(f, "{value:?}"),
            // A wrong value is shown, but not a page of it.
            Json::Text(value) if value.chars().count() > 80 => {
                write!(f, "{:?}...", value.chars().take(80).collect::<String>())
            }
            Json::Text(value) => write!(f, "{value:?}"),
            Json::List(_) => f.write_str("a list"),
            Json::Object(_) => f.write_str("an object"),
        }
    }
}

/// A value with the file and the keys that lead to it.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) path: &'a Path,
    pub(crate) place: String,
    pub(crate) value: &'a Json,
}

impl<'a> Place<'a> {
    /// The whole document of a file.
    pub(crate) fn root(path: &'a Path, value: &'a Json) -> Self {
        Self { path, place: String::new(), value }
    }

    /// The place in words.
    pub(crate) fn name(&self) -> String {
        if self.place.is_empty() { "the file".to_owned() } else { self.place.clone() }
    }

    /// The error that something else is expected here.
    pub(crate) fn expected(&self, expected: impl Into<String>) -> ChainSpecError {
        ChainSpecError::BadValue {
            path: self.path.to_owned(),
            place: self.name(),
            expected: expected.into(),
            got: self.value.to_string(),
        }
    }

    /// The error that a key must stand here.
    pub(crate) fn missing(&self, key: &'static str) -> ChainSpecError {
        ChainSpecError::MissingKey { path: self.path.to_owned(), place: self.name(), key }
    }

    /// The error that a key means nothing here; `known` are the keys that do.
    pub(crate) fn unknown(&self, key: &str, known: &[&str]) -> ChainSpecError {
        ChainSpecError::UnknownKey {
            path: self.path.to_owned(),
            place: self.name(),
            key: key.to_owned(),
            nearest: nearest(key, known).map(str::to_owned),
            known: known.iter().map(|key| (*key).to_owned()).collect(),
        }
    }

    /// The members of an object.
    pub(crate) fn members(&self) -> Result<Vec<(&'a str, Place<'a>)>, ChainSpecError> {
        let Json::Object(entries) = self.value else {
            return Err(self.expected("an object"));
        };
        let member = |(key, value): &'a (String, Json)| {
            let place = if self.place.is_empty() { key.clone() } else { format!("{}.{key}", self.place) };
            (key.as_str(), Place { path: self.path, place, value })
        };
        Ok(entries.iter().map(member).collect())
    }

    pub(crate) fn text(&self) -> Result<&'a str, ChainSpecError> {
        match self.value {
            Json::Text(text) => Ok(text),
            _ => Err(self.expected("a text")),
        }
    }
}

/// Largest file that is read, bytes: a genesis file with hundreds of thousands of accounts.
const MAX_FILE_SIZE: u64 = 64 << 20;

/// Reads a file of JSON.
pub(crate) fn read(path: &Path) -> Result<Json, ChainSpecError> {
    let text = read_bounded(path).map_err(|source| ChainSpecError::Read { path: path.to_owned(), source })?;
    serde_json::from_slice(&text).map_err(|source| ChainSpecError::Syntax { path: path.to_owned(), source })
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE_SIZE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE_SIZE {
        return Err(std::io::Error::other(format!("larger than {MAX_FILE_SIZE} bytes")));
    }
    Ok(text)
}

/// The known key that takes the fewest edits, letters' case aside, where it is like the key at all: at most one letter in three
/// differs, or one begins with the other.
fn nearest<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    // A key of a megabyte is like none of ours.
    if key.len() > 64 {
        return None;
    }
    let key = key.to_lowercase();
    let (edits, nearest) = known
        .iter()
        .map(|candidate| (edits(&key, &candidate.to_lowercase()), *candidate))
        .min_by_key(|(edits, _)| *edits)?;
    let found = nearest.to_lowercase();
    let begins = key.len().min(found.len()) >= 3 && (key.starts_with(&found) || found.starts_with(&key));
    (begins || 3 * edits <= key.len().max(found.len())).then_some(nearest)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replace = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_found() {
        let known = ["orchid", "orchid060", "wasabi100", "iris300"];
        assert_eq!(nearest("wasabi", &known), Some("wasabi100"));
        assert_eq!(nearest("Orchid", &known), Some("orchid"));
        assert_eq!(nearest("iris3000", &known), Some("iris300"));
        assert_eq!(nearest(&"x".repeat(100_000), &known), None);
        assert_eq!(nearest("x", &[]), None);
        assert_eq!(nearest("x", &known), None);
        assert_eq!(nearest("colour", &["base", "genesis", "activations", "rskips"]), None);
    }

    #[test]
    fn a_key_twice_is_an_error() {
        assert!(serde_json::from_str::<Json>(r#"{"a":1,"b":{"c":1,"c":2}}"#).is_err());
        assert!(serde_json::from_str::<Json>(r#"{"a":1,"b":{"c":1}}"#).is_ok());
    }
}
