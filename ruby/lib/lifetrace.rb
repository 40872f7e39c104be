# frozen_string_literal: true

require_relative "lifetrace/version"
require_relative "lifetrace/profile"
require "lifetrace/lifetrace"

# Samples objects of this process, from inside of it: where each was made, by the whole backtrace, and when it died.
#
#   Lifetrace.start(output: "app.%p.lt")   # a trace for `lifetrace report`
#   profile = Lifetrace.flush              # what is live now, for pprof
#   Lifetrace.stop
#
# Without an +output+ there is no file, and memory for as long as objects live. A forked child is recorded anew, with a
# trace of its own.
module Lifetrace
  # What cannot be done, and why.
  class Error < StandardError; end

  # One object in a thousand: what `lifetrace record` does.
  DEFAULT_RATE = 0.001

  # In seconds.
  LONGEST_FLUSH = 300

  # The recorder may have had no room for a mark.
  MARK_AGAIN = 1.0

  private_constant :LONGEST_FLUSH, :MARK_AGAIN
  private_constant :Native

  @settings = nil
  @flushers = []

  class << self
    # Starts to record this process.
    #
    # +output+:: the trace's name; in it <tt>%p</tt> is the process, <tt>%e</tt> the program, <tt>%%</tt> a percent sign. A
    #            child's has its process in its name in any case.
    # +rate+:: the probability that an object is sampled; with 1 everything is exact.
    # +labels+:: what the trace says of itself, as pairs.
    # +overwrite+:: whether a file of that name may be overwritten.
    # +max_size+:: the greatest length of the trace in bytes; one that would exceed it ends before.
    #
    # Returns true; or :elsewhere if `lifetrace record` records this process already: that writes its trace, and nothing
    # can be had from here. Raises Error if something is recorded already, or the file is there or cannot be made.
    def start(output: nil, rate: DEFAULT_RATE, labels: {}, overwrite: false, max_size: nil)
      check_ractors
      settings = [text(output || ""), overwrite ? true : false, Float(rate), lines(labels), Integer(max_size || 0)]
      started = Native.start(*settings)
      raise Error, started if started.is_a?(String)

      stop_at_exit
      @settings = settings
      started
    end

    # Stops; returns a Summary when the trace is written, or nil if nothing was recorded here. Other threads go on
    # meanwhile.
    #
    # Raises Error if the trace could not be written to its end.
    def stop
      settings, @settings = @settings, nil
      # What lives has its size in the trace.
      send_sizes if settings && !settings.first.empty?
      path, samples, lost, full, error = Native.stop || (return nil)
      raise Error, "#{path}: #{error}" unless error.empty?

      Summary.new(path: path.empty? ? nil : path.force_encoding(Encoding.default_external), samples:, lost:, full:)
    end

    # Whether something is being recorded from here.
    def running?
      Native.running?
    end

    # From now on nothing is sampled; what was sampled before is followed to its end.
    def pause
      Native.pause or raise Error, "nothing is being recorded"
      nil
    end

    # Undoes pause.
    def resume
      Native.resume or raise Error, "nothing is being recorded"
      nil
    end

    # Records while the block runs; returns its Profile, or nil if `lifetrace record` records this process. Takes what start
    # and flush take.
    def profile(show: :retained, **options)
      is_here = start(**options) == true
      begin
        yield
        flush(show:) if is_here
      ensure
        stop
      end
    end

    # What the sampled objects amount to now, as a Profile: those made since the start, with where they were made
    # (+alloc_objects+, +alloc_space+), and those of them that live, with what they take now including what belongs to them
    # elsewhere, as <tt>ObjectSpace.memsize_of</tt> has it (+retained_objects+, +retained_size+). An object lives until a
    # collection has found it dead; GC.start before makes it exact.
    #
    # +show+:: which of these a reader shows first, :retained or :allocated.
    #
    # The lock that Ruby's threads share is kept for a millisecond at a time. Raises Error if nothing is recorded here.
    def flush(show: :retained)
      raise ArgumentError, "show: is :retained or :allocated" unless %i[retained allocated].include?(show)

      began = now
      send_sizes
      found = profile_after_mark(began, show.to_s)
      raise Error, found if found.is_a?(String)

      pprof, live_samples, samples, lost, nanoseconds = found
      Profile.new(pprof:, live_samples:, samples:, lost:, duration: nanoseconds / 1e9, seconds: now - began)
    end

    # Writes a snapshot of the heap: each object, with its class, what it takes and what it refers to, and what holds it. A
    # forked child reads the heap while the program goes on. `lifetrace heap` reads the file.
    #
    # +path+:: the file; without one it is beside the trace, with a number.
    # +overwrite+:: whether a file of that name may be overwritten.
    #
    # Returns a HeapSnapshot when the file is written. Raises Error if nothing is recorded here, or there is no snapshot.
    def snapshot(path = nil, overwrite: false)
      path, objects, bytes, nanoseconds = saved_snapshot(text(path ? File.expand_path(path) : ""), overwrite ? true : false)
      HeapSnapshot.new(path: path.force_encoding(Encoding.default_external), objects:, bytes:, pause: nanoseconds / 1e9)
    end

    # :nodoc: flushers that are to go on in a forked child, and to end with the program.
    attr_reader :flushers

    private

    # Several threads may wait, each for its own.
    def saved_snapshot(path, overwrite)
      number = Native.begin_snapshot(path, overwrite)
      raise Error, number if number.is_a?(String)

      begin
        nil until (found = Native.await_snapshot(number))
      ensure
        Native.forget_snapshot(number)
      end
      raise Error, found if found.is_a?(String)

      found
    end

    def send_sizes
      from, to = 0, Native.next_sample
      Native.wait_for_room while (from = Native.send_sizes(from, to))
    end

    def profile_after_mark(began, first)
      while now < began + LONGEST_FLUSH
        mark = Native.send_mark or raise Error, "nothing is being recorded: Lifetrace.start comes first"
        marked = now
        while now < marked + MARK_AGAIN
          found = Native.profile(mark, first)
          return found if found
        end
      end
      raise Error, "the recorder has not come to the end of what it was told for #{LONGEST_FLUSH} s"
    end

    # Called at a safe point of a forked child whose parent was being recorded.
    def __forked
      settings = @settings or return
      output, *rest = settings
      started = Native.start(of_process(output), *rest)
      warn "lifetrace: a forked child is not recorded: #{started}" if started.is_a?(String)
      flushers.each(&:restart)
    rescue Exception => error # rubocop:disable Lint/RescueException
      warn "lifetrace: a forked child is not recorded: #{error.message}"
    end

    # Two processes never write to one file.
    def of_process(output)
      return output if output.empty? || output.gsub("%%", "").include?("%p")

      extension = File.extname(output)
      "#{output.delete_suffix(extension)}.%p#{extension}"
    end

    def stop_at_exit
      return if @stops_at_exit

      @stops_at_exit = true
      at_exit do
        flushers.dup.each(&:stop)
        stop
      rescue StandardError => error
        warn "lifetrace: #{error.message}"
      end
    end

    # Up to 3.2 Ruby does not survive a second ractor while anybody listens to its objects, and until 4.0 those of others
    # than the first are not told.
    def check_ractors
      return unless defined?(Ractor) && Ractor.count > 1

      raise Error, "objects are not sampled in a program that uses ractors"
    end

    def lines(labels)
      labels.map do |key, value|
        pair = [text(key.to_s), text(value.to_s)]
        raise ArgumentError, "a label has no tabs and no ends of lines" if pair.any? { |it| it.match?(/[\t\n]/) }

        pair.join("\t")
      end.join("\n")
    end

    def text(value)
      text = value.respond_to?(:to_path) ? value.to_path : String(value)
      raise ArgumentError, "there is a zero byte in #{text.inspect}" if text.b.include?("\0")

      text
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end

  autoload :Flusher, "lifetrace/flusher"
  autoload :Middleware, "lifetrace/middleware"
end
