# A shop: a server, and a customer in the same process. It keeps the cart of each visit for ever, and nobody asks for it.
require "socket"

CARTS = {}
ITEMS = Array.new(50) { |i| { name: "item #{i}", price: i * 3 } }

def remember(visit)
  CARTS["visit-#{visit}"] = Array.new(40) { ITEMS.sample[:name].dup }
end

def page(items)
  items.map { |item| "<li>#{item[:name]}: #{item[:price]}</li>" }.join("\n")
end

def serve(socket)
  while (line = socket.gets)
    remember(line[/\d+/].to_i)
    socket.write(page(ITEMS), "\0")
  end
end

visits = Integer(ARGV.fetch(0, "20000"))
server = TCPServer.new("127.0.0.1", 0)
acceptor = Thread.new { loop { Thread.new(server.accept) { |socket| serve(socket) } } }
customer = TCPSocket.new("127.0.0.1", server.addr[1])
1.upto(visits) do |visit|
  customer.puts("GET /visits/#{visit}")
  customer.gets("\0")
  sleep 0.0005
end
puts "closed"
