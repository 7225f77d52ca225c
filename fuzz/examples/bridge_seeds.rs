//! Seeds for `bridge_calls` out of recorded chains: `bridge_seeds CORPUS CHAIN...`. The direct transactions to the Bridge
//! are run over one ledger; now and then its cells and the next few transactions become a seed.

#[path = "../bridge_session/mod.rs"]
mod bridge_session;

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use bridge_session::{BRIDGE, Ledger, call_once, senders};
use rhizome_bridge::{BlockView, Bridge, BridgeCall, BridgeOutcome, CallKind};
use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::{Address, B256, Block, Bytes, U256, hex, keccak256};

const CALLS: usize = 6;
const LARGEST: usize = 60_000;

struct Recorded {
    sender: Address,
    coins: U256,
    data: Bytes,
    number: u64,
    timestamp: u64,
    hash: B256,
}

fn transactions(folder: &Path, spec: &ChainSpec) -> Vec<Recorded> {
    let mut lines = String::new();
    let mut unpacked =
        Command::new("zcat").arg(folder.join("blocks.csv.gz")).stdout(Stdio::piped()).spawn().expect("zcat");
    unpacked.stdout.take().expect("piped").read_to_string(&mut lines).expect("text");
    unpacked.wait().expect("zcat");
    let mut recorded = Vec::new();
    for line in lines.lines() {
        let rlp = hex::decode(line.split(',').nth(3).unwrap_or_default()).unwrap_or_default();
        let Ok(block) = Block::decode(&rlp, spec) else { continue };
        for (index, tx) in block.transactions.iter().enumerate() {
            if block.is_remasc(index) || tx.to != Some(BRIDGE) {
                continue;
            }
            let Ok(sender) = tx.recover_sender() else { continue };
            let (number, timestamp) = (block.header.number, block.header.timestamp);
            recorded.push(Recorded {
                sender,
                coins: tx.value,
                data: tx.data.clone(),
                number,
                timestamp,
                hash: tx.hash(),
            });
        }
    }
    recorded
}

fn block(seed: &mut Vec<u8>, bytes: &[u8]) {
    seed.extend((bytes.len() as u16).to_be_bytes());
    seed.extend(bytes);
}

fn seed(ledger: &Ledger, known: &[Address], spec: &ChainSpec, next: &[Recorded]) -> Option<Vec<u8>> {
    let rules = spec.activations(next.first()?.number);
    let count = Rskip::ALL.iter().filter(|rule| rules.is_active(**rule)).count();
    let mut seed = vec![0, if count == Rskip::ALL.len() { u8::MAX } else { count as u8 }];
    for (key, value) in ledger.cells.iter().filter(|(_, value)| value.len() < 4_000) {
        seed.push(0);
        seed.extend(key);
        block(&mut seed, value);
    }
    for call in next.iter().filter(|call| call.data.len() < 10_000) {
        let sender = known.iter().position(|sender| *sender == call.sender).unwrap_or_default();
        seed.extend([1, sender as u8]);
        seed.extend((call.number as u32).to_be_bytes());
        seed.extend((call.coins / U256::from(1_000_000_000_000u64)).saturating_to::<u32>().to_be_bytes());
        block(&mut seed, &call.data);
    }
    (seed.len() < LARGEST).then_some(seed)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let corpus = arguments.next().expect("bridge_seeds CORPUS CHAIN...");
    for folder in arguments {
        let folder = Path::new(&folder);
        let spec = ChainSpec::from_file(&folder.join("chain.json")).expect("chain.json");
        let bridge = Bridge::for_spec(&spec);
        let known = senders(&bridge);
        let recorded = transactions(folder, &spec);
        let mut ledger = Ledger::full();
        let mut written = 0;
        for (index, call) in recorded.iter().enumerate() {
            if index % CALLS == 0 {
                let next = &recorded[index..recorded.len().min(index + CALLS)];
                if let Some(seed) = seed(&ledger, &known, &spec, next) {
                    let name = hex::encode(&keccak256(&seed)[..6]);
                    std::fs::write(Path::new(&corpus).join(name), seed).expect("a corpus folder");
                    written += 1;
                }
            }
            let before = ledger.clone();
            ledger.pay(call.sender, call.coins);
            let ended = call_once(
                &bridge,
                BridgeCall {
                    sender: call.sender,
                    value: call.coins,
                    data: &call.data,
                    kind: CallKind::Direct,
                    tx_hash: call.hash,
                    origin_tx_hash: call.hash,
                    block: BlockView { number: call.number, timestamp: call.timestamp },
                    local_call: false,
                    activations: spec.activations(call.number),
                },
                &mut ledger,
            );
            if !matches!(ended, Ok(BridgeOutcome::Returned(_))) {
                ledger = before;
            }
            ledger.logs.clear();
        }
        println!("{}: {written} seeds of {} transactions", folder.display(), recorded.len());
    }
}
