//! How the two databases are configured, and why.

use rocksdb::{BlockBasedOptions, Cache, DBRecoveryMode, DataBlockIndexType, LogLevel, Options};

/// Tables of unmerged nodes before they are merged.
const LEVEL_ZERO_TABLES: i32 = 8;
/// Tables of unmerged nodes at which writing waits for merging. The engine itself waits only on its write buffer's way.
pub(super) const LEVEL_ZERO_MOST: u64 = 24;

/// How much memory the databases may take.
#[derive(Clone, Copy, Debug)]
pub struct RocksMemory {
    /// Bytes of the trie's block cache; its index and filter blocks live in it too.
    pub trie_cache: usize,
    /// Bytes of the trie's write buffer; up to three exist at a time.
    pub trie_buffer: usize,
    /// Bytes of the block data's cache.
    pub chain_cache: usize,
    /// Bytes of write buffers over all tables of block data.
    pub chain_buffers: usize,
}

impl Default for RocksMemory {
    /// 96 MiB + 3 x 32 MiB for nodes, 32 MiB + 48 MiB for block data: 272 MiB, so that a replay stays far below 1 GiB.
    fn default() -> Self {
        Self { trie_cache: 96 << 20, trie_buffer: 32 << 20, chain_cache: 32 << 20, chain_buffers: 48 << 20 }
    }
}

/// A block cache that several trie stores share, so that the generations of one directory take no more memory than one.
#[derive(Clone)]
pub struct RocksCache(Cache);

impl std::fmt::Debug for RocksCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksCache").finish_non_exhaustive()
    }
}

impl RocksCache {
    /// A cache of the size that the trie may take.
    pub fn of_trie(memory: &RocksMemory) -> Self {
        Self(Cache::new_lru_cache(memory.trie_cache))
    }
}

/// What both databases have in common.
fn common() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    // All files stay open: with a bounded table cache a cold read pays for reopening a file and reading its footer.
    options.set_max_open_files(-1);
    // A flush and a compaction at the same time; more would take the cores that execute blocks.
    options.set_max_background_jobs(2);
    // A torn tail of the log is cut at the last whole record. What is behind it was never confirmed (the head pointer comes
    // after a sync), so cutting is right, and the intact prefix must not be refused.
    options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    // Start write-back early, so that a sync at a checkpoint does not find hundreds of megabytes of dirty pages.
    options.set_bytes_per_sync(1 << 20);
    options.set_wal_bytes_per_sync(1 << 20);
    // RocksDB's own text log: small, few, and only what an operator must see.
    options.set_log_level(LogLevel::Warn);
    options.set_keep_log_file_num(3);
    options.set_max_log_file_size(4 << 20);
    options.set_stats_dump_period_sec(0);
    options
}

/// Nodes: 32-byte hash keys without order, values of about 80 bytes, written once, never deleted, read one at a time.
pub(super) fn trie(memory: &RocksMemory, cache: &RocksCache) -> Options {
    let mut table = BlockBasedOptions::default();
    // A read wants one 80-byte value: small blocks, or most of what is read and cached is neighbours that have nothing to do
    // with it (hash keys have no locality).
    table.set_block_size(4096);
    // Inside a block a hash index replaces the binary search; 0.75 is the fill that the engine's authors advise.
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_data_block_hash_ratio(0.75);
    // Full filters of 10 bits a key: 1 % false hits, so a read probes one level and not all of them.
    table.set_bloom_filter(10.0, false);
    table.set_whole_key_filtering(true);
    // Index and filters count against the cache and are bounded with it. They are wanted at every read, so they outlive data
    // blocks, and those of the newest level never leave.
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table.set_block_cache(&cache.0);
    table.set_format_version(6);

    let mut options = common();
    options.set_block_based_table_factory(&table);
    // Hashes do not compress; trying would cost CPU on every flush and every read. (No compression library is linked.)
    options.set_compression_type(rocksdb::DBCompressionType::None);
    // Three buffers: one filling, one being flushed, one spare, so that a checkpoint never waits for a flush.
    options.set_write_buffer_size(memory.trie_buffer);
    options.set_max_write_buffer_number(3);
    // Recent nodes are read most (the path to the root changes with every block): a filter lets the reads of older ones pass
    // the buffers without a search.
    options.set_memtable_whole_key_filtering(true);
    options.set_memtable_prefix_bloom_ratio(0.05);
    // Eight tables before the first merge, the size of the level below: each merge of that level then takes as many bytes in as
    // it rewrites. The price is a probe of up to eight filters where a node is not in memory.
    options.set_level_zero_file_num_compaction_trigger(LEVEL_ZERO_TABLES);
    // Levels sized from the last one up: about 1.1 copies of the data, whatever its size.
    options.set_level_compaction_dynamic_level_bytes(true);
    // Not set: optimize_filters_for_hits. A block's new nodes are never looked up before they are written, but a check after
    // an unclean stop asks for roots that may be missing, and a later generation store asks for absent keys all the time.
    // Not set: blob files. They pay from about 1 KB a value; ours are 80 bytes, except code.
    options
}

/// Block data: few, larger values, read by hash or by ascending number.
pub(super) fn chain(memory: &RocksMemory) -> Options {
    let mut options = common();
    options.create_missing_column_families(true);
    // One limit over all tables: a table of its own 64 MB each would make nine times that.
    options.set_db_write_buffer_size(memory.chain_buffers);
    // The log holds what is not flushed in any table; small tables are flushed when it grows past this, or an idle one would
    // keep old logs alive for ever.
    options.set_max_total_wal_size(2 * memory.chain_buffers as u64);
    options
}

/// One table of block data.
pub(super) fn column(cache: &Cache) -> Options {
    let mut table = BlockBasedOptions::default();
    // Headers and indexes are read in runs of neighbours by number, and bodies are some kilobytes: larger blocks.
    table.set_block_size(16 << 10);
    table.set_bloom_filter(10.0, false);
    table.set_block_cache(cache);
    table.set_cache_index_and_filter_blocks(true);
    table.set_format_version(6);
    let mut options = Options::default();
    options.set_block_based_table_factory(&table);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_level_compaction_dynamic_level_bytes(true);
    options
}
