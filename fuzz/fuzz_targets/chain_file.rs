//! A chain file and a genesis file of any bytes: a chain or an error with a text, never a panic.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use rhizome_chainspec::ChainSpec;

fuzz_target!(|input: &[u8]| {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a folder for the files");
    }
    FOLDER.with(|folder| {
        let chain = folder.path().join("chain.json");
        fs::write(&chain, input).expect("the file is written");
        check(&chain);
        fs::write(folder.path().join("genesis.json"), input).expect("the file is written");
        fs::write(&chain, r#"{"base":"regtest","genesis":"genesis.json"}"#).expect("the file is written");
        check(&chain);
    });
});

fn check(chain: &std::path::Path) {
    match ChainSpec::from_file(chain) {
        Ok(spec) => {
            spec.fingerprint();
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
