#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Wrong uses of the macros do not compile, and the compiler says why: in a few
# lines, with the message of the library. Right uses compile without warnings in
# every mode, also with -Wpedantic, from a system directory or not.

out=check-misuse.out
trap 'rm -f "$out" check-misuse.o' EXIT
failed=0

# program DECLARATION STATEMENT: a function with things to misuse.
program()
{
    cat <<END
#include <tgjit.h>
struct point { int x, y; };
$1
tg_status use(tg_function *f, tg_tensor *x, tg_trace *t, tg_value v);
tg_status use(tg_function *f, tg_tensor *x, tg_trace *t, tg_value v)
{
    struct point p = {1, 2};
    tg_tensor *y = NULL;
    double d = 0;
    (void)f, (void)x, (void)t, (void)v, (void)p, (void)y, (void)d;
    $2;
    return TG_OK;
}
END
}

# rejects LINES MESSAGE DECLARATION STATEMENT: no compiler accepts it, and each
# says MESSAGE in at most so many LINES.
rejects()
{
    limit=$1
    shift
    for compiler in "$CC" $clang; do
        for flag in -I -isystem; do
            if program "$2" "$3" | $compiler -std=gnu11 -Wall -Wextra \
                $flag"$srcdir/include" -x c -c -o check-misuse.o - \
                >"$out" 2>&1; then
                echo "$compiler $flag accepts: $2 $3"
                failed=1
            fi
            n=$(wc -l <"$out")
            if test "$n" -gt "$limit" || ! grep -q "$1" "$out"; then
                echo "$compiler $flag: $2 $3: $n lines, wanted at most $limit" \
                    "with '$1':"
                cat "$out"
                failed=1
            fi
        done
    done
}

# rejects_cxx LINES MESSAGE STATEMENT: the same in C++17.
rejects_cxx()
{
    for compiler in "$CXX17" "$clangxx"; do
        test -n "$compiler" || continue
        if program '' "$3" | $compiler -std=c++17 -Wall -Wextra \
            -I"$srcdir/include" -x c++ -c -o check-misuse.o - >"$out" 2>&1; then
            echo "$compiler accepts: $3"
            failed=1
        fi
        n=$(wc -l <"$out")
        if test "$n" -gt "$1" || ! grep -q "$2" "$out"; then
            echo "$compiler: $3: $n lines, wanted at most $1 with '$2':"
            cat "$out"
            failed=1
        fi
    done
}

# accepts DECLARATION STATEMENT: without a warning.
accepts()
{
    for compiler in "$CC" $clang; do
        for std in c11 gnu11 gnu17 gnu2x; do
            for flag in -I -isystem; do
                program "$1" "$2" | $compiler -std=$std -Wall -Wextra \
                    $pedantic -Wstrict-prototypes -Werror \
                    $flag"$srcdir/include" -x c -fsyntax-only - || {
                    echo "$compiler -std=$std $flag rejects: $1 $2"
                    failed=1
                }
            done
        done
    done
}

# A second compiler, if there is one. CC may be clang itself; no harm is done.
clang=
clangxx=
for suffix in -19 ''; do
    if test -z "$clang" && command -v clang$suffix >/dev/null 2>&1; then
        clang=clang$suffix
    fi
    if test -z "$clangxx" && command -v clang++$suffix >/dev/null 2>&1; then
        clangxx=clang++$suffix
    fi
done

