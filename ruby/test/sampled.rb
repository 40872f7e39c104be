# frozen_string_literal: true

# Programs with the gem, one a word; what they print is what must be in their traces and profiles.
# Run by crates/cli/tests/end_to_end/library_for_ruby.rs.

require "lifetrace"
require "objspace"

class Thing
  def initialize(bytes = 0)
    @text = "x" * bytes if bytes.positive?
  end
end

def retained_strings(keep)
  500.times { |index| keep << "s" * (10 * index) }
end

def retained_things(keep)
  300.times { keep << Thing.new(1000) }
end

def retained_arrays(keep)
  200.times { |index| keep << Array.new(index) { nil } }
end

def dropped
  5_000.times { Thing.new }
end

def memory_of(objects)
  objects.sum { |object| ObjectSpace.memsize_of(object) }
end

def tell(name, objects)
  puts "#{name} #{objects.size} #{memory_of(objects)}"
end

# What is made here is nobody's any more when it returns, on no stack either.
def on_a_stack_of_its_own(&)
  Thread.new(&).join
end

# Profiles whose live objects are known to the byte, at three times, with compactions between them.
def retained(folder)
  Lifetrace.start(rate: 1)
  kept = { "retained_strings" => [], "retained_things" => [], "retained_arrays" => [] }
  3.times do |round|
    kept.each { |name, keep| on_a_stack_of_its_own { send(name, keep) } }
    on_a_stack_of_its_own { dropped }
    GC.start
    GC.compact if round.positive?
    # What has grown since its birth, and since the last flush.
    kept["retained_strings"].each { |text| text << "grown" * 100 }
    on_a_stack_of_its_own { 50.times { kept["retained_arrays"].pop } } if round == 2
    GC.start
    Lifetrace.flush(show: round == 2 ? :allocated : :retained).write("#{folder}/#{round}.pprof")
    kept.each { |name, keep| tell("#{round}.pprof Object##{name}", keep) }
  end
  raise "it has not stopped" unless Lifetrace.stop && !Lifetrace.running? && Lifetrace.stop.nil?
end

# Traces one after the other, of which each has what was made in its time.
def restarts(folder)
  10.times do |round|
    dropped
    Lifetrace.start(rate: 1, output: "#{folder}/#{round}.lt", labels: { round: })
    (100 * round).times { Thing.new }
    summary = Lifetrace.stop
    raise summary.inspect unless summary.path == "#{folder}/#{round}.lt" && summary.lost.zero? && !summary.full

    puts "#{round}.lt #{100 * round}"
  end
end

# Each process has a trace and profiles of its own, those of the flusher's thread too.
def forks(folder)
  Lifetrace.start(rate: 1, output: "#{folder}/parent.lt")
  flusher = Lifetrace::Flusher.new(interval: 3600, pattern: "#{folder}/%{pid}-%{index}.pprof").start
  300.times { Thing.new }
  children = Array.new(3) do
    fork do
      Thread.pass until Lifetrace.running?
      700.times { Thing.new }
      raise "the flusher has not started again" unless flusher.running? && flusher.index.zero?

      2.times { flusher.flush }
    end
  end
  statuses = children.map { |child| Process.wait2(child).last }
  raise statuses.inspect unless statuses.all?(&:success?) && system("true") && `echo x` == "x\n"

  300.times { Thing.new }
  puts Process.pid, children
end

# A child that cannot be recorded, and cannot say so either, goes on as if nothing had been.
def unable(folder)
  require "fileutils"
  FileUtils.mkdir("#{folder}/gone")
  Lifetrace.start(output: "#{folder}/gone/%p.lt")
  FileUtils.rm_rf("#{folder}/gone")
  broken = Object.new
  def broken.write(*) = raise(IOError, "nobody listens")
  def broken.flush = self
  stderr, $stderr = $stderr, broken
  child = fork do
    things = Array.new(10_000) { Thing.new }
    exit!(things.size == 10_000 && $!.nil? && !Lifetrace.running? ? 0 : 1)
  end
  $stderr = stderr
  status = Process.wait2(child).last
  raise status.inspect unless status.success?
end

def raises(type, part)
  yield
rescue type => error
  raise unless error.message.include?(part)
else
  raise "there is no error with #{part.inspect}"
end

# What is wrong is said, and nothing is recorded or overwritten then.
def refusals(folder)
  file = "#{folder}/there.lt"
  File.write(file, "mine")
  raises(Lifetrace::Error, "not overwritten") { Lifetrace.start(output: file) }
  raise "it was overwritten" unless File.read(file) == "mine"

  raises(Lifetrace::Error, "no probability") { Lifetrace.start(rate: 0) }
  raises(Lifetrace::Error, "means nothing") { Lifetrace.start(output: "#{folder}/%q") }
  raises(Lifetrace::Error, "no/such") { Lifetrace.start(output: "#{folder}/no/such/x.lt") }
  raises(ArgumentError, "zero byte") { Lifetrace.start(output: "x\0y") }
  raises(ArgumentError, "a label") { Lifetrace.start(labels: { "a\tb" => 1 }) }
  raises(TypeError, "Float") { Lifetrace.start(rate: nil) }
  raises(Lifetrace::Error, "start comes first") { Lifetrace.flush }
  raises(Lifetrace::Error, "nothing is being recorded") { Lifetrace.pause }
  raises(ArgumentError, "interval") { Lifetrace::Flusher.new(interval: 0) }
  raises(KeyError, "nonsense") { Lifetrace::Flusher.new(pattern: "%{nonsense}") }
  raise "something is recorded" if Lifetrace.running?

  Lifetrace.start
  raises(Lifetrace::Error, "under way") { Lifetrace.start }
  raises(ArgumentError, "show") { Lifetrace.flush(show: :all) }
  Lifetrace.pause
  Lifetrace.resume
  profile = Lifetrace.flush
  profile.write("#{folder}/a/b.pprof")
  raises(Errno::EEXIST, "b.pprof") { profile.write("#{folder}/a/b.pprof") }
  Lifetrace.stop
  raises(RuntimeError, "the program's own") { Lifetrace.profile { raise "the program's own" } }
  raise "it has not stopped" if Lifetrace.running?

  puts Dir["#{folder}/**/*"].select { |it| File.file?(it) }.map { |it| File.basename(it) }.sort
