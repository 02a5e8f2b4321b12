#!/usr/bin/env bash
# Builds the last program of every earlier command level from its commit, for the long test of mixed programs (tests/tests/mixed.rs).
#
#   tests/earlier/build.sh FOLDER      puts level-1, level-2, … into FOLDER; those that are there already are kept
#
# CARGO_TARGET_DIR shares what the builds have in common; by default it is FOLDER/target. One at a time, with little priority.
set -euo pipefail
folder=$(mkdir -p "${1:?name the folder for the programs}" && cd "$1" && pwd)
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$folder/target}

# Level, and the last commit of the programs whose newest level it was.
commits='
1 5cc9be9
2 cef313f
3 04f7126
4 e76bbc8
5 fc815a8
6 4e87f4d
7 ed31f1a
8 97eb6b8
9 f8abd5be
10 c4db1914
'
while read -r level commit; do
  [ -n "$level" ] || continue
  program=$folder/level-$level
  [ -x "$program" ] && continue
  sources=$folder/sources-$level
  git -C "$repository" worktree add --force --detach "$sources" "$commit" >&2
  (cd "$sources" && nice cargo build --locked --package quorate >&2)
  cp "$CARGO_TARGET_DIR/debug/quorate" "$program.new" && mv "$program.new" "$program"
  git -C "$repository" worktree remove --force "$sources"
done <<<"$commits"
ls "$folder"/level-*
