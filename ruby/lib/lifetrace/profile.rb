# frozen_string_literal: true

module Lifetrace
  # What the sampled objects amount to at one moment.
  #
  # +pprof+ is a gzipped profile in binary, as <tt>go tool pprof</tt>, Parca, Pyroscope and speedscope read it. Its numbers
  # are estimates of all objects: each sample counts for as many as the rate says.
  #
  # +live_samples+ is the number of sampled objects that live, as of the last collection; +samples+ that of all since
  # sampling began; +lost+ the number of events that should be in here and are not; +duration+ how long sampling has gone
  # on, and +seconds+ how long the flush took, both in seconds.
  Profile = Struct.new(:pprof, :live_samples, :samples, :lost, :duration, :seconds, keyword_init: true) do
    # Writes the profile to a file that is not there yet, with the folders that it needs. Nobody sees half of it.
    #
    # Raises Errno::EEXIST, and what else the system says.
    def write(path)
      require "fileutils"
      FileUtils.mkdir_p(File.dirname(path))
      unfinished = "#{path}.#{Process.pid}.part"
      File.binwrite(unfinished, pprof)
      begin
        File.link(unfinished, path)
      ensure
        File.unlink(unfinished)
      end
      path
    end

    def inspect
      "#<Lifetrace::Profile #{pprof.bytesize} bytes, #{live_samples} of #{samples} samples live>"
    end
  end

  # A snapshot of the heap that was written: the +path+ of its file, how many +objects+ it has, what they take in +bytes+,
  # and for how many seconds the program stood still (+pause+).
  HeapSnapshot = Struct.new(:path, :objects, :bytes, :pause, keyword_init: true)

  # What a recording has left: the +path+ of its trace, or nil; how many +samples+ there were; how many events were +lost+;
  # whether the trace has its greatest length, and so is not whole (+full+).
  Summary = Struct.new(:path, :samples, :lost, :full, keyword_init: true)
end
