//! `db check`: everything that is stored, verified.

use serde::Serialize;

use super::open::open;
use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::report::{HeadReport, print_json, print_line};
use crate::settings::Settings;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckReport {
    ok: bool,
    blocks: u64,
    side_blocks: u64,
    transactions: u64,
    state_nodes: u64,
    head: HeadReport,
}

pub(crate) fn run(args: &CheckArgs, json: bool) -> Result<(), Failure> {
    let settings = Settings::of_directory(&args.chain, &args.datadir)?;
    let open = open(&settings, &settings.chain(true)?, false)?;
    let found = open.chain.check()?;
    let report = CheckReport {
        ok: true,
        blocks: found.blocks,
        side_blocks: found.side_blocks,
        transactions: found.transactions,
        state_nodes: found.state_nodes,
        head: HeadReport::from(&open.chain.head()),
    };
    if json {
        print_json(&report);
    } else {
        print_line(&format!(
            "sound: {} blocks of the main chain and {} others with {} transactions, and the {} nodes of the state of block {} ({})",
            report.blocks,
            report.side_blocks,
            report.transactions,
            report.state_nodes,
            report.head.number,
            report.head.hash
        ));
    }
    Ok(())
}
