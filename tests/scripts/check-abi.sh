#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The libraries have the binary interface of the last release, which tests/abi
# describes, or another soname; additions are allowed. check-abi.sh --update
# records the interface of this build.

recorded=$srcdir/tests/abi
libraries='libtgjit libtgjit-fftw libtgjit-lapack libtgjit-mpi libtgjit-onnx'
tmp=$PWD/check-abi.tmp
trap 'rm -rf "$tmp"' EXIT
rm -rf "$tmp"
mkdir "$tmp" || exit 1
LC_ALL=C
export LC_ALL
failed=0
checked=0

soname()
{
    ${READELF:-readelf} -dW "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]$/\1/p'
}

symbols()
{
    ${NM:-nm} -D --defined-only "$1" |
        awk '$2 != "A" { sub(/@@/, " "); print $3, $4 }' | sort
}

# Without types that only the sources declare.
types="--drop-private-types"

update()
{
    {
        echo "# $1 $PACKAGE_VERSION, $(soname "$2")"
        symbols "$2"
    } >"$recorded/$1.symbols"
    abidw $types --headers-dir "$srcdir/include" --exported-interfaces-only \
        --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed \
        --no-parameter-names --no-write-default-sizes "$2" |
        gzip -9n >"$recorded/$1.abi.gz"
}

for library in $libraries; do
    file=.libs/$library.so
    test -f $file || continue
    if test "$1" = --update; then
        update $library $file || exit 1
        continue
    fi
    checked=1
    old=$recorded/$library.symbols
    name=$(sed -n '1s/.* //p' "$old")
    symbols $file >"$tmp/symbols"
    sed 1d "$old" >"$tmp/old"
    comm -13 "$tmp/old" "$tmp/symbols" >"$tmp/added"
    comm -23 "$tmp/old" "$tmp/symbols" >"$tmp/removed"
    echo "$library: $(wc -l <"$tmp/added") symbols were added since" \
        "$(sed -n '1s/^[^ ]* [^ ]* \(.*\),.*/\1/p' "$old")"
    if test "$(soname $file)" != "$name"; then
        echo "$library: the soname is $(soname $file), it was $name"
        continue
    fi
    if test -s "$tmp/removed"; then
        echo "$library: removed:"
        cat "$tmp/removed"
        failed=1
    fi
    command -v abidiff >/dev/null || continue
    ${READELF:-readelf} -SW $file | grep -q debug_info || continue
    gzip -dc "$recorded/$library.abi.gz" >"$tmp/old.abi"
    abidiff $types --headers-dir2 "$srcdir/include" --no-added-syms \
        --suppressions "$recorded/accepted.suppr" "$tmp/old.abi" $file \
        >"$tmp/types" 2>&1 || {
        echo "$library: types have changed (tests/abi/README.md):"
        cat "$tmp/types"
        failed=1
    }
done
test "$1" = --update || test $checked = 1 || exit 77
exit $failed
