/* SPDX-License-Identifier: MIT */
/*
 * map.h - TG_MAP(m, a, b) expands to m(a), m(b), for up to 32 arguments. It
 * counts its arguments instead of recursing, so the expansion is linear in the
 * input. Used by the other headers; not a public interface.
 */
#ifndef TGJIT_MAP_H
#define TGJIT_MAP_H

#define TG_MAP_CAT_(a, b) a##b
#define TG_MAP_CAT(a, b) TG_MAP_CAT_(a, b)

#define TG_COUNT(...) \
    TG_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, \
              19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, \
              1, 0)
#define TG_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, \
                  a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, \
                  a27, a28, a29, a30, a31, a32, n, ...) \
    n

#define TG_MAP(m, ...) \
    TG_MAP_CAT(TG_MAP_, TG_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define TG_MAP_1(m, a) m(a)
#define TG_MAP_2(m, a, ...) m(a), TG_MAP_1(m, __VA_ARGS__)
#define TG_MAP_3(m, a, ...) m(a), TG_MAP_2(m, __VA_ARGS__)
#define TG_MAP_4(m, a, ...) m(a), TG_MAP_3(m, __VA_ARGS__)
#define TG_MAP_5(m, a, ...) m(a), TG_MAP_4(m, __VA_ARGS__)
#define TG_MAP_6(m, a, ...) m(a), TG_MAP_5(m, __VA_ARGS__)
#define TG_MAP_7(m, a, ...) m(a), TG_MAP_6(m, __VA_ARGS__)
#define TG_MAP_8(m, a, ...) m(a), TG_MAP_7(m, __VA_ARGS__)
#define TG_MAP_9(m, a, ...) m(a), TG_MAP_8(m, __VA_ARGS__)
#define TG_MAP_10(m, a, ...) m(a), TG_MAP_9(m, __VA_ARGS__)
#define TG_MAP_11(m, a, ...) m(a), TG_MAP_10(m, __VA_ARGS__)
#define TG_MAP_12(m, a, ...) m(a), TG_MAP_11(m, __VA_ARGS__)
#define TG_MAP_13(m, a, ...) m(a), TG_MAP_12(m, __VA_ARGS__)
#define TG_MAP_14(m, a, ...) m(a), TG_MAP_13(m, __VA_ARGS__)
#define TG_MAP_15(m, a, ...) m(a), TG_MAP_14(m, __VA_ARGS__)
#define TG_MAP_16(m, a, ...) m(a), TG_MAP_15(m, __VA_ARGS__)
#define TG_MAP_17(m, a, ...) m(a), TG_MAP_16(m, __VA_ARGS__)
#define TG_MAP_18(m, a, ...) m(a), TG_MAP_17(m, __VA_ARGS__)
#define TG_MAP_19(m, a, ...) m(a), TG_MAP_18(m, __VA_ARGS__)
#define TG_MAP_20(m, a, ...) m(a), TG_MAP_19(m, __VA_ARGS__)
#define TG_MAP_21(m, a, ...) m(a), TG_MAP_20(m, __VA_ARGS__)
#define TG_MAP_22(m, a, ...) m(a), TG_MAP_21(m, __VA_ARGS__)
#define TG_MAP_23(m, a, ...) m(a), TG_MAP_22(m, __VA_ARGS__)
#define TG_MAP_24(m, a, ...) m(a), TG_MAP_23(m, __VA_ARGS__)
#define TG_MAP_25(m, a, ...) m(a), TG_MAP_24(m, __VA_ARGS__)
#define TG_MAP_26(m, a, ...) m(a), TG_MAP_25(m, __VA_ARGS__)
#define TG_MAP_27(m, a, ...) m(a), TG_MAP_26(m, __VA_ARGS__)
#define TG_MAP_28(m, a, ...) m(a), TG_MAP_27(m, __VA_ARGS__)
#define TG_MAP_29(m, a, ...) m(a), TG_MAP_28(m, __VA_ARGS__)
#define TG_MAP_30(m, a, ...) m(a), TG_MAP_29(m, __VA_ARGS__)
#define TG_MAP_31(m, a, ...) m(a), TG_MAP_30(m, __VA_ARGS__)
#define TG_MAP_32(m, a, ...) m(a), TG_MAP_31(m, __VA_ARGS__)

#endif /* TGJIT_MAP_H */
