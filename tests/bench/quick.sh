#!/usr/bin/env bash
# Measures a node with nothing but this repository: quick.sh [debian | files]
#
# BENCH_DATA  folder of debian.jsonl and files.jsonl, made there when missing (default: bench-data in the target folder)
# STEPS       what to do, separated by commas (default: import,write,query)
# SECONDS_OF_QUERIES  length of the query load (default 10), CONNECTIONS (default 8)
#
# Prints the figures as a Markdown table. README.md says what they mean.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
set_name=${1:-debian}
case $set_name in
  debian) fields=name,summary,description ;;
  files) fields=name,package ;;
  *) echo "unknown data set $set_name: debian or files" >&2; exit 2 ;;
esac
data_folder=${BENCH_DATA:-$CARGO_TARGET_DIR/bench-data}
data=$data_folder/$set_name.jsonl
[ -s "$data" ] || "$here/data.sh" "$data_folder" "$set_name"

cargo build --release -q -p quorate
cargo bench -q -p quorate-engine --bench raw_import --no-run
cargo bench -q -p quorate-tests --bench service --no-run
export QUORATE_BIN=$CARGO_TARGET_DIR/release/quorate

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
raw() { cargo bench -q -p quorate-engine --bench raw_import -- "$data" "$fields"; }
# Once before, so that both read the file from memory; the second run counts.
raw >/dev/null
raw_rate=$(raw)

echo "$set_name, $(nproc) cores, $(date -u +%Y-%m-%d), $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
echo
cargo bench -q -p quorate-tests --bench service -- \
  --data "$data" --settings "$here/$set_name.settings.json" --title name --raw "$raw_rate" --folder "$folder" \
  --steps "${STEPS:-import,write,query}" --seconds "${SECONDS_OF_QUERIES:-10}" --connections "${CONNECTIONS:-8}"
