#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Operations nested 40 deep compile. A macro that expands its argument twice
# would double the text at every level, and the compile would not finish. It
# normally takes a fraction of a second; the timeout is 20 seconds.

include=$srcdir/include

# nested OP-WITH-ARGUMENT DEPTH: @ stands for the inner operation.
nested()
{
    ${AWK:-awk} -v op="$1" -v depth="$2" 'BEGIN {
        text = "x"
        while (depth-- > 0) {
            whole = op
            i = index(whole, "@")
            text = substr(whole, 1, i - 1) text substr(whole, i + 1)
        }
        print text
    }'
}

# compile COMPILER-AND-FLAGS...: compiles standard input.
compile()
{
    timeout 20 "$@" -I"$include" -fsyntax-only -Werror - || {
        echo "failed, with exit status $? (124: it took too long): $op: $*"
        failed=1
    }
}

failed=0
for op in 'tg_neg(@)' 'tg_add(@, 1)' 'tg_add(1, @)' 'tg_fma(2, @, x)' \
    'tg_select(true, 0, @)' 'tg_sum(@, TG_ALL_AXES)' \
    'tg_reshape(@, TG_DIMS(-1))' 'tg_matmul(x, @)' 'tg_concat(0, x, @)' \
    'tg_einsum("i,i->i", x, @)' \
    'tg_dot_general(@, x, (tg_dot_axes){.contract_a = TG_AXES(0)})' \
    'tg_gather(x, @, 0)' 'tg_pad(x, 0, 1, 1, @)' 'tg_softmax(@, 0)' \
    'tg_layer_norm(@, 1, 0, 1e-5)' 'tg_assign(x, @)' \
    'tg_random_uniform(@, TG_F32, TG_DIMS(2))' \
    'tg_slice_axes(@, TG_DIMS(0), TG_DIMS(1))' \
    'tg_pad_axes(@, TG_DIMS(1), TG_DIMS(1), 0)' \
    'tg_dynamic_update_slice_axes(x, @, TG_ARGS(0, 1))'; do
    compile $CC -std=gnu11 -x c <<END
#include <tgjit.h>
tg_value deep(tg_value x);
tg_value deep(tg_value x)
{
    return $(nested "$op" 40);
}
END
done

# The same for C++, where shapes are brace lists.
for op in 'tg_add(@, 1)' 'tg_fma(2, @, x)' 'tg_reshape(@, {-1})' \
    'tg_concat(0, {x, @})' 'tg_einsum("i,i->i", {x, @})' \
    'tg_dot_general(@, x, {TG_AXES(0), TG_AXES(0), {}, {}})'; do
    test -n "$CXX17" || continue
    compile $CXX17 -std=c++17 -x c++ <<END
#include <tgjit.h>
tg_value deep(tg_value x);
tg_value deep(tg_value x)
{
    return $(nested "$op" 40);
}
END
done
exit $failed
