#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tgjit-inspect and the pages of TGJIT_INSPECT: programs run as without it, every
# element of a page is closed, ids are unique, links resolve, and nothing is
# loaded from elsewhere. Headless Chromium, where installed, sees the same.

folder=$PWD/check-inspect.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1
unset TGJIT_PROFILE TGJIT_INSPECT
inspect=src/tools/tgjit-inspect

fail()
{
    echo "$1"
    exit 1
}

# check_page FILE
check_page()
{
    ${AWK:-awk} -v page="$1" '
    function fail(text)
    {
        print page ": " text
        bad = 1
        exit 1
    }
    BEGIN { RS = "<" }
    NR == 1 { next }
    {
        end = index($0, ">")
        if (!end)
            fail("a tag does not end: " substr($0, 1, 40))
        tag = substr($0, 1, end - 1)
        name = tag
        sub(/[ \n\/].*/, "", name)
        if (tag ~ /^!/ || tag ~ /\/$/ || name == "meta" || name == "br")
            ;
        else if (tag ~ /^\//) {
            name = substr(tag, 2)
            if (!depth || open[depth] != name)
                fail("</" name "> closes <" open[depth] ">")
            depth--
        } else
            open[++depth] = name
        if (match(tag, / id="[^"]*"/)) {
            id = substr(tag, RSTART + 5, RLENGTH - 6)
            if (id in ids)
                fail("two elements have the id " id)
            ids[id] = 1
        }
        if (match(tag, / href="[^"]*"/)) {
            link = substr(tag, RSTART + 7, RLENGTH - 8)
            if (link ~ /^#/)
                links[substr(link, 2)] = 1
            else if (link !~ /^[A-Za-z0-9_.-]*$/)
                fail("a link leads elsewhere: " link)
        }
        if (tag ~ / (src|srcset|action|xlink:href)=/ || name == "link" ||
            name == "iframe" || name == "img")
            fail("something else is loaded: <" tag ">")
        if (name == "style" && $0 ~ /url\(|@import/)
            fail("the style sheet loads something")
    }
    END {
        if (bad)
            exit 1
        if (depth)
            fail("<" open[depth] "> is not closed")
        for (id in links)
            if (!(id in ids))
                fail("the link #" id " leads nowhere")
        if (!("graph" in ids) && page !~ /index.html$/)
            fail("there is no graph")
    }' "$1" || exit 1
}

# The checks themselves notice what is wrong.
must_fail()
{
    printf '%s' "$2" >"$folder/wrong.html"
    (check_page "$folder/wrong.html") >/dev/null && fail "not noticed: $1"
}
good='<p id="graph"></p>'
must_fail "an open element" "$good<p><b></p>"
must_fail "two equal ids" "$good$good"
must_fail "a broken link" "$good<a href=\"#none\"></a>"
must_fail "a link to the network" "$good<a href=\"http://example.org\"></a>"
must_fail "an image" "$good<img src=\"x.png\">"

# run EXAMPLE [OPTION...]: its output is as expected; its pages are in $folder.
run()
{
    example=$1
    shift
    rm -rf "${folder:?}/pages"
    "$inspect" -o "$folder/pages" "$@" "examples/$example" \
        >"$folder/stdout" 2>"$folder/stderr" ||
        fail "examples/$example fails: $(cat "$folder/stderr")"
    n=$(wc -l <"$srcdir/examples/$example.expected")
    head -n "$n" "$folder/stdout" |
        cmp -s - "$srcdir/examples/$example.expected" ||
        fail "examples/$example: its output has changed"
    grep -q "^index: $folder/pages/index.html" "$folder/stdout" ||
        fail "$inspect makes no index: $(cat "$folder/stdout")"
    for file in "$folder"/pages/*.html; do
        check_page "$file"
    done
}

run newton
page=$folder/pages/find_roots_0.html
test -f "$page" || fail "there is no $page: $(ls "$folder/pages")"
grep -q '^ *[0-9.]* [num]*s .*find_roots_0.html  find_roots, trace 0' \
    "$folder/stdout" || fail "the list lacks the time: $(cat "$folder/stdout")"
grep -q 'There is no profile' "$page" && fail "the page has no profile"
grep -q '<code>.*tg_.*(.*</code>' "$page" || fail "the page has no source"
test -s "$folder/pages/profile.txt" || fail "there is no profile.txt"

run newton --no-profile
grep -q 'There is no profile' "$page" || fail "--no-profile has no effect"
"$inspect" --list -o "$folder/pages" | grep -q 'find_roots, trace 0' ||
    fail "--list finds nothing"

TGJIT_JIT=off run newton
grep -q 'Calls are interpreted: the option jit' "$page" ||
    fail "the page does not say why it is interpreted"
grep -q '(interpreted)' "$folder/stdout" || fail "the list does not say so"

run digits_mlp
run epoch

# -- Failures ----------------------------------------------------------------

"$inspect" -o "$folder/pages" ./no-such-program 2>"$folder/stderr"
test $? = 127 || fail "a missing program: status is not 127"
"$inspect" -o "$folder/pages" sh -c 'exit 3' >/dev/null
test $? = 3 || fail "the status of the program is lost"
# shellcheck disable=SC2016
"$inspect" -o "$folder/pages" sh -c 'kill -TERM $$' >/dev/null 2>&1
test $? = 143 || fail "the signal of the program is lost"
"$inspect" >/dev/null 2>&1
test $? = 2 || fail "a missing program name: status is not 2"
"$inspect" --list -o "$folder/none" >/dev/null 2>&1
test $? = 1 || fail "a missing directory: status is not 1"

TGJIT_INSPECT=$folder/none/at/all examples/newton >/dev/null \
    2>"$folder/stderr" || fail "a directory that cannot be created is an error"
grep -q "TGJIT_INSPECT: .*cannot create $folder/none/at/all" "$folder/stderr" ||
    fail "no warning about TGJIT_INSPECT: $(cat "$folder/stderr")"

# -- Browser -----------------------------------------------------------------

browser=$(command -v chromium || command -v chromium-browser ||
    command -v google-chrome) || {
    echo "no Chromium: its part is skipped"
    exit 0
}
run newton
# Without a sandbox, which containers do not have; the page is our own.
HOME=$folder "$browser" --headless=new --no-sandbox --disable-gpu \
    --dump-dom "file://$page" >"$folder/dom" 2>/dev/null || {
    echo "Chromium does not start: its part is skipped"
    exit 0
}
kernels=$(sed -n 's/.*name="tgjit-kernels" content="\([0-9]*\)".*/\1/p' "$page")
seen=$(grep -o '<section class="kernel c[0-9]*" id="k[0-9]*"' "$folder/dom" |
    wc -l)
test "$kernels" = "$seen" ||
    fail "Chromium sees $seen kernels, the page has $kernels"
grep -o ' id="[^"]*"' "$page" | sort >"$folder/ids"
grep -o ' id="[^"]*"' "$folder/dom" | sort | cmp -s - "$folder/ids" ||
    fail "Chromium sees other elements than the page has"