operand='not an operand: pass a tg_value, tg_variable \*, tg_tensor \*'
slot='not a result slot: pass the address of a tg_tensor \*'
rejects 12 "$operand" '' 'tg_call(f, TG_ARGS(p), TG_RESULTS(&y))'
rejects 12 "$operand" '' 'tg_call(f, TG_ARGS(&p), TG_RESULTS(&y))'
rejects 12 "$operand" '' 'tg_call(f, TG_ARGS(&x), TG_RESULTS(&y))'
rejects 12 "$operand" '' 'tg_call(f, TG_ARGS(x, 1, f), TG_RESULTS(&y))'
rejects 12 "$operand" '' 'tg_return(t, p)'
rejects 12 "$operand" '' 'tg_print(t, "%v", &d)'
rejects 16 "$operand" '' 'v = tg_neg(p)'
rejects 12 "$slot" '' 'tg_call(f, TG_ARGS(x), TG_RESULTS(y))'
rejects 12 "$slot" '' 'tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &p))'
rejects 12 "$slot" '' 'tg_call(f, TG_ARGS(x), TG_RESULTS(d))'
rejects 12 "$slot" '' 'tg_call(f, TG_ARGS(x), TG_RESULTS(&v))'
lists='not lists of arguments and results: pass TG_ARGS(...), TG_RESULTS(...)'
rejects 14 "$lists" '' 'tg_call(f)'
rejects 14 "$lists" '' 'tg_call(f, x, TG_RESULTS(&y))'
rejects 14 "$lists" '' 'tg_call(f, x, x, TG_RESULTS(&y))'
rejects 14 "$lists" '' 'tg_call(f, p, TG_RESULTS(&y))'
rejects 14 "$lists" '' 'tg_call(f, TG_ARGS(x), &y)'
rejects 14 "$lists" '' 'tg_call(f, x, &y)'
rejects 14 "$lists" '' 'tg_call(f, 1, 2.5, x, v, TG_RESULTS(&y))'
rejects 14 "$lists" '' 'tg_bound *b = tg_bind(f, x, TG_RESULTS(&y)); (void)b'
args='not a list of arguments: pass TG_ARGS(...)'
rejects 14 "$args" '' 'tg_while(0, 0, 0, v, &v, 1)'
rejects 14 "$args" '' 'tg_cond(v, 0, 0, 0, x, v, &v, 1)'
rejects 14 "$args" '' 'tg_apply(f, x, &v, 1)'
rejects 14 "$args" '' 'tg_dataset *e = tg_dataset_from(0, x); (void)e'
results='not a list of results: pass TG_RESULTS(...)'
rejects 14 "$results" '' 'tg_iterator *it = NULL; tg_next(it, &y)'
rejects_cxx 12 'tg_ins' 'tg_call(f, x, TG_RESULTS(&y))'
rejects_cxx 12 'tg_outs' 'tg_call(f, TG_ARGS(x), &y)'
rejects_cxx 12 'tg_ins' 'tg_while(0, 0, 0, v, &v, 1)'
rejects 30 'bundle crowd has more than 32 members' \
    'TG_DEFINE_BUNDLE(crowd, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12,
     a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27,
     a28, a29, a30, a31, a32, a33)' ''
rejects 30 'unknown_type' 'TG_DEFINE_BUNDLE(model, (unknown, layer))' ''

pedantic=-Wpedantic
accepts '' 'tg_call(f, TG_ARGS(), TG_RESULTS())'
accepts '' 'tg_call(f, TG_ARGS(x, 1, 2.5, v), TG_RESULTS(&y, &d, NULL))'
accepts '' 'tg_call(f, TG_ARGS((const tg_tensor *)x), TG_RESULTS(TG_FRESH(&y)))'
accepts '' 'tg_call(f, NULL, 0, NULL, 0)'
accepts '' 'tg_operand o[2]; tg_result r[1]; tg_call(f, o, 2, r, 1)'
accepts '' 'v = tg_reshape(v, TG_DIMS())'
accepts 'TG_DEFINE_BUNDLE(layer, weights, bias)
         TG_DEFINE_BUNDLE(model, (layer, first), (layer, second), scale)' \
    'model m; (void)m'
# An empty list after a first argument is GNU C, and C23.
pedantic=
accepts '' 'tg_return(t)'
accepts '' 'tg_tensor_get(x, &d)'
exit $failed