end

# Under `lifetrace record` there is nothing to do here.
def elsewhere(_folder)
  raise "it is not elsewhere" unless Lifetrace.start(output: "/none") == :elsewhere && !Lifetrace.running?
  raise "there is a profile" if Lifetrace.profile { 100.times { Thing.new } }
  raise "there is a summary" if Lifetrace.stop
end

# All at once: threads, starts and stops, flushes, collections, compactions, forks.
def torture(folder)
  done = false
  workers = Array.new(4) do
    Thread.new do
      keep = []
      until done
        200.times { keep << Thing.new(rand(2000)) << [1, 2, 3] << { a: "b" * 50 } }
        keep.shift(keep.size / 2)
        eval("def made_#{rand(50)}; [Thing.new]; end", binding, "made.rb", 1)
        send("made_#{rand(50)}") rescue nil
        Thread.pass
      end
    end
  end
  collector = Thread.new { (GC.compact; sleep 0.005) until done }
  12.times do |round|
    Lifetrace.start(rate: [1, 0.1, 0.01][round % 3], output: round.even? ? "#{folder}/#{round}.%p.lt" : nil)
    3.times do
      sleep 0.01
      raise "there is no profile" if Lifetrace.flush.pprof.empty?
    end
    Process.wait(fork { Thread.pass until Lifetrace.running?; Array.new(100) { Thing.new }; exit!(Lifetrace.flush.pprof.empty? ? 1 : 0) })
    raise "the child has failed" unless $?.success?

    Lifetrace.stop
  end
  done = true
  [*workers, collector].each(&:join)
end

# Snapshots by the program itself, while other threads run; and what cannot be done.
def snapshots(folder)
  begin
    Lifetrace.snapshot("#{folder}/none.lth")
    raise "a snapshot without a recording"
  rescue Lifetrace::Error
    # As it should be.
  end
  Lifetrace.start(rate: 0.1, output: "#{folder}/t.lt")
  keep = []
  on_a_stack_of_its_own { retained_things(keep) }
  done = false
  others = Array.new(3) { Thread.new { Thing.new until done } }
  GC.start
  5.times do |round|
    snapshot = Lifetrace.snapshot("#{folder}/#{round}.lth")
    raise snapshot.inspect unless snapshot.path == "#{folder}/#{round}.lth" && snapshot.objects > 5_000 && snapshot.pause.positive?
  end
  # Who waits at the same time gets each their own.
  waiting = Array.new(3) { |number| Thread.new { Lifetrace.snapshot("#{folder}/thread-#{number}.lth").path } }
  paths = waiting.map(&:value)
  raise paths.inspect unless paths == Array.new(3) { |number| "#{folder}/thread-#{number}.lth" }

  begin
    Lifetrace.snapshot("#{folder}/0.lth")
    raise "it was overwritten"
  rescue Lifetrace::Error => error
    raise unless error.message.include?("exists")
  end
  Lifetrace.snapshot("#{folder}/0.lth", overwrite: true)
  raise "it is not beside the trace" unless Lifetrace.snapshot.path.match?(%r{/t\.\d+\.lth\z})

  child = fork { Thread.pass until Lifetrace.running?; exit!(Lifetrace.snapshot("#{folder}/child.lth").objects.positive? ? 0 : 1) }
  Process.wait(child)
  raise "the child has failed" unless $?.success?

  done = true
  others.each(&:join)
  Lifetrace.stop
  puts "Thing #{keep.size}"
end

# A Rack program, without Rack.
def middleware(folder)
  require "lifetrace/middleware"
  app = ->(_) { [200, {}, Array.new(50) { Thing.new.class.name }] }
  pattern = "#{folder}/%{index}.pprof"
  server = Lifetrace::Middleware.new(app, endpoint: "/heap", rate: 1, flush: { pattern:, interval: 0.02, keep: 2 })
  ask = ->(path, **more) { server.call({ "PATH_INFO" => path, "REMOTE_ADDR" => "127.0.0.1" }.merge(more.transform_keys(&:to_s))) }
  status, headers, body = ask["/heap"]
  raise "there is no profile" unless status == 200 && headers["content-type"] && body.join.start_with?("\x1f\x8b".b)

  others = [ask["/"], ask["/heap", REMOTE_ADDR: "10.0.0.1"], ask["/heap", HTTP_X_FORWARDED_FOR: "10.0.0.1"]]
  raise "somebody has got a profile" unless others.all? { |_, _, lines| lines.size == 50 }

  flusher = Lifetrace.flushers.first
  sleep 0.01 until flusher.index > 5
  flusher.pause
  flusher.stop
  raise "there are too many" unless Dir["#{folder}/*.pprof"].size == 2
  raise "it has not stopped" if flusher.running?
end

send(ARGV.fetch(0), ARGV.fetch(1))
