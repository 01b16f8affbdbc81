/* SPDX-License-Identifier: MIT */
/*
 * map.h - applies a macro to each of up to 32 arguments: TG_MAP(m, a, b) is
 * m(a), m(b). One flat macro per count: the expansion is linear in the text of
 * the arguments, and an error in one of them is not reported through a chain
 * of nested expansions. TG_EACH(m, x, a, b) is m(x, a) m(x, b). For the other
 * headers; not part of the API.
 *
 * __VA_OPT__ is of C23 and C++20. gcc 8 and clang 12 have it in all modes, but
 * warn about it in older ones with -Wpedantic; not in a system header.
 */
#ifndef TGJIT_MAP_H
#define TGJIT_MAP_H

#pragma GCC system_header

#define TG_MAP_CAT_(a, b) a##b
#define TG_MAP_CAT(a, b) TG_MAP_CAT_(a, b)

/* How many arguments: 0 to 32. */
#define TG_COUNT(...) \
    TG_COUNT_(__VA_ARGS__ __VA_OPT__(, ) 32, 31, 30, 29, 28, 27, 26, 25, 24, \
              23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, \
              6, 5, 4, 3, 2, 1, 0, )
#define TG_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, \
                  a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, \
                  a27, a28, a29, a30, a31, a32, n, ...) \
    n

/* The address of an array of m(a), m(b), ...; null without arguments. */
#define TG_ARRAY(type, m, ...) \
    ((type const *)(__VA_OPT__((type const[]){TG_MAP(m, __VA_ARGS__)} +) 0))
#define TG_ITSELF(x) x
/* The number of its elements with TG_ITSELF. Unlike TG_COUNT, it does not count
   commas inside braces, which the preprocessor takes for separators. */
#define TG_LENGTH(type, ...) \
    (0 __VA_OPT__(+sizeof((type const[]){__VA_ARGS__}) / sizeof(type)))

#define TG_MAP(m, ...) \
    TG_MAP_CAT(TG_MAP_, TG_COUNT(__VA_ARGS__))(m __VA_OPT__(, ) __VA_ARGS__)
#define TG_MAP_0(m)
#define TG_MAP_1(m, a1) m(a1)
#define TG_MAP_2(m, a1, a2) m(a1), m(a2)
#define TG_MAP_3(m, a1, a2, a3) m(a1), m(a2), m(a3)
#define TG_MAP_4(m, a1, a2, a3, a4) m(a1), m(a2), m(a3), m(a4)
#define TG_MAP_5(m, a1, a2, a3, a4, a5) m(a1), m(a2), m(a3), m(a4), m(a5)
#define TG_MAP_6(m, a1, a2, a3, a4, a5, a6) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6)
#define TG_MAP_7(m, a1, a2, a3, a4, a5, a6, a7) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7)
#define TG_MAP_8(m, a1, a2, a3, a4, a5, a6, a7, a8) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8)
#define TG_MAP_9(m, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9)
#define TG_MAP_10(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10)
#define TG_MAP_11(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11)
#define TG_MAP_12(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12)
#define TG_MAP_13(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13)
#define TG_MAP_14(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14)
#define TG_MAP_15(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15)
#define TG_MAP_16(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16)
#define TG_MAP_17(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17)
#define TG_MAP_18(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18)
#define TG_MAP_19(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19)
#define TG_MAP_20(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20)
#define TG_MAP_21(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21)
#define TG_MAP_22(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22)
#define TG_MAP_23(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23)
#define TG_MAP_24(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24)
#define TG_MAP_25(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24), m(a25)
#define TG_MAP_26(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24), m(a25), m(a26)
#define TG_MAP_27(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24), m(a25), m(a26), m(a27)
#define TG_MAP_28(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, \
    a28) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24), m(a25), m(a26), m(a27), m(a28)
#define TG_MAP_29(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, \
    a28, a29) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24), m(a25), m(a26), m(a27), m(a28), \
    m(a29)
