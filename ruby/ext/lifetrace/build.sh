#!/bin/sh
# Builds the gem's library: build.sh OUTPUT
#
# It is made of the Rust code of the repository that this file is in. LIFETRACE_GEM_LIBRARY names a library that is
# there already.
set -eu
output=$1

if [ -n "${LIFETRACE_GEM_LIBRARY:-}" ]; then
  cp "$LIFETRACE_GEM_LIBRARY" "$output"
  exit
fi

repository=$(cd "$(dirname "$0")/../../.." && pwd)
if ! [ -f "$repository/crates/ruby-library/Cargo.toml" ]; then
  echo "no Rust code of Lifetrace in $repository: build in a clone of its repository, install the gem" >&2
  echo "of your platform, or set LIFETRACE_GEM_LIBRARY to a liblifetrace_gem.so that was built in one" >&2
  exit 1
fi

folder=${CARGO_TARGET_DIR:-$repository/target}
cargo build --quiet --profile library --package lifetrace-ruby-library \
  --manifest-path "$repository/Cargo.toml" --target-dir "$folder"
cp "$folder/library/liblifetrace_gem.so" "$output"
