# frozen_string_literal: true

module Lifetrace
  # Flushes at regular times, from a thread of its own: for programs that run long.
  #
  #   Lifetrace.start
  #   Lifetrace::Flusher.new(pattern: "tmp/profiles/mem-%{pid}-%{isotime}.pprof").start
  #
  # In a forked child it starts again. It flushes once more when it is stopped, and when the program ends.
  class Flusher
    DEFAULT_PATTERN = "tmp/profiles/mem-%{pid}-%{isotime}.pprof"

    # How many flushes there have been in this process.
    attr_reader :index

    # +interval+:: seconds between two flushes.
    # +pattern+:: the files' names; in them are <tt>%{pid}</tt>, <tt>%{isotime}</tt>, <tt>%{unixtime}</tt> and
    #             <tt>%{index}</tt>, which counts from 0. nil writes no files.
    # +keep+:: how many of its files are kept, the newest ones; nil keeps all.
    # +on_flush+:: called with each Profile.
    # +logger+:: told of files, and of what fails; without one, errors go to the standard error output.
    # +show+:: as of Lifetrace.flush.
    # +priority+:: of the thread.
    def initialize(interval: 30, pattern: DEFAULT_PATTERN, keep: nil, on_flush: nil, logger: nil, show: :retained,
                   priority: nil)
      @interval = Float(interval)
      raise ArgumentError, "interval: is above 0" unless @interval.positive?

      @pattern, @keep, @on_flush, @logger, @show, @priority = pattern, keep, on_flush, logger, show, priority
      format(pattern, fields) if pattern
      @thread = nil
      restart_state
    end

    # Starts; returns self.
    def start
      return self if running?

      restart_state
      Lifetrace.flushers << self unless Lifetrace.flushers.include?(self)
      run
      self
    end

    # Flushes once more, if something is being recorded, and stops.
    def stop
      return unless running?

      Lifetrace.flushers.delete(self)
      @mutex.synchronize { @stopping = true and @changed.signal }
      @thread.join
      @thread = nil
      flush if Lifetrace.running?
    end

    def running?
      @thread&.alive? || false
    end

    # Skips flushes from now on.
    def pause
      @paused = true
    end

    # Undoes pause.
    def resume
      @paused = false
    end

    # Flushes now; returns the Profile, or nil if that failed, which the logger is told.
    def flush
      profile = Lifetrace.flush(show: @show)
      write(profile) if @pattern
      @on_flush&.call(profile)
      profile
    rescue StandardError => error
      report(:error, "no profile was written: #{error.message}")
      nil
    end

    # :nodoc: in a forked child, where the thread is not.
    def restart
      restart_state
      run
    end

    private

    def restart_state
      @mutex, @changed = Mutex.new, ConditionVariable.new
      @stopping = @paused = false
      @index = 0
      @written = []
    end

    def run
      @thread = Thread.new do
        flush until wait_for_next
      end
      @thread.name = "lifetrace"
      # Puma warns of threads that do not survive a fork; this one starts again.
      @thread.thread_variable_set(:fork_safe, true)
      @thread.priority = @priority if @priority
      @thread.report_on_exception = true
    end

    # Whether to end.
    def wait_for_next
      due = now + @interval
      @mutex.synchronize do
        until @stopping || (now >= due && flushes?)
          # One that is skipped.
          due += @interval while due <= now
          @changed.wait(@mutex, due - now)
        end
        @stopping
      end
    end

    def flushes?
      !@paused && Lifetrace.running?
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def write(profile)
      path = profile.write(format(@pattern, fields))
      @index += 1
      @written << path
      forget_old if @keep
      report(:info, "#{path}: #{profile.live_samples} live samples, #{profile.lost} events lost")
    end

    def forget_old
      @written.shift(@written.size - @keep).each { |path| File.unlink(path) if File.exist?(path) } if @written.size > @keep
    end

    def fields
      time = Time.now.utc
      { pid: Process.pid, isotime: time.strftime("%Y%m%dT%H%M%S.%LZ"), unixtime: time.to_i, index: @index }
    end

    def report(level, message)
      if @logger
        @logger.public_send(level, "lifetrace: #{message}")
      elsif level == :error
        warn "lifetrace: #{message}"
      end
    end
  end
end
