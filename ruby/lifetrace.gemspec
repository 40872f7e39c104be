# frozen_string_literal: true

require_relative "lib/lifetrace/version"

library = "lib/lifetrace/lifetrace.so"

Gem::Specification.new do |spec|
  spec.name = "lifetrace"
  spec.version = Lifetrace::VERSION
  spec.summary = "A statistical memory profiler for Ruby: where objects were made, and when they died"
  spec.description = <<~TEXT
    Samples objects of a running program at a cost for production, with whole backtraces, and follows each until it dies.
    Leaves traces for the command `lifetrace`, and profiles for pprof of what is retained.
  TEXT
  spec.authors = ["The Lifetrace authors"]
  spec.licenses = ["MIT", "Apache-2.0"]
  spec.homepage = "https://github.com/lifetrace/lifetrace"
  spec.required_ruby_version = [">= 3.1", "< 3.5"]
  spec.files = Dir["lib/**/*.rb", "README.md", "LICENSE-*", "THIRD-PARTY.md"]
  spec.metadata["rubygems_mfa_required"] = "true"

  # With its library it is a gem of this platform, and nothing is built where it is installed.
  if File.exist?(File.join(__dir__, library))
    spec.platform = Gem::Platform.local
    spec.files += [library]
  else
    spec.extensions = ["ext/lifetrace/extconf.rb"]
    spec.files += Dir["ext/**/*"]
  end
end
