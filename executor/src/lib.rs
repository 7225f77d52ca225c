//! Executes Rootstock blocks on revm's interpreter.
