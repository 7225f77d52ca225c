#!/usr/bin/env bash
# Fills the corpora from the recorded chains in the repository.
set -euo pipefail
cd "$(dirname "$0")"
chains=../tests/fixtures/chains
mkdir -p corpus/{block,header,transaction,receipt,trie_node,chain_file}
for chain in mixed uncles mergedmining forks sublists; do
    # One block in thirty: enough for every shape, small enough to start fast.
    zcat "$chains/$chain/blocks.csv.gz" | awk 'NR % 30 == 1' | cut -d, -f4 | awk 'length($0) < 40000' | while read -r rlp; do
        printf '%s' "$rlp" | xxd -r -p > "corpus/block/$chain-$(printf '%s' "$rlp" | sha1sum | cut -c1-12)"
    done
done
for chain in uncles mergedmining; do
    state=$(find "$chains/$chain" -name 'state-*.txt.gz' | head -1)
    zcat "$state" | awk 'NR % 20 == 1' | head -300 | while read -r node; do
        printf '%s' "$node" | xxd -r -p > "corpus/trie_node/$chain-$(printf '%s' "$node" | sha1sum | cut -c1-12)"
    done
done
find "$chains" -name '*.json' | while read -r file; do
    cp "$file" "corpus/chain_file/$(sha1sum "$file" | cut -c1-12)"
done
# Headers, transactions and receipts come out of the vectors, which hold them alone.
zcat ../tests/fixtures/vectors/headers.jsonl.gz | grep -o '"\(fullEncoded\|encodedCompressed\)":"[0-9a-f]*"' | cut -d'"' -f4 | awk 'NR % 4 == 1' | while read -r header; do
    printf '%s' "$header" | xxd -r -p > "corpus/header/$(printf '%s' "$header" | sha1sum | cut -c1-12)"
done
zcat ../tests/fixtures/vectors/transactions.jsonl.gz | grep -o '"raw":"[0-9a-f]*"' | cut -d'"' -f4 | awk 'NR % 4 == 1' | while read -r transaction; do
    printf '%s' "$transaction" | xxd -r -p > "corpus/transaction/$(printf '%s' "$transaction" | sha1sum | cut -c1-12)"
done
zcat ../tests/fixtures/vectors/receipts.jsonl.gz | grep -o '"\(enc\|in\)":"[0-9a-f]*"' | cut -d'"' -f4 | awk 'NR % 4 == 1' | while read -r receipt; do
    printf '%s' "$receipt" | xxd -r -p > "corpus/receipt/$(printf '%s' "$receipt" | sha1sum | cut -c1-12)"
done
# Bitcoin data out of the real ledger.
mkdir -p corpus/{btc_header,btc_transaction,btc_script,btc_merkle}
real=${RHIZOME_DATA:-../../shared/data}/vectors/real_bridge.jsonl.gz
[ -e "$real" ] || real=../tests/fixtures/vectors/real_bridge.jsonl.gz
seed() { # target, member of the JSON lines, how many of them are left out between two
    [ -e "$real" ] || return 0
    zcat "$real" | grep -o "\"$2\": *\"[0-9a-f]*\"" | tr -d ' ' | cut -d'"' -f4 | awk -v n="$3" 'NR % n == 1 || n == 1' | while read -r data; do
        printf '%s' "$data" | xxd -r -p > "corpus/$1/$(printf '%s' "$data" | sha1sum | cut -c1-12)"
    done
}
seed btc_header header 20
seed btc_transaction raw 1
seed btc_transaction btcTxUnsigned 1
seed btc_transaction coinbase 1
seed btc_script redeemScript 1
seed btc_script script 1
seed btc_merkle pmt 1
# A store, whole and in the form that the target completes: mode, counts, heap, slots.
mkdir -p corpus/flatdb_open
for store in ../flatdb/tests/fixtures/v3/*; do
    name=$(basename "$store")
    size=$(stat -c %s "$store/heap")
    # The heap's length, low byte first.
    { printf "\\x00\\x$(printf %02x $((size % 256)))\\x$(printf %02x $((size / 256)))"; cat "$store/heap" "$store/index.0"; } > "corpus/flatdb_open/raw-$name"
    for mode in 87 8f 97 9f a7 bf c7 ff; do
        { printf "\x$mode"; head -c 96 /dev/zero; tail -c +12289 "$store/heap" | head -c 2000; } > "corpus/flatdb_open/shaped-$mode-$name"
    done
done
# States and calls of the Bridge out of its chains, where they are at hand.
mkdir -p corpus/bridge_calls
peg=()
for chain in bridge bridge-upgrades bridge-upgrades-2; do
    folder=${RHIZOME_DATA:-../../shared/data}/chains/$chain
    [ -e "$folder/chain.json" ] && peg+=("$folder")
done
[ ${#peg[@]} -eq 0 ] || cargo run --quiet --release --example bridge_seeds -- corpus/bridge_calls "${peg[@]}"
for target in corpus/*; do echo "$target: $(find "$target" -type f | wc -l) seeds"; done
