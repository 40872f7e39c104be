# puma under load; each answer is the same.
cat > config.ru <<'END'
run lambda { |env| a = (1..2000).map { |i| "item #{i}" }; [200, { "content-type" => "text/plain" }, [a.join(",")]] }
END
puma -b "unix://$PWD/puma.sock" -t 4:4 -e production config.ru > log 2>&1 & pid=$!
until curl -s --unix-socket puma.sock http://x/ > want 2> /dev/null && [ -s want ]; do sleep 0.2; kill -0 $pid; done
( while [ ! -e over ]; do curl -s --unix-socket puma.sock http://x/ | cmp -s - want || touch failed; done ) & load=$!
echo "ready $pid"
cat > /dev/null
touch over
wait $load
kill -TERM $pid
wait $pid; [ ! -e failed ]
