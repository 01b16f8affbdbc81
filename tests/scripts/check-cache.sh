#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests the commands of tgjit-cache on a hand-made directory, and its rejection
# of invalid command lines and directories. test_disk_cache.c tests the format
# of entries.

cache=src/tools/tgjit-cache
tmp=$PWD/check-cache.tmp
out=$tmp/out
trap 'rm -rf "$tmp"' EXIT
rm -rf "$tmp"
mkdir -m 700 "$tmp" "$tmp/store" || exit 1
failed=0

fail()
{
    echo "$*"
    failed=1
}

# expect STATUS ARGUMENT...: tgjit-cache ARGUMENT... exits with STATUS.
expect()
{
    wanted=$1
    shift
    $cache "$@" >"$out" 2>&1
    status=$?
    test $status = "$wanted" || {
        fail "$*: status $status, not $wanted"
        cat "$out"
    }
}

says()
{
    grep -q "$1" "$out" || {
        fail "does not say '$1':"
        cat "$out"
    }
}

# -- Commands ----------------------------------------------------------------

unset TGJIT_CACHE_DIR XDG_CACHE_HOME
HOME=$tmp
export HOME
expect 0 size
says '^0 entries, 0 bytes$'
test ! -e "$tmp/.cache" || fail "looking makes a directory"

entry=$tmp/store/0123456789abcdef0123456789abcdef.tgjit
echo 'not an entry' >"$entry"
echo 'not ours' >"$tmp/store/notes"
expect 0 --dir="$tmp/store" size
says '^1 entry, 13 bytes$'
expect 0 list --dir="$tmp/store"
says "^....-..-.. ..:..  *13  ${entry##*/}"
test "$(wc -l <"$out")" = 1 || fail "list shows more than entries"
expect 1 --dir="$tmp/store" verify
says '^0 good, 1 bad$'
test -e "$entry" || fail "verify removes what it should not"
expect 0 --dir="$tmp/store" verify --delete
says '^0 good, 1 bad (removed)$'
test ! -e "$entry" || fail "verify --delete leaves it"

echo 'not an entry' >"$entry"
TGJIT_CACHE_DIR=$tmp/store
export TGJIT_CACHE_DIR
expect 0 clear
test ! -e "$entry" || fail "clear leaves it"
test -e "$tmp/store/notes" || fail "clear removes other files"
expect 0 verify
says '^0 good, 0 bad$'

# -- Rejected input ----------------------------------------------------------

chmod g+w "$tmp/store"
for command in list verify size clear; do
    expect 1 $command
    says 'tgjit-cache: .*writable by other users'
done
ln -s store "$tmp/link"
chmod g-w "$tmp/store"
expect 1 --dir="$tmp/link" size
says 'symbolic link'
expect 1 --dir="$tmp/link/" size
for wrong in '' nonsense 'size list' 'size --delete' '--none-such size' --dir; do
    expect 2 $wrong
done
expect 2
says 'tgjit-cache: no command'
expect 2 nonsense
says "unknown command 'nonsense'; use list, verify, size or clear"
expect 2 size list
says "unexpected argument 'list' after 'size'"
expect 2 size --delete
says 'delete applies to verify, not to size'

expect 0 --help
says '^Usage: tgjit-cache'
expect 0 --version
says "^tgjit-cache $PACKAGE_VERSION\$"
exit $failed
