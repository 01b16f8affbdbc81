#!/bin/sh
# SPDX-License-Identifier: MIT
#
# TGJIT_DUMP=repro writes programs that compile without warnings and report
# that interpreter and compiled code agree; the examples supply the calls.
# Tensors end at guard pages, so that an access out of bounds crashes.

grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || exit 77
folder=$PWD/check-repro.tmp
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir "$folder" || exit 1

# build_program PROGRAM [FLAG...]
build_program()
{
    program=$1
    shift
    ./libtool --silent --tag=CC --mode=link ${CC-cc} -std=gnu11 -Wall -Wextra \
        -Werror -I"$srcdir/include" $TGJIT_SANITIZE "$@" "$program" \
        -o "$folder/program" libtgjit.la
}

for example in hot_loop from_tensorflow/01_shared_counter \
    from_tensorflow/02_bundle_signature from_tensorflow/03_batches; do
    TGJIT_DUMP=repro TGJIT_DUMP_DIR=$folder examples/$example \
        >/dev/null 2>&1 || exit 1
done
# Convolutions, transposes, poolings and windows, strided and with gradients.
for number in 1 9 18 19 32 34 81; do
    mkdir "$folder/$number" || exit 1
    TGJIT_DUMP=repro TGJIT_DUMP_DIR=$folder/$number \
        tests/random/sweep-conv --only $number >/dev/null 2>&1 || exit 1
done

n=0
for program in "$folder"/*.repro.c "$folder"/*/*.repro.c; do
    build_program "$program" || exit 1
    answer=$("$folder/program" 2>&1) || exit 1
    case $answer in
    *equal) n=$((n + 1)) ;;
    *)
        echo "$program: $answer"
        exit 1
        ;;
    esac
done
echo "$n calls"
test "$n" -ge 13 || exit 1

cat >"$folder/beside.h" <<'EOF'
#include <tgjit.h>
/* As tg_tensor_wrap, but reads one byte beside the memory. */
static inline tg_tensor *wrap(tg_context *ctx, void *data, tg_dtype dtype,
                              int rank, const int64_t *dims)
{
    tg_tensor *x = tg_tensor_wrap(ctx, data, dtype, rank, dims);
    const char *byte = data;
    (void)*(volatile const char *)(byte + (BESIDE < 0 ? -1L
                                                  : (long)tg_tensor_bytes(x)));
    return x;
}
#define tg_tensor_wrap wrap
EOF
program=$(grep -l tg_tensor_wrap "$folder"/*.repro.c | head -n 1)
for beside in -1 1; do
    build_program "$program" "-DBESIDE=$beside" -include "$folder/beside.h" ||
        exit 1
    if "$folder/program" 2>&1 | grep 'equal\|different'; then
        echo "$program: a byte beside a tensor was read"
        exit 1
    fi
done
