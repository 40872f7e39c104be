# nginx's workers under load; each answer is whole.
mkdir -p root logs
head -c 300000 /dev/urandom > root/file
cat > nginx.conf <<END
daemon off; worker_processes 2; pid $PWD/nginx.pid; error_log $PWD/error.log;
events { worker_connections 64; }
http { access_log off; gzip on; gzip_min_length 1; gzip_types *; client_body_temp_path $PWD/logs/a; proxy_temp_path $PWD/logs/b;
  fastcgi_temp_path $PWD/logs/c; uwsgi_temp_path $PWD/logs/d; scgi_temp_path $PWD/logs/e;
  server { listen unix:$PWD/nginx.sock; root $PWD/root; } }
END
chmod 755 . root; chmod 644 root/file
nginx -p "$PWD" -c "$PWD/nginx.conf" & master=$!
until [ -S nginx.sock ] && [ "$(pgrep -c -P $master)" = 2 ]; do sleep 0.1; done
sum=$(md5sum < root/file)
( while [ ! -e over ]; do [ "$(curl -s --compressed --unix-socket nginx.sock http://x/file | md5sum)" = "$sum" ] || touch failed; done ) & load=$!
workers=$(pgrep -P $master | tr '\n' ' ')
echo "ready $workers"
cat > /dev/null
touch over
wait $load
[ "$(pgrep -P $master | tr '\n' ' ')" = "$workers" ] || touch failed
kill -QUIT $master
wait $master; [ ! -e failed ]
