# A python3 that sleeps, and says in the end that it has slept as long as it meant to.
cat > sleeper.py <<'END'
import sys, threading, time
def sleep():
    while not over:
        start = time.monotonic(); time.sleep(0.05)
        if time.monotonic() - start < 0.05: print("short", flush=True)
over = False
thread = threading.Thread(target=sleep); thread.start()
print("ready", flush=True)
sys.stdin.read(); over = True; thread.join(); print("ok")
END
mkfifo input
python3 sleeper.py < input > output & pid=$!
exec 3> input
until grep -q ready output; do sleep 0.1; done
# A wrapper may have become another process.
echo "ready $pid"
cat > /dev/null
exec 3>&-
wait $pid && [ "$(tail -n +2 output)" = ok ]
