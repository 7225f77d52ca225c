//! Validity rules of headers and bodies, difficulty, merged mining and fork choice.
