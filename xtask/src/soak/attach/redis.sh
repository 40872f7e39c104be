# redis-server under load; none of the counted requests is lost.
redis-server --port 0 --unixsocket "$PWD/redis.sock" --save '' --appendonly no > log & pid=$!
until redis-cli -s redis.sock ping 2> /dev/null | grep -q PONG; do sleep 0.1; done
( while [ ! -e over ]; do redis-benchmark -s redis.sock -n 20000 -c 8 -r 1000 -d 200 -t set,get,lpush,hset -q || touch failed; done ) > load 2>&1 & load=$!
( n=0; while [ ! -e over ]; do redis-cli -s redis.sock incr counted > /dev/null || touch failed; n=$((n + 1)); echo $n > counted; done ) & count=$!
echo "ready $pid"
cat > /dev/null
touch over
wait $load $count
[ "$(redis-cli -s redis.sock get counted)" = "$(cat counted)" ] || touch failed
redis-cli -s redis.sock shutdown nosave
wait $pid && [ ! -e failed ] && ! grep -qi error load
