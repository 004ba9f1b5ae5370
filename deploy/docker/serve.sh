#!/bin/sh
# The daemon and the HTTP server, side by side; when one of them ends, so does the container.
set -u
claude-memory daemon run &
daemon=$!
claude-memory mcp --http &
server=$!
trap 'kill -TERM "$daemon" "$server" 2>/dev/null' TERM INT
while kill -0 "$daemon" 2>/dev/null && kill -0 "$server" 2>/dev/null; do
  sleep 1 &
  wait $!
done
kill -TERM "$daemon" "$server" 2>/dev/null
wait
