#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make installcheck: programs find the installed library through pkg-config, with
# make, CMake and Meson, and compile with it. Installed examples build. Set by the
# rule: PKG_CONFIG_PATH, LD_LIBRARY_PATH, examples (the installed folder).

scratch=installcheck.tmp
rm -rf "$scratch"
trap 'rm -rf "$scratch"' EXIT
cp -R "$examples" "$scratch" && chmod -R u+w "$scratch" || exit 1
TGJIT_CACHE=off
export TGJIT_CACHE
unset TGJIT_MODULE_DIR
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

make -C "$scratch" -s build_systems/hello tour readme tutorial/1_compile \
    cookbook/heat || failed=1
says env TGJIT_JIT=$mode "$scratch/build_systems/hello"
test "$("$scratch/readme")" = "[7 14]" || failed=1

systems=$scratch/build_systems
if command -v cmake >/dev/null; then
    cmake -S "$systems" -B "$systems/cmake" >/dev/null &&
        cmake --build "$systems/cmake" >/dev/null || failed=1
    says "$systems/cmake/hello"
else
    echo "installcheck: cmake is not installed"
fi
if command -v meson >/dev/null && command -v ninja >/dev/null; then
    meson setup "$systems/meson" "$systems" >/dev/null &&
        ninja -C "$systems/meson" >/dev/null || failed=1
    says "$systems/meson/hello"
else
    echo "installcheck: meson is not installed"
fi
test $failed = 0 && echo "installcheck: passed"
exit $failed
