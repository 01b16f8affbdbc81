#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The version of configure.ac is the first one in NEWS and debian/changelog, and
# that of CITATION.cff and of the manual pages. The number of the soname is the one
# in the version scripts of the linker and in debian/.

failed=0

# same WHAT TEXT
same()
{
    test "$2" = "$PACKAGE_VERSION" || {
        echo "$1: version '$2', but configure.ac has $PACKAGE_VERSION"
        failed=1
    }
}
cd "$srcdir" || exit 1
same NEWS "$(sed -n 's/^libtgjit \([0-9.]*\) .*/\1/p' NEWS | sed 1q)"
same CITATION.cff "$(sed -n 's/^version: //p' CITATION.cff)"
for page in docs/man/*.[1-9]; do
    same "$page" "$(sed -n 's/^\.TH .*"libtgjit \([0-9.]*\)".*/\1/p' "$page")"
done

# has TEXT FILE...
has()
{
    text=$1
    shift
    for file in "$@"; do
        grep -q -F -e "$text" "$file" || {
            echo "$file: no $text"
            failed=1
        }
    done
}
so=$TGJIT_SOVERSION
has "TGJIT_$so {" src/libtgjit.map
has "TGJIT_$so {" src/extension.map
has "tgjit-$so/libtgjit-llvm.so" docs/man/tgjit.7

# Not in the source package.
if test -d debian; then
    same debian/changelog \
        "$(sed -n 's/^tgjit (\([0-9.]*\)-.*/\1/p' debian/changelog | sed 1q)"
    has "Package: libtgjit$so" debian/control
    has "libtgjit.so.$so*" "debian/libtgjit$so.install"
    has "tgjit-$so/libtgjit-llvm.so" debian/libtgjit-llvm.install
fi
exit $failed
