#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Each function that the library exports has a manual page, by the name under
# which programs call it; pages are complete and valid.

pages=docs/man3
failed=0

fail()
{
    echo "$*"
    failed=1
}

library=.libs/libtgjit.so
if test -f $library; then
    for name in $(${NM:-nm} -D --defined-only $library |
        awk '$3 ~ /^tg_/ { sub(/@.*/, "", $3); sub(/_at$/, "", $3); print $3 }'
    ); do
        test -f "$pages/$name.3" || fail "$name has no manual page"
    done
fi

for link in "$pages"/tg_*.3; do
    page=$(sed -n 's|^\.so man3/||p' "$link")
    test -f "$pages/$page" || fail "$link: there is no page '$page'"
done

# Code of headers that belongs on no page.
if grep -n 'TG_API\|__cplusplus\|TG_HERE\|pragma\|tg_site site)' \
    "$pages"/tgjit-*.3; then
    fail "a page has the lines above"
fi

for page in "$pages"/tgjit-*.3; do
    grep -q '^\.SH NAME' "$page" || fail "$page has no name"
    grep -q '^\.[ET][XP]' "$page" || fail "$page has no declarations"
    if command -v groff >/dev/null; then
        messages=$(groff -K utf8 -man -ww -z -T utf8 "$page" 2>&1)
        test -z "$messages" || fail "$page: $messages"
    fi
done
exit $failed
