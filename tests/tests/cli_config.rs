//! Configuration and completions of the real program.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use program::{command, finish, run};
use tempfile::TempDir;

#[test]
fn command_line_wins_over_environment_over_file() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("rhizome.toml");
    std::fs::write(&file, "chain = \"testnet\"\ntrie-engine = \"memory\"\n").unwrap();
    let show = |environment: Option<&str>, flag: &[&str]| {
        let mut command = command();
        command.args(arguments!["config", "show", "--json", "--config", file]).args(flag);
        if let Some(chain) = environment {
            command.env("RHIZOME_CHAIN", chain);
        }
        let report = finish(command.output().unwrap()).assert_ok().json();
        let chain = report["settings"].as_array().unwrap().iter().find(|setting| setting["key"] == "chain").unwrap();
        (chain["value"].as_str().unwrap().to_owned(), chain["origin"].as_str().unwrap().to_owned())
    };
    assert_eq!(show(None, &[]), ("testnet".to_owned(), file.display().to_string()));
    assert_eq!(show(Some("mainnet"), &[]), ("mainnet".to_owned(), "environment RHIZOME_CHAIN".to_owned()));
    assert_eq!(show(Some("mainnet"), &["--chain", "regtest"]), ("regtest".to_owned(), "command line".to_owned()));

    std::fs::write(&file, "trie-engine = \"memory\"\nchian = \"testnet\"\n").unwrap();
    run(arguments!["config", "check", "--config", file]).assert_failure(1, &["rhizome.toml:2:", "chian", "chain"]);
    std::fs::write(&file, "trie-engine = \"leveldb\"\n").unwrap();
    run(arguments!["config", "check", "--config", file]).assert_failure(1, &["rhizome.toml", "leveldb", "rocksdb"]);
    let default = run(arguments!["config", "default"]).assert_ok();
    std::fs::write(&file, &default.stdout).unwrap();
    run(arguments!["config", "check", "--config", file]).assert_ok();
}

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(arguments!["completions", shell]).assert_ok().stdout;
        for command in ["replay", "import", "export", "export-state", "rewind", "completions"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}
