#!/usr/bin/env bash
# Re-executes every bundled chain and prints one summary line a chain.
# usage: replay.sh RHIZOME [FOLDER]   (FOLDER holds chain.json files and their blocks; default: the bundled chains)
set -uo pipefail

rhizome=$1
folder=${2:-tests/fixtures/chains}
failed=0
while IFS= read -r chain; do
    directory=$(dirname "$chain")
    name=${directory#"$folder"/}
    echo "== $name"
    "$rhizome" replay --chain "$chain" "$directory/blocks.csv.gz" || failed=$((failed + 1))
done < <(find "$folder" -name chain.json | sort)
if [ "$failed" -ne 0 ]; then
    echo "$failed chains did not replay" >&2
    exit 1
fi
