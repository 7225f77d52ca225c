//! Stores on disk: trie nodes, blocks, receipts, indexes and the data directory.
