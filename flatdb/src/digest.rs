//! The hash that addresses records.

/// A record's address: the 32-byte digest of its bytes.
pub type Key = [u8; 32];

/// A hash function whose outputs are uniformly distributed and that nobody can find collisions for.
pub trait Digest: Send + Sync + 'static {
    /// Names the function in the files, so that a directory is never read with another one.
    const ID: [u8; 8];

    /// The digest of one record.
    fn digest(bytes: &[u8]) -> Key;

    /// The digests of several records, in order. An implementation that hashes many inputs at once replaces this.
    fn digest_many(records: &[&[u8]], keys: &mut [Key]) {
        for (record, key) in records.iter().zip(keys) {
            *key = Self::digest(record);
        }
    }
}
