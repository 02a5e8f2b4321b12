#!/usr/bin/env bash
# Measures three nodes of this machine beside one and prints Markdown tables. cluster.py says which variables choose a part.
#
# BENCH_DATA    folder of cities.jsonl and files.jsonl (default: ../shared/bench/data)
# QUORATE_BIN   the program to measure (default: built here, optimised)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
export BENCH_DATA=${BENCH_DATA:-$PWD/../shared/bench/data}
if [ -z "${QUORATE_BIN:-}" ]; then
  cargo build --release --locked -q -p quorate
  export QUORATE_BIN=${CARGO_TARGET_DIR:-$PWD/target}/release/quorate
fi
exec python3 "$here/cluster.py"
