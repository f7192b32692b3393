# Uses redis-rb as an application does; see ../main.go for the arguments.

require 'json'
require 'redis'

# NAME has the addresses of all members, as a name in a DNS would.
NAME = 'members.test'

def resolve(addresses)
  real = Socket.method(:getaddrinfo)
  Socket.define_singleton_method(:getaddrinfo) do |host, *args|
    (host == NAME ? addresses : [host]).flat_map { |address| real.call(address, *args) }
  end
end

def survive(client, key)
  loop do
    4.times do |i|
      client.incr("#{key}/#{i}")
    rescue Redis::BaseError => e
      warn e
      sleep 0.02
      retry
    end
    puts 'took numbers'
    $stdout.flush
    break unless $stdin.gets
  end
end

def use(client, key)
  puts JSON.generate(
    incr: client.incr(key), incrby: client.incrby(key, 9), get: client.get(key),
    pipeline: client.multi { |m| 3.times { m.incr(key) } },
    ids: client.call('SNOWRAFT.ID', 'COUNT', '3'), next: client.call('SNOWRAFT.NEXT', 'bills'),
    late: client.call('SNOWRAFT.NEXT', 'receipts', 'PERIOD', ENV.fetch('LAST_YEAR'))
  )
end

library, mode, *args = ARGV
host, port = args[0].split(':')
settings = {}
settings = { password: args[1], ssl: true, ssl_params: { ca_file: ENV.fetch('CA') } } if mode == 'secured'
if mode == 'several'
  resolve(args.map { |address| address.split(':')[0] })
  host = NAME
end
client = Redis.new(host: host, port: port.to_i, **settings)
mode == 'several' ? survive(client, library) : use(client, library)
