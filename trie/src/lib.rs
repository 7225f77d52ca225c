//! The unitrie: Rootstock's state tree as a persistent value.
