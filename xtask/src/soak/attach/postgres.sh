# Backends of postgres that sort and aggregate; each answer is the same.
user=postgres; id $user > /dev/null 2>&1 || user=nobody
chmod 777 .
as() { su -s /bin/sh $user -c "cd '$PWD' && $*"; }
as "PATH='$PATH' initdb -D data -A trust -U soak" > log 2>&1
as "PATH='$PATH' exec postgres -D data -k '$PWD' -c listen_addresses=''" >> log 2>&1 & server=$!
until psql -h "$PWD" -U soak postgres -Atc 'select 1' > /dev/null 2>&1; do sleep 0.2; done
query="select md5(string_agg(x::text, ',' order by x desc)) from generate_series(1, 20000) x;"
want=$(psql -h "$PWD" -U soak postgres -Atc "$query")
for i in 1 2; do
  mkfifo session$i
  psql -h "$PWD" -U soak postgres -Atq < session$i > answers$i 2>&1 & eval "client$i=\$!"
done
exec 3> session1 4> session2
echo 'select pg_backend_pid();' >&3; echo 'select pg_backend_pid();' >&4
until [ -s answers1 ] && [ -s answers2 ]; do sleep 0.1; done
pids="$(head -1 answers1) $(head -1 answers2)"
( while [ ! -e over ]; do echo "$query" >&3; echo "$query" >&4; sleep 0.05; done ) & load=$!
echo "ready $pids"
cat > /dev/null
touch over
wait $load
exec 3>&- 4>&-
wait $client1 && wait $client2 || touch failed
for i in 1 2; do tail -n +2 answers$i | grep -qvx "$want" && touch failed; [ "$(wc -l < answers$i)" -gt 2 ] || touch failed; done
as "PATH='$PATH' pg_ctl -D data -m fast stop" > /dev/null
wait $server; [ ! -e failed ]
