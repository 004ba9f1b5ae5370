#!/bin/sh
# Pack the Claude Desktop bundle: deploy/desktop-bundle/pack.sh [TARGET.mcpb]. Needs npm (for the mcpb packer).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
target=${1:-$root/dist/claude-onedrive-memory.mcpb}
case $target in /*) ;; *) target=$PWD/$target ;; esac
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cd "$root"
cp -r memory_cache storage_backends daemon mcp_server dashboard command_line pyproject.toml README.md LICENSE "$stage"
cp deploy/desktop-bundle/manifest.json "$stage"
find "$stage" -name __pycache__ -type d -prune -exec rm -rf {} +
mkdir -p "$(dirname "$target")"
npx --yes @anthropic-ai/mcpb@2.1.2 validate "$stage/manifest.json"
npx --yes @anthropic-ai/mcpb@2.1.2 pack "$stage" "$target"
