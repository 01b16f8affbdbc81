#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Loads the page of tgjit-bench --html in headless Chromium: the times in the DOM
# must be those of the JSON. Also reads the JSON with compare.py of Google
# Benchmark (Debian: libbenchmark-tools, python3-scipy), or another one that
# TGJIT_COMPARE_PY names. Skipped if neither is installed.

bench=bench/tgjit-bench
out=$PWD/check-bench-page.tmp
export ASAN_OPTIONS="intercept_tls_get_addr=0:$ASAN_OPTIONS"
trap 'rm -rf "$out" "$out".*' EXIT
failed=0
tested=0

fail()
{
    echo "$*"
    failed=1
}

command -v python3 >/dev/null || exit 77
for row in interp c; do
    $bench --filter="^(run|sum_axis_0)/.*/$row/" --min-time=0.0001 \
        --repetitions=5 --out="$out.$row.json" >/dev/null ||
        fail "tgjit-bench fails"
done
$bench --from="$out.interp.json" --from="$out.c.json" --out="$out.json" \
    --html="$out.html" >/dev/null || fail "--html fails"

# -- Chromium ----------------------------------------------------------------

browser=$(command -v chromium || command -v chromium-browser ||
    command -v google-chrome)
if test -n "$browser"; then
    HOME=$out.home timeout 120 "$browser" --headless=new --no-sandbox \
        --disable-gpu --dump-dom "file://$out.html" >"$out.dom" 2>"$out.err"
    if grep -q '</html>' "$out.dom"; then
        tested=1
        python3 - "$out.json" "$out.dom" <<'END' || fail "see above"
import html.parser, json, sys

class Times(html.parser.HTMLParser):
    found = {}

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if "data-row" in a:
            self.found[a["data-row"]] = float(a["data-ns"])

rows = json.load(open(sys.argv[1]))["benchmarks"]
best = {r["run_name"]: r["real_time"] for r in rows
        if r.get("aggregate_name") == "min"}
page = Times()
page.feed(open(sys.argv[2]).read())
assert len(best) >= 4, best
assert page.found == best, (page.found, best)
END
    else
        echo "the browser does not run:"
        tail -n 3 "$out.err"
    fi
fi

# -- compare.py --------------------------------------------------------------

compare=${TGJIT_COMPARE_PY:-/usr/share/benchmark/compare.py}
python=${TGJIT_COMPARE_PYTHON:-python3}
if test -f "$compare" && "$python" -c 'import numpy, scipy' 2>/dev/null; then
    tested=1
    "$python" "$compare" --no-color benchmarks "$out.json" "$out.json" \
        >"$out" 2>&1 || {
        fail "compare.py cannot read the JSON:"
        tail -n 5 "$out"
    }
    grep -q '^run/16/c/threads:1  *[-+0-9]' "$out" ||
        fail "compare.py does not list a row"
fi

test $failed = 0 || exit 1
test $tested = 1 || exit 77
