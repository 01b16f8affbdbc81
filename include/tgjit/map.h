/* SPDX-License-Identifier: MIT */
/*
 * map.h - applies a macro to each of up to 32 arguments: TG_MAP(m, a, b) is
 * m(a), m(b). One flat macro per count: the expansion is linear in the text of
 * the arguments, and an error in one of them is not reported through a chain
 * of nested expansions. For the other headers; not part of the API.
 */
#ifndef TGJIT_MAP_H
#define TGJIT_MAP_H

#define TG_MAP_CAT_(a, b) a##b
#define TG_MAP_CAT(a, b) TG_MAP_CAT_(a, b)

/* How many arguments: 0 to 32. */
#define TG_COUNT(...) \
    TG_COUNT_(__VA_ARGS__ __VA_OPT__(, ) 32, 31, 30, 29, 28, 27, 26, 25, 24, \
              23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, \
              6, 5, 4, 3, 2, 1, 0)
#define TG_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, \
                  a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, \
                  a27, a28, a29, a30, a31, a32, n, ...) \
    n

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

#endif /* TGJIT_MAP_H */
