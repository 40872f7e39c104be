#!/bin/sh
# Builds the stubs, a static library: build-stubs.sh OUTPUT
#
# They are made of the Rust code of the repository that this file is in. LIFETRACE_STUBS names a library
# that is there already. A compiler for musl gets stubs for musl.
set -eu
output=$1

if [ -n "${LIFETRACE_STUBS:-}" ]; then
  cp "$LIFETRACE_STUBS" "$output"
  exit
fi

# dune runs this in _build/<context>/..., which has none of the Rust code.
here=$(cd "$(dirname "$0")" && pwd)
case $here in
*/_build/*)
  inside=${here##*/_build/}
  here=${here%/_build/*}/${inside#*/}
  ;;
esac
repository=$(cd "$here/../.." && pwd)
if ! [ -f "$repository/crates/ocaml-library/Cargo.toml" ]; then
  echo "no Rust code of Lifetrace in $repository: build in a clone of its repository," >&2
  echo "or set LIFETRACE_STUBS to a liblifetrace_stubs.a that was built in one" >&2
  exit 1
fi

library=liblifetrace_stubs.a
folder=${CARGO_TARGET_DIR:-$repository/target}
set -- build --quiet --profile library --package lifetrace-ocaml-library \
  --manifest-path "$repository/Cargo.toml" --target-dir "$folder"
case "$(ocamlfind ocamlopt -config 2>/dev/null || ocamlopt -config)" in
*musl*)
  target=$(uname -m)-unknown-linux-musl
  cargo "$@" --target "$target"
  cp "$folder/$target/library/$library" "$output"
  ;;
*)
  cargo "$@"
  cp "$folder/library/$library" "$output"
  ;;
esac
