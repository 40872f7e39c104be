-- Strings, lists and hashes of Redis, written, read and deleted, as often as the argument says.
for i = 1, tonumber(ARGV[1]) do
    local key = 'key:' .. i % 5003
    redis.call('SET', key, string.rep('v', i % 200))
    redis.call('RPUSH', 'list:' .. i % 211, 'item ' .. i)
    redis.call('HSET', 'hash:' .. i % 307, 'field:' .. i % 97, i)
    if i % 3 == 0 then redis.call('DEL', key) end
    if i % 1009 == 0 then redis.call('DEL', 'list:' .. i % 211) end
    redis.call('GET', key)
end
return redis.call('DBSIZE')
