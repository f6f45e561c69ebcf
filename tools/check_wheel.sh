#!/usr/bin/env bash
# Build wheel and sdist into dist/, install the wheel without extras into a new environment, and run the demo
# from another folder: what a newcomer does who has neither git nor make. `make wheel-check` calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=${PYTHON:-.venv/bin/python}
rm -rf dist
"$python" -m build --outdir dist . > /dev/null
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/env"
"$place/env/bin/pip" install --quiet --constraint constraints.txt "$root"/dist/*.whl
cd "$place"
for heavy in torch nilearn dask; do
  if "$place/env/bin/python" -c "import $heavy" 2> /dev/null; then
    echo "The wheel without extras brought $heavy." >&2
    exit 1
  fi
done
"$place/env/bin/sclcs" --version
"$place/env/bin/sclcs" demo --out demo
test -s demo/report.html
echo "wheel: installed without extras, the demo ran from another folder"
