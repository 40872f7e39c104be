# frozen_string_literal: true

# The library is Rust's, and knows nothing of the Ruby that it is built for: cargo makes it, and nothing is configured.
require "rbconfig"

script = File.expand_path("build.sh", __dir__)
File.write("Makefile", <<~MAKEFILE)
  sitearchdir = #{RbConfig::CONFIG["sitearchdir"]}

  all: lifetrace.so

  lifetrace.so:
  \tsh '#{script}' lifetrace.so

  install: lifetrace.so
  \tmkdir -p "$(DESTDIR)$(sitearchdir)/lifetrace"
  \tcp lifetrace.so "$(DESTDIR)$(sitearchdir)/lifetrace/lifetrace.so"

  clean:
  \trm -f lifetrace.so

  .PHONY: all install clean
MAKEFILE
