#!/usr/bin/env bash
# Renew the lock files after a change of pyproject.toml: exact versions and hashes, no addresses.
set -eu
cd "$(dirname "$0")/.."
uv=$(command -v uv || echo .venv/bin/uv)
common="--universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --quiet"
# shellcheck disable=SC2086
"$uv" pip compile pyproject.toml locks/build.in --extra fast --extra predict --extra plot --extra fakes $common -o locks/core.txt "$@"
# shellcheck disable=SC2086
"$uv" pip compile pyproject.toml locks/build.in locks/dev.in --extra all $common -o locks/dev.txt "$@"
