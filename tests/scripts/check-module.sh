#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Programs in the build tree find the plugin without an environment variable:
# beside the library, or beside a program that links the library statically. The
# plugin is never loaded from a world-writable directory.

grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || {
    echo "there is no code generator in this build"
    exit 77
}
tmp=$PWD/check-module.tmp
trap 'rm -rf "$tmp"' EXIT
rm -rf "$tmp"
mkdir "$tmp" "$tmp/library" "$tmp/program" || exit 1
unset TGJIT_MODULE_DIR
TGJIT_JIT=required
TGJIT_CACHE=off
export TGJIT_JIT TGJIT_CACHE
failed=0
installed=no

# finds yes|no WHAT COMMAND...: COMMAND compiles, or does not. "no" cannot be
# tested if a plugin is installed.
finds()
{
    wanted=$1 what=$2
    shift 2
    test $wanted = no && test $installed = yes && return
    "$@" >"$tmp/out" 2>&1 && found=yes || found=no
    test $found = "$wanted" || {
        echo "$what: found: $found"
        cat "$tmp/out"
        failed=1
    }
}

module=$PWD/.libs/libtgjit-llvm.so

# -- The shared library ------------------------------------------------------

finds yes "a program of the build tree" examples/newton
(cd / && "$OLDPWD/examples/newton") >"$tmp/out" 2>&1 || {
    echo "not in another folder:"
    cat "$tmp/out"
    failed=1
}

cp .libs/libtgjit.so.0 "$tmp/library/" || exit 1
with_copy="env LD_LIBRARY_PATH=$tmp/library examples/newton"
$with_copy >"$tmp/out" 2>&1 && installed=yes
ln -s "$module" "$tmp/library/"
finds yes "a library beside the module" $with_copy
env TGJIT_MODULE_DIR=/nonexistent $with_copy >"$tmp/out" 2>&1 && {
    echo "the variable is not the only place"
    failed=1
}
chmod 1777 "$tmp/library"
finds no "a folder that all may write to" $with_copy

# -- Statically linked programs ----------------------------------------------

run=--filter=plugin/describes_llvm_and_the_host
if test -x tests/codegen/test_plugin; then
    finds yes "a test program" tests/codegen/test_plugin $run
    cp tests/codegen/test_plugin "$tmp/program/" || exit 1
    finds no "a program without the module" "$tmp/program/test_plugin" $run
    ln -s "$module" "$tmp/program/"
    finds yes "a program beside the module" "$tmp/program/test_plugin" $run
    cd "$tmp/program" || exit 1
    finds yes "a relative name" ./test_plugin $run
    chmod 1777 .
    finds no "a program all may write beside" ./test_plugin $run
fi
exit $failed
