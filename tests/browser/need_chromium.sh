#!/bin/sh
# Brings Chromium for the browser tests: through the system's package manager as root, else it says how.
set -eu
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium for the browser tests"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
    exit 0
fi
echo "The browser tests need Chromium: install it with 'sudo apt-get install chromium' (or your system's like), then run 'make test' again." >&2
exit 1
