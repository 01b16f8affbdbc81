#!/bin/sh
# SPDX-License-Identifier: MIT
#
# docs/TUTORIAL.md by copy and paste: each program is saved under the name above
# it, the commands below it run, and print what the page says. pkg-config finds the
# library in the build tree.

page=$srcdir/docs/TUTORIAL.md
command -v pkg-config >/dev/null && test -f .libs/libtgjit.so || exit 77
grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || {
    echo "there is no code generator in this build"
    exit 77
}
top=$PWD
match=$(cd "$srcdir" && pwd)/tests/scripts/match_output.awk
scratch=$PWD/check-tutorial.tmp
rm -rf "$scratch"
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch" "$scratch/bin" || exit 1

# Files NAME.c, NAME.sh and NAME.want for each step; the names in `steps'.
${AWK:-awk} -v folder="$scratch" '
    /^```$/ { out = "" }
    out { print >out }
    /^\[.*\]\(\.\.\/examples\/tutorial\/.*\.c\)$/ {
        name = $0
        sub(/^\[/, "", name)
        sub(/\.c\].*/, "", name)
        print name >(folder "/steps")
    }
    /^```c$/ && name { out = folder "/" name ".c" }
    /^```sh$/ && name { out = folder "/" name ".sh" }
    /^```text$/ && name {
        out = folder "/" name ".want"
        name = ""
    }' "$page"
test "$(wc -l <"$scratch/steps")" -ge 9 || {
    echo "$page has fewer than 9 steps"
    exit 1
}

# What an installation would provide.
cp "$srcdir/examples/check.h" "$scratch" || exit 1
printf '#!/bin/sh\nexec %s "$@"\n' "$CC $TGJIT_SANITIZE" >"$scratch/bin/cc"
chmod +x "$scratch/bin/cc"
include=$(cd "$srcdir/include" && pwd)
cat >"$scratch/tgjit.pc" <<END
Name: tgjit
Description: of the build tree
Version: $PACKAGE_VERSION
Cflags: -I$include
Libs: -L$top/.libs -ltgjit
END
PATH=$scratch/bin:$PATH
PKG_CONFIG_PATH=$scratch
LD_LIBRARY_PATH=$top/.libs:$LD_LIBRARY_PATH
export PATH PKG_CONFIG_PATH LD_LIBRARY_PATH

cd "$scratch" || exit 1
failed=0
while read -r name; do
    sh -e ./"$name.sh" >"$name.out" 2>"$name.err" || {
        echo "$name: its commands fail:"
        cat "$name.sh" "$name.out" "$name.err"
        failed=1
        continue
    }
    ${AWK:-awk} -v name="$name" -f "$match" "$name.want" "$name.out" || failed=1
done <steps
exit $failed
