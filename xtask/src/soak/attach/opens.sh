# A library is loaded and unloaded again and again.
mkfifo input
"$ATTACHED" opens "$PLUGIN" < input > output & pid=$!
exec 3> input
until grep -q ready output; do sleep 0.1; done
echo "ready $pid"
cat > /dev/null
exec 3>&-
wait $pid && tail -1 output | grep -q '^ok$'
