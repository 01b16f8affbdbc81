#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiled matrix products have the bits of interpreted ones: all forms that
# failed once, and a random sample.

test -e libtgjit-llvm.la || {
    echo "built without LLVM: nothing is compiled"
    exit 77
}
status=0
while read -r form sizes seed; do
    tests/random/sweep-matmul --form "$form" --sizes "$sizes" --seed "$seed" ||
        status=1
done <<END
f32,nn,single,spread_k,plain,result,mk,256,small 17,63,15,1,1 1
i64,nn,of_a,spread_k,plain,other_type,bmk,256,edges 17,63,15,1,1 1
f64,tt,of_b,spread_k,plain,result,none,256,bits 129,15,17,1,1 1
f32,nt,single,plain,plain,softmax,none,128,bits 7,129,513,1,1 1
END
test $status = 0 || exit $status

# Code instrumented for AddressSanitizer takes several times as long.
count=600
case $TGJIT_SANITIZE in
*address*) count=150 ;;
esac
tests/random/sweep-matmul --seed "${SEED-1}" --count "${COUNT-$count}" || exit
exec tests/random/sweep-matmul --epilogues --seed "${SEED-1}" \
    --count "${COUNT-$((count / 2))}"
