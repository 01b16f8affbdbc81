#!/bin/sh
# SPDX-License-Identifier: MIT
#
# README.md, docs/ and the pages of folders: links lead to files and headings that
# exist, and what looks like an identifier of the library is declared in a header.
# Manual pages refer to pages that exist.

bad=0
pages=$(cd "$srcdir" && ls *.md docs/*.md */README.md */*/README.md \
    */*/*/README.md)

# Headings of a page as the anchors of links.
anchors()
{
    sed -n 's/^##* //p' "$1" | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

for page in $pages; do
    folder=$srcdir/$(dirname "$page")
    # Outside of code blocks.
    for link in $(${AWK:-awk} '/^ *```/ { code = !code; next } !code' \
        "$srcdir/$page" | grep -o '](\([^) ]*\))' | sed 's/^](//; s/)$//'); do
        case $link in
        http://* | https://* | mailto:*) continue ;;
        esac
        file=${link%%#*}
        target=$srcdir/$page
        test -z "$file" || target=$folder/$file
        if ! test -e "$target"; then
            echo "$page: $link: no such file"
            bad=1
        elif test "$file" != "$link"; then
            anchors "$target" | grep -qx -e "${link#*#}" || {
                echo "$page: $link: no such heading"
                bad=1
            }
        fi
    done
done

# NAME(SECTION) of the library; the pages of section 3 are written in docs/man3.
for page in "$srcdir"/docs/man/*.[1-9]; do
    for name in $(sed -n 's/\\-/-/g; s/^\.BR \([-a-z_]*\) (\([0-9]\)).*/\1.\2/p' \
        "$page" | grep '^t[gj]' | sort -u); do
        test -e "$srcdir/docs/man/$name" || test -e "docs/man3/$name" ||
            test ! -d docs/man3 || {
            echo "$page: there is no page $name"
            bad=1
        }
    done
done

# Environment variables that the libraries read are in tgjit(7).
for name in $(cd "$srcdir" && find src jit mpi -name '*.c' \
    -exec grep -ho '"TGJIT_[A-Z_]*"' {} + | tr -d '"' | sort -u); do
    grep -q -e "^\.BR* $name\$" "$srcdir/docs/man/tgjit.7" || {
        echo "docs/man/tgjit.7: $name is missing"
        bad=1
    }
done

# Names in headers, and names that their macros declare.
{
    cat "$srcdir"/include/tgjit/*.h
    echo '#include <tgjit.h>' | $CC -std=gnu11 -I"$srcdir/include" -E -
} | grep -o '[tT][gG]_[A-Za-z0-9_]*' | sort -u >check-docs.tmp
for page in $pages; do
    # Its names are patterns.
    test "$page" != docs/STYLE.md || continue
    for name in $(grep -o '`tg_[a-z0-9_]*[(`,]' "$srcdir/$page" |
        sed 's/^`//; s/[(`,]$//' | sort -u) \
        $(grep -o '`TG_[A-Z0-9_]*[(`,]' "$srcdir/$page" |
            sed 's/^`//; s/[(`,]$//' | sort -u); do
        grep -qx -e "$name" -e "${name}_at" check-docs.tmp ||
            case $name in
            tg_ | *_) ;;
            *)
                echo "$page: $name is not declared in a header"
                bad=1
                ;;
            esac
    done
done
rm -f check-docs.tmp
exit $bad
