//! The peg contract that holds the bitcoin locked on Rootstock.
