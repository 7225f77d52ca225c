//! The Rhizome node: command line, configuration and reports.
