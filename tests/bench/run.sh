#!/usr/bin/env bash
# Measures a node on this machine and prints Markdown tables: run.sh [products | movies | debian | cities | files | small | all]…
#
# No argument means `small`: all but files. README.md says what each figure is and which variables choose a part.
#
# BENCH_TOOLS   folder of the load driver with its schemas and queries (default: ../shared/bench)
# BENCH_DATA    folder of products.jsonl and so on (default: $BENCH_TOOLS/data)
# DRIVE         the load driver (default: $BENCH_TOOLS/driver/target/release/drive, built when missing)
# QUORATE_BIN   the program to measure (default: built here); PROFILE=dev builds without optimisation, to try the script
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
export BENCH_TOOLS=${BENCH_TOOLS:-$PWD/../shared/bench}
export BENCH_DATA=${BENCH_DATA:-$BENCH_TOOLS/data}
export DRIVE=${DRIVE:-$BENCH_TOOLS/driver/target/release/drive}
export RESULTS=${RESULTS:-$CARGO_TARGET_DIR/bench-results}
profile=${PROFILE:-release}

[ -d "$BENCH_TOOLS/schemas" ] || { echo "no schemas in BENCH_TOOLS=$BENCH_TOOLS; tests/bench/quick.sh needs none" >&2; exit 2; }
if [ ! -x "$DRIVE" ]; then
  cargo build --release -q --manifest-path "$BENCH_TOOLS/driver/Cargo.toml" --target-dir "$CARGO_TARGET_DIR/driver"
  DRIVE=$CARGO_TARGET_DIR/driver/release/drive
fi

# One build for the program and the benches, so that both share their dependencies. The last line of each name counts.
built=$(cargo build --workspace --locked -q --profile "$profile" --bin quorate --bench canned --bench one_word --bench raw_import \
  --message-format=json-render-diagnostics | python3 "$here/built.py")
while IFS='=' read -r name path; do
  case $name in
    quorate) export QUORATE_BIN=${QUORATE_BIN:-$path} ;;
    canned) export CANNED_BIN=$path ;;
    one_word) export ONE_WORD_BIN=$path ;;
    raw_import) export RAW_IMPORT_BIN=$path ;;
  esac
done <<<"$built"

exec python3 "$here/measure.py" "$@"
