#!/bin/bash
# real_clients.sh - two OneDrive clients that are not ours, rclone and onedrive (abraunegg), against the emulator:
# alone, on a personal and a business account, and then mixed with our own daemon on the same memories.
#
#   apt-get install -y rclone onedrive openssl iproute2 util-linux      # Debian 12 or later, Ubuntu
#   REAL_ONEDRIVE_CLIENTS=/path/to/harness tests/graph_emulator/real_clients.sh
#
# The harness is a folder with `with_clients.sh EMULATOR... -- TEST...`, which runs both in a private loopback
# network where graph.microsoft.com is the emulator, and `smoke.sh`, a test of the clients alone. Nothing leaves the
# machine, nothing on it changes, and root is not needed where user namespaces are allowed.
set -euo pipefail

cd "$(dirname "$0")/../.."
python=${PYTHON:-$PWD/.venv/bin/python}
harness=${REAL_ONEDRIVE_CLIENTS:-}

if [ ! -x "$harness/with_clients.sh" ]; then
    echo "Set REAL_ONEDRIVE_CLIENTS to the folder of the harness (with_clients.sh, smoke.sh); see docs/onedrive.md." >&2
    exit 2
fi
export PYTHONPATH=$PWD PYTHONUTF8=1

for account in ${ACCOUNTS:-personal business}; do
    export ACCOUNT=$account
    echo "--- rclone and onedrive, $account"
    "$harness/with_clients.sh" "$python" -m tests.graph_emulator -- "$harness/smoke.sh"
    echo "--- with our daemon, $account"
    "$harness/with_clients.sh" "$python" -m tests.graph_emulator -- "$python" -m tests.graph_emulator.mixed_clients
done
