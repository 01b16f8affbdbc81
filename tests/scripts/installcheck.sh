#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make installcheck: programs in C and C++ find the installed library through
# pkg-config, with make, CMake and Meson, and compile with it. Installed examples
# build, links of installed documentation lead to installed files, manual pages are
# found. Set by the rule: PKG_CONFIG_PATH, LD_LIBRARY_PATH, examples (the installed
# folder), docs (that of the documentation), man (that of manual pages), module (the
# plugin), moduledir (its folder), staged (DESTDIR, or nothing).

scratch=installcheck.tmp
rm -rf "$scratch"
trap 'rm -rf "$scratch"' EXIT
cp -R "$examples" "$scratch" && chmod -R u+w "$scratch" || exit 1
TGJIT_CACHE=off
export TGJIT_CACHE
unset TGJIT_MODULE_DIR
# Paths in the library and in .pc files are those after a move out of DESTDIR. Until
# then the plugin is found by a variable, and .pc files are changed.
if test -n "$staged"; then
    TGJIT_MODULE_DIR=$moduledir
    export TGJIT_MODULE_DIR
    mkdir "$scratch/pkgconfig" || exit 1
    for file in "${PKG_CONFIG_PATH%%:*}"/tgjit*.pc; do
        sed -E "s#^([a-z_]*prefix|[a-z]*dir)=/#\\1=$staged/#" "$file" \
            >"$scratch/pkgconfig/${file##*/}" || exit 1
    done
    PKG_CONFIG_PATH=$PWD/$scratch/pkgconfig:${PKG_CONFIG_PATH#*:}
    export PKG_CONFIG_PATH
fi
failed=0

# says COMMAND...: prints 42.
says()
{
    test "$("$@")" = 42 || {
        echo "installcheck: $* does not print 42"
        failed=1
    }
}

# Where there is a code generator, it is found.
test -e "$module" || test -z "$module" || {
    echo "installcheck: $module is not installed"
    failed=1
}
mode=off
test -z "$module" || mode=required

make -C "$scratch" -s build_systems/hello build_systems/hello_cxx tour cxx_tour \
    readme tutorial/1_compile cookbook/heat || failed=1
says env TGJIT_JIT=$mode "$scratch/build_systems/hello"
says env TGJIT_JIT=$mode "$scratch/build_systems/hello_cxx"
test "$("$scratch/readme")" = "[7 14]" || failed=1

systems=$scratch/build_systems
if command -v cmake >/dev/null; then
    cmake -S "$systems" -B "$systems/cmake" >/dev/null &&
        cmake --build "$systems/cmake" >/dev/null || failed=1
    says "$systems/cmake/hello"
    says "$systems/cmake/hello_cxx"
else
    echo "installcheck: cmake is not installed"
fi
if command -v meson >/dev/null && command -v ninja >/dev/null; then
    meson setup "$systems/meson" "$systems" >/dev/null &&
        ninja -C "$systems/meson" >/dev/null || failed=1
    says "$systems/meson/hello"
    says "$systems/meson/hello_cxx"
else
    echo "installcheck: meson is not installed"
fi
# Links to parts of the source tree that are not installed stay as they are.
for page in "$docs"/*.md "$docs"/docs/*.md "$docs"/examples/*.md; do
    for link in $(grep -o '](\([^) ]*\))' "$page" | sed 's/^](//; s/)$//'); do
        case $link in
        http*:* | mailto:* | '#'*) continue ;;
        *.md | *.md'#'* | *examples/* | *.svg) ;;
        *) continue ;;
        esac
        test -e "${page%/*}/${link%%#*}" || {
            case $link in
            *README.md) continue ;; # of a folder of sources
            esac
            echo "installcheck: $page: $link is not installed"
            failed=1
        }
    done
done
for page in man3/tg_call.3 man3/tgjit.3 man7/tgjit.7 man1/tgjit-bench.1; do
    test -e "$man/$page" || {
        echo "installcheck: $man/$page is not installed"
        failed=1
    }
done
test $failed = 0 && echo "installcheck: passed"
exit $failed
