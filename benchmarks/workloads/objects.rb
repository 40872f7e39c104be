# frozen_string_literal: true

# So many objects in a hash of arrays of structs and strings; then goes on making garbage until it is told to end. Then
# dumps them, and says what processor time that took, in milliseconds.
require "objspace"

Entry = Struct.new(:name, :tags)
count = Integer(ARGV[0])
all = {}
(count / 4).times { |index| all[index] = Entry.new("entry number #{index} of all", ["tag #{index % 1000}"]) }
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
raise unless all.size == count / 4
