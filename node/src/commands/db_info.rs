//! `db info`: what a data directory holds.

use rhizome_chain::Chain;
use rhizome_storage::Datadir;
use serde::Serialize;

use super::open::open;
use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::report::{HeadReport, print_json, print_line};
use crate::settings::Settings;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InfoReport {
    ok: bool,
    path: String,
    format: u64,
    network: String,
    chain_id: u8,
    engine: String,
    genesis: String,
    fingerprint: String,
    head: HeadReport,
    total_difficulty: String,
    timestamp: u64,
    bytes: Bytes,
}

#[derive(Serialize)]
struct Bytes {
    trie: u64,
    chain: u64,
}

pub(crate) fn run(args: &CheckArgs, json: bool) -> Result<(), Failure> {
    let settings = Settings::of_directory(&args.chain, &args.datadir)?;
    let open = open(&settings, &settings.chain(true)?, false)?;
    let Some(datadir) = &open.datadir else { return Err(Failure::usage("this command needs --datadir")) };
    let head = open.chain.head();
    let format = datadir.format();
    let report = InfoReport {
        ok: true,
        path: datadir.path().display().to_string(),
        format: format.rhizome,
        network: format.network.clone(),
        chain_id: format.chain_id,
        engine: format.engine.clone(),
        genesis: format.genesis.to_string(),
        fingerprint: format.fingerprint.to_string(),
        total_difficulty: Chain::total_difficulty(&head.record).to_string(),
        timestamp: head.header.timestamp,
        bytes: Bytes {
            trie: Datadir::bytes_below(&datadir.trie_path()),
            chain: Datadir::bytes_below(&datadir.chain_path()),
        },
        head: HeadReport::from(&head),
    };
    if json {
        print_json(&report);
        return Ok(());
    }
    let megabytes = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1u32 << 20));
    print_line(&format!(
        "data directory  {} (format {})\nchain           {}, chain id {}, genesis {}\nrules           {}\n\
         trie            {}, {}\nblocks          {}\nhead            block {}, {}\nstate root      {}\n\
         difficulty      {} in total\ntime            {} (seconds since 1970)",
        report.path,
        report.format,
        report.network,
        report.chain_id,
        report.genesis,
        report.fingerprint,
        report.engine,
        megabytes(report.bytes.trie),
        megabytes(report.bytes.chain),
        report.head.number,
        report.head.hash,
        report.head.state_root,
        report.total_difficulty,
        report.timestamp,
    ));
    Ok(())
}
