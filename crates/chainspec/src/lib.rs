//! Networks, rule activation, constants and genesis of Rootstock.