#define TG_MAP_30(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, \
    a28, a29, a30) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24), m(a25), m(a26), m(a27), m(a28), \
    m(a29), m(a30)
#define TG_MAP_31(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, \
    a28, a29, a30, a31) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24), m(a25), m(a26), m(a27), m(a28), \
    m(a29), m(a30), m(a31)
#define TG_MAP_32(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, \
    a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, \
    a28, a29, a30, a31, a32) \
    m(a1), m(a2), m(a3), m(a4), m(a5), m(a6), m(a7), m(a8), m(a9), m(a10), \
    m(a11), m(a12), m(a13), m(a14), m(a15), m(a16), m(a17), m(a18), m(a19), \
    m(a20), m(a21), m(a22), m(a23), m(a24), m(a25), m(a26), m(a27), m(a28), \
    m(a29), m(a30), m(a31), m(a32)

/*
 * TG_EACH: m(x, a) for each of up to 32 arguments, without separators. Those
 * that are missing are empty, and skipped.
 */
#define TG_EACH(m, x, ...) \
    TG_EACH_(m, x, __VA_ARGS__, , , , , , , , , , , , , , , , , , , , , , , , \
             , , , , , , , , )
#define TG_EACH_ONE(m, x, ...) __VA_OPT__(m(x, __VA_ARGS__))

/* m(x, a) for the first argument beyond the 32nd, if there is one. */
#define TG_EXCESS(m, x, ...) \
    TG_EXCESS_(m, x, \
               TG_COUNT_(__VA_ARGS__, , , , , , , , , , , , , , , , , , , , , \
                         , , , , , , , , , , , , , ))
#define TG_EXCESS_(m, x, ...) TG_EACH_ONE(m, x, __VA_ARGS__)

#define TG_EACH_(m, x, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
                 a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, \
                 a25, a26, a27, a28, a29, a30, a31, a32, ...) \
    TG_EACH_ONE(m, x, a1) TG_EACH_ONE(m, x, a2) TG_EACH_ONE(m, x, a3) \
    TG_EACH_ONE(m, x, a4) TG_EACH_ONE(m, x, a5) TG_EACH_ONE(m, x, a6) \
    TG_EACH_ONE(m, x, a7) TG_EACH_ONE(m, x, a8) TG_EACH_ONE(m, x, a9) \
    TG_EACH_ONE(m, x, a10) TG_EACH_ONE(m, x, a11) TG_EACH_ONE(m, x, a12) \
    TG_EACH_ONE(m, x, a13) TG_EACH_ONE(m, x, a14) TG_EACH_ONE(m, x, a15) \
    TG_EACH_ONE(m, x, a16) TG_EACH_ONE(m, x, a17) TG_EACH_ONE(m, x, a18) \
    TG_EACH_ONE(m, x, a19) TG_EACH_ONE(m, x, a20) TG_EACH_ONE(m, x, a21) \
    TG_EACH_ONE(m, x, a22) TG_EACH_ONE(m, x, a23) TG_EACH_ONE(m, x, a24) \
    TG_EACH_ONE(m, x, a25) TG_EACH_ONE(m, x, a26) TG_EACH_ONE(m, x, a27) \
    TG_EACH_ONE(m, x, a28) TG_EACH_ONE(m, x, a29) TG_EACH_ONE(m, x, a30) \
    TG_EACH_ONE(m, x, a31) TG_EACH_ONE(m, x, a32)

/* 1 if x is in parentheses, else 0. */
#define TG_IN_PARENTHESES(x) TG_MAP_SECOND(TG_MAP_PROBE x, 0, )
#define TG_MAP_PROBE(...) , 1
#define TG_MAP_SECOND(...) TG_MAP_SECOND_(__VA_ARGS__)
#define TG_MAP_SECOND_(first, second, ...) second
#define TG_MAP_UNWRAP(...) __VA_ARGS__

#endif /* TGJIT_MAP_H */
