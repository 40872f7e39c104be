# frozen_string_literal: true

# About so many objects, of several sizes, that refer to each other at random; then goes on making garbage until it is told
# to end. Then dumps them, and says what processor time that took, in milliseconds.
require "objspace"

Entry = Struct.new(:name, :tags, :friend)
count = Integer(ARGV[0])
random = Random.new(1)
all = {}
objects = 0
while objects < count
  tags = Array.new(random.rand(4)) { "tag #{random.rand(1000)} " * random.rand(1..6) }
  all["key #{random.rand}"] = Entry.new("entry number #{objects}", tags)
  objects += 4 + tags.size
end
entries = all.values
entries.each { |entry| entry.friend = entries[random.rand(entries.size)] }
entries = tags = nil
GC.start
$stdout.sync = true
puts "made"
Thread.new { $stdin.gets; $told = true }
Object.new until $told
GC.start
cpu = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_millisecond) }
from = cpu.call
File.open("/dev/null", "w") { |file| ObjectSpace.dump_all(output: file) }
puts (cpu.call - from).round(3)
raise if all.empty?
