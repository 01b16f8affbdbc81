/* SPDX-License-Identifier: MIT */
/*
 * test_einsum.c - parsing and lowering of Einstein summation. Nodes are
 * hash-consed, so equal graphs are compared by ref.
 */
#include "build/einsum.h"
#include "support/building.h"

/* -- Parsing --------------------------------------------------------------- */

/* The labels of a term as text; axes of '...' are digits, the last one 0. */
static const char *letters_of(const tgi_einsum_term *term)
{
    static char text[TG_MAX_RANK + 1];
    for (int i = 0; i < term->rank; i++) {
        const int label = term->label[i];
        text[i] = tgi_label_is_letter(label)
                      ? tgi_label_letter(label)
                      : (char)('0' + TGI_LABELS - 1 - label);
    }
    text[term->rank] = '\0';
    return text;
}

typedef struct reading {
    const char *spec;
    int n, ranks[3];
    const char *terms[3], *result;
} reading;

static const reading readings[] = {
    {"ij,jk->ik", 2, {2, 2}, {"ij", "jk"}, "ik"},
    {" i j , jk -> i k ", 2, {2, 2}, {"ij", "jk"}, "ik"},
    {"aZ->Za", 1, {2}, {"aZ"}, "Za"},
    {"ii->i", 1, {2}, {"ii"}, "i"},
    {"i->", 1, {1}, {"i"}, ""},
    {"", 1, {0}, {""}, ""},
    {"->", 1, {0}, {""}, ""},
    {",,", 3, {0, 0, 0}, {"", "", ""}, ""},
    {"i,->i", 2, {1, 0}, {"i", ""}, "i"},
    /* Without an arrow: labels that occur once, in alphabetical order. */
    {"ij,jk", 2, {2, 2}, {"ij", "jk"}, "ik"},
    {"ba", 1, {2}, {"ba"}, "ab"},
    {"bA,Zc", 2, {2, 2}, {"bA", "Zc"}, "AZbc"},
    {"ii", 1, {2}, {"ii"}, ""},
    {"i,i,i", 3, {1, 1, 1}, {"i", "i", "i"}, ""},
    {"i...j,j", 2, {4, 1}, {"i10j", "j"}, "10i"},
    /* Dots are counted from the right. */
    {"...ij,...jk->...ik", 2, {4, 3}, {"10ij", "0jk"}, "10ik"},
    {"i...,...i->...i", 2, {1, 4}, {"i", "210i"}, "210i"},
    {"...->...", 1, {8}, {"76543210"}, "76543210"},
    {"...ij->ij", 1, {2}, {"ij"}, "ij"},
    {"ij->...ij", 1, {2}, {"ij"}, "ij"},
    {"...,...", 2, {0, 2}, {"", "10"}, "10"},
};

Test(einsum, reads_labels)
{
    for (size_t i = 0; i < N_OF(readings); i++) {
        const reading *r = &readings[i];
        tgi_einsum_term terms[3], result;
        tgi_einsum_error error = {0};
        cr_assert(tgi_einsum_parse(r->spec, r->ranks, (size_t)r->n, terms,
                                   &result, &error),
                  "\"%s\": %s", r->spec, error.text);
        for (int k = 0; k < r->n; k++)
            cr_assert_str_eq(letters_of(&terms[k]), r->terms[k], "\"%s\": %s",
                             r->spec, letters_of(&terms[k]));
        cr_assert_str_eq(letters_of(&result), r->result, "\"%s\": %s", r->spec,
                         letters_of(&result));
    }
}

typedef struct misreading {
    const char *spec;
    int n, ranks[3];
    tg_status status;
    const char *text;
} misreading;

#define INVALID TG_ERROR_INVALID_ARGUMENT
static const char no_label[] =
    "character 2: not a letter, ',', '...' or '->'";

static const misreading misreadings[] = {
    {"i1", 1, {2}, INVALID, no_label},
    {"i\tj", 1, {2}, INVALID, no_label},
    {"i\xc3\xa4", 1, {2}, INVALID, no_label},
    {"i-j", 1, {2}, INVALID, no_label},
    {"i>j", 1, {2}, INVALID, no_label},
    {"i- >j", 1, {1}, INVALID, no_label},
    {"i..j", 1, {2}, INVALID, no_label},
    {"i.", 1, {2}, INVALID, no_label},
    {"...i...", 1, {2}, INVALID, "character 5: '...' is repeated in one term"},
    {"ij,jk", 3, {2, 2, 1}, INVALID,
     "character 6: missing term for operand 3"},
    {"ij->ij", 2, {2, 2}, INVALID,
     "character 3: missing term for operand 2"},
    {"ij,jk,k", 2, {2, 2}, INVALID,
     "character 6: more terms than operands"},
    {"ij,jkl->ik", 2, {2, 2}, TG_ERROR_SHAPE,
     "character 4: term 2 has rank 3, but its operand has rank 2"},
    {"ij,j", 2, {2, 2}, TG_ERROR_SHAPE,
     "character 4: term 2 has rank 1, but its operand has rank 2"},
    {"i...j", 1, {1}, TG_ERROR_SHAPE,
     "character 1: term 1 has rank 2 or more, but its operand has rank 1"},
    {"abcdefghij", 1, {8}, TG_ERROR_SHAPE,
     "character 1: term 1 has rank 10, but its operand has rank 8"},
    {"ij->ijj", 1, {2}, INVALID,
     "character 7: 'j' is repeated in the result"},
    {"ij,jk->il", 2, {2, 2}, INVALID,
     "character 9: no operand has the label 'l'"},
    {"ij->i,j", 1, {2}, INVALID,
     "character 6: the result must be one term, the last"},
    {"ij->i->j", 1, {2}, INVALID,
     "character 6: the result must be one term, the last"},
    {"...i->i", 1, {2}, INVALID,
     "character 7: the result has no '...' for the axis of the operands"},
    {"...i->i", 1, {3}, INVALID,
     "character 7: the result has no '...' for the axes of the operands"},
    {"abcde,fghij->abcdefghij", 2, {5, 5}, TG_ERROR_OVERFLOW,
     "character 14: the result has 10 axes, more than 8"},
    {"abcde,fghij", 2, {5, 5}, TG_ERROR_OVERFLOW,
     "character 12: the result has 10 axes, more than 8"},
    {"...a,b->...ab", 2, {8, 1}, TG_ERROR_OVERFLOW,
     "character 9: the result has 9 axes, more than 8"},
};

Test(einsum, reports_the_position_of_invalid_labels)
{
    for (size_t i = 0; i < N_OF(misreadings); i++) {
        const misreading *m = &misreadings[i];
        tgi_einsum_term terms[3], result;
        tgi_einsum_error error = {0};
        cr_assert_not(tgi_einsum_parse(m->spec, m->ranks, (size_t)m->n, terms,
                                       &result, &error),
                      "\"%s\"", m->spec);
        cr_assert_str_eq(error.text, m->text, "\"%s\": %s", m->spec,
                         error.text);
        cr_assert_eq(error.status, m->status, "\"%s\"", m->spec);
    }
}

/* -- Building -------------------------------------------------------------- */

enum { MAX_OPERANDS = 3 };

/* The node that tg_einsum builds; the list of operands ends with 0. */
static tgi_ref build(building *w, const char *spec, const tgi_ref *operands)
{
    tgi_ref refs[MAX_OPERANDS];
    int ranks[MAX_OPERANDS];
    tgi_einsum_term terms[MAX_OPERANDS], result;
    tgi_einsum_error error = {0};
    size_t n = 0;
    for (; operands[n]; n++) {
        refs[n] = operands[n];
        ranks[n] = tgi_graph_shape(w->graph, refs[n])->rank;
    }
    cr_assert(tgi_einsum_parse(spec, ranks, n, terms, &result, &error),
              "\"%s\": %s", spec, error.text);
    return tgi_build_einsum(&w->b, refs, terms, n, &result, spec);
}

#define einsum(w, spec, ...) build(w, spec, INPUTS(__VA_ARGS__))

static tgi_ref transposed(building *w, tgi_ref x, const char *axes)
{
    int perm[TG_MAX_RANK], n = 0;
    for (; axes[n]; n++)
        perm[n] = axes[n] - '0';
    return tgi_build_transpose(&w->b, x, n, perm);
}

#define reshaped(w, x, ...) \
    tgi_build_reshape(&(w)->b, x, \
                      (int)(sizeof((int64_t[]){__VA_ARGS__}) / \
                            sizeof(int64_t)), \
                      (int64_t[]){__VA_ARGS__})
#define product(w, x, y, flags) tgi_build_matmul(&(w)->b, x, y, flags)
#define multiplied(w, x, y) tgi_build_2(&(w)->b, TGI_OP_MUL, x, y)

static tgi_ref summed(building *w, tgi_ref x, int axis)
{
    return tgi_build_reduce(&w->b, TGI_OP_SUM, x, tg_axes_of(1, &axis));
}

static void check_same_at(int line, tgi_ref is, tgi_ref want)
{
    cr_assert(is && is == want, "line %d: node %u, not %u: %s", line, is, want,
              tg_error(NULL));
}
#define check_same(is, want) check_same_at(__LINE__, is, want)

Test(einsum, matrices_are_taken_as_they_are)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3, 4), y = f32_of(&w, 4, 5);
    tgi_ref z = f32_of(&w, 5, 4), u = f32_of(&w, 4, 3);
    check_same(einsum(&w, "ij,jk->ik", x, y), product(&w, x, y, 0));
    check_same(einsum(&w, "ij,kj->ik", x, z),
               product(&w, x, z, TG_TRANSPOSE_B));
    check_same(einsum(&w, "ji,jk->ik", u, y),
               product(&w, u, y, TG_TRANSPOSE_A));
    check_same(einsum(&w, "ji,kj->ik", u, z),
               product(&w, u, z, TG_TRANSPOSE_A | TG_TRANSPOSE_B));
    /* (xy)' is y'x'. */
    check_same(einsum(&w, "ij,jk->ki", x, y),
               product(&w, y, x, TG_TRANSPOSE_A | TG_TRANSPOSE_B));
    check_same(einsum(&w, "ij,kj->ki", x, z),
               product(&w, z, x, TG_TRANSPOSE_B));
    building_end(&w);
}

Test(einsum, vectors_are_rows_or_columns)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3, 4), v = f32_of(&w, 4), u = f32_of(&w, 3);
    check_same(einsum(&w, "ij,j->i", x, v), product(&w, x, v, 0));
    check_same(einsum(&w, "i,ij->j", u, x), product(&w, u, x, 0));
    check_same(einsum(&w, "j,ij->i", v, x),
               product(&w, v, x, TG_TRANSPOSE_B));
    check_same(einsum(&w, "ij,i->j", x, u),
               product(&w, x, u, TG_TRANSPOSE_A));
    building_end(&w);
}

Test(einsum, batches_are_views)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3, 4), y = f32_of(&w, 2, 4, 5);
    tgi_ref m = f32_of(&w, 4, 5);
    check_same(einsum(&w, "bij,bjk->bik", x, y), product(&w, x, y, 0));
    check_same(einsum(&w, "...ij,...jk->...ik", x, y), product(&w, x, y, 0));
    /* Labels of one operand only are rows. */
    check_same(einsum(&w, "...ij,jk->...ik", x, m),
               reshaped(&w, product(&w, reshaped(&w, x, 6, 4), m, 0), 2, 3,
                        5));
    /* Queries and keys of several heads: no copy. */
    tgi_ref q = f32_of(&w, 2, 7, 3, 4), k = f32_of(&w, 2, 9, 3, 4);
    check_same(einsum(&w, "bqhd,bkhd->bhqk", q, k),
               product(&w, transposed(&w, q, "0213"),
                       transposed(&w, k, "0213"), TG_TRANSPOSE_B));
    /* A shorter '...' gets axes of extent 1 if it is not first. */
    tgi_ref few = f32_of(&w, 6, 2, 3, 4), many = f32_of(&w, 6, 7, 2, 4, 5);
    check_same(einsum(&w, "b...ij,b...jk->b...ik", few, many),
               product(&w, reshaped(&w, few, 6, 1, 2, 3, 4), many, 0));
    tgi_ref more = f32_of(&w, 9, 2, 4, 5);
    check_same(einsum(&w, "...ij,...jk->...ik", x, more),
               product(&w, x, more, 0));
    building_end(&w);
}

Test(einsum, adjacent_labels_are_merged)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3, 4, 5), y = f32_of(&w, 4, 5, 6, 7);
    tgi_ref z = f32_of(&w, 6, 4, 7, 5);
    check_same(einsum(&w, "abcd,cdef->abef", x, y),
               reshaped(&w,
                        product(&w, reshaped(&w, x, 6, 20),
                                reshaped(&w, y, 20, 42), 0),
                        2, 3, 6, 7));
    /* Merged before they are transposed: both are views. */
    tgi_ref u = f32_of(&w, 8, 2, 3, 9);
    tgi_ref v = f32_of(&w, 9, 8);
    check_same(einsum(&w, "kabB,Bk->Bab", u, v),
               reshaped(&w,
                        product(&w,
                                transposed(&w, reshaped(&w, u, 8, 6, 9),
                                           "201"),
                                reshaped(&w, v, 9, 8, 1), TG_TRANSPOSE_A),
                        9, 2, 3));
    /* Labels that are not adjacent are copied, in the order of the result. */
    check_same(einsum(&w, "abcd,ecfd->abfe", x, z),
               reshaped(&w,
                        product(&w, reshaped(&w, x, 6, 20),
                                reshaped(&w, transposed(&w, z, "2013"), 42,
                                         20),
                                TG_TRANSPOSE_B),
                        2, 3, 7, 6));
    building_end(&w);
}

Test(einsum, summed_labels_have_the_order_of_an_operand)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3, 4), y = f32_of(&w, 4, 3, 5);
    /* In the order of the first operand, if they are adjacent there … */
    check_same(einsum(&w, "ijk,kjl->il", x, y),
               product(&w, reshaped(&w, x, 2, 12),
                       reshaped(&w, transposed(&w, y, "102"), 12, 5), 0));
    /* … else of the second, if they are adjacent there. */
    tgi_ref u = f32_of(&w, 3, 2, 4);
    check_same(einsum(&w, "jik,kjl->il", u, y),
               product(&w, reshaped(&w, transposed(&w, u, "120"), 2, 12),
                       reshaped(&w, y, 12, 5), 0));
    tgi_ref v = f32_of(&w, 4, 5, 3);
    check_same(einsum(&w, "jik,klj->il", u, v),
               product(&w, reshaped(&w, transposed(&w, u, "102"), 2, 12),
                       reshaped(&w, transposed(&w, v, "120"), 5, 12),
                       TG_TRANSPOSE_B));
    building_end(&w);
}

Test(einsum, without_a_label_of_one_operand_it_is_a_product_and_a_sum)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3, 4), y = f32_of(&w, 3, 4), z = f32_of(&w, 4, 3);
    tgi_ref v = f32_of(&w, 4), u = f32_of(&w, 4);
    check_same(einsum(&w, "i,i->", v, u),
               summed(&w, multiplied(&w, v, u), 0));
    check_same(einsum(&w, "ij,ij->j", x, y),
               summed(&w, multiplied(&w, x, y), 0));
    check_same(einsum(&w, "ij,ji->i", x, z),
               summed(&w, multiplied(&w, x, transposed(&w, z, "10")), 1));
    /* Seven batch axes and a summed one: too many axes for a matmul. */
    tgi_ref a = f32_of(&w, 2, 1, 2, 1, 2, 1, 2, 3);
    check_type(&w, einsum(&w, "abcdefgh,abcdefgh->abcdefg", a, a),
               "f32[2,1,2,1,2,1,2]");
    building_end(&w);
}

Test(einsum, nothing_to_sum_over_is_a_product_of_elements)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3, 4), y = f32_of(&w, 3, 4);
    tgi_ref v = f32_of(&w, 4), u = f32_of(&w, 3), s = f32_scalar(&w);
    check_same(einsum(&w, "ij,ij->ij", x, y), multiplied(&w, x, y));
    check_same(einsum(&w, "i,j->ij", u, v),
               multiplied(&w, reshaped(&w, u, 3, 1), v));
    check_same(einsum(&w, "i,j->ji", u, v),
               multiplied(&w, u, reshaped(&w, v, 4, 1)));
    check_same(einsum(&w, "ij,->ij", x, s), multiplied(&w, x, s));
    check_same(einsum(&w, "...,...", x, v), multiplied(&w, x, v));
    check_same(einsum(&w, ",i", weak_double(&w, 2), v),
               multiplied(&w, weak_double(&w, 2), v));
    building_end(&w);
}

Test(einsum, one_operand_is_moved_or_summed)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3, 4), s = f32_scalar(&w);
    check_same(einsum(&w, "ij->ij", x), x);
    check_same(einsum(&w, "ij->ji", x), transposed(&w, x, "10"));
    check_same(einsum(&w, "ji", x), transposed(&w, x, "10"));
    check_same(einsum(&w, "ij->i", x), summed(&w, x, 1));
    check_same(einsum(&w, "->", s), s);
    building_end(&w);
}

/* Labels of one operand are summed first, then labels without later use. */
Test(einsum, operands_are_taken_from_left_to_right)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3, 4), y = f32_of(&w, 4, 5), z = f32_of(&w, 5, 6);
    tgi_ref u = f32_of(&w, 3), v = f32_of(&w, 4);
    tgi_ref cube = f32_of(&w, 4, 5, 7);
    check_same(einsum(&w, "ij,jk,kl->il", x, y, z),
               product(&w, product(&w, x, y, 0), z, 0));
    check_same(einsum(&w, "i,ij,j->", u, x, v),
               summed(&w, multiplied(&w, product(&w, u, x, 0), v), 0));
    check_same(einsum(&w, "ij,jkl->ik", x, cube),
               product(&w, x, summed(&w, cube, 2), 0));
    tgi_ref outer = multiplied(&w, reshaped(&w, u, 3, 1), v);
    check_same(einsum(&w, "i,j,ij->", u, v, x),
               tgi_build_reduce(&w.b, TGI_OP_SUM, multiplied(&w, outer, x),
                                TG_ALL_AXES));
    building_end(&w);
}

static tgi_ref diagonal(building *w, tgi_ref flat, tgi_dim n, int axis)
{
    tgi_ref index =
        multiplied(w, tgi_build_iota(&w->b, TG_I64, 1, &n, 0),
                   tgi_build_extent(&w->b,
                                    tgi_dim_add(w->graph->dims, n, 1)));
    return tgi_build_gather(&w->b, flat, index, axis, TG_GATHER_ZERO);
}

Test(einsum, a_label_twice_in_one_operand_is_its_diagonal)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 4, 4), y = f32_of(&w, 4, 3, 4);
    tgi_ref d = diagonal(&w, reshaped(&w, x, 16), 4, 0);
    check_same(einsum(&w, "ii->i", x), d);
    check_same(einsum(&w, "ii", x), summed(&w, d, 0));
    check_same(einsum(&w, "iji->ji", y),
               diagonal(&w, reshaped(&w, transposed(&w, y, "102"), 3, 16), 4,
                        1));
    tgi_ref cube = f32_of(&w, 2, 2, 2);
    check_type(&w, einsum(&w, "iii->i", cube), "f32[2]");
    building_end(&w);
}

Test(einsum, unknown_extents_are_merged_too)
{
    building w = building_begin();
    tgi_dim m = symbol(w.graph, 0, 0), k = symbol(w.graph, 0, 1);
    tgi_dim n = symbol(w.graph, 1, 1);
    tgi_ref x = f32_of(&w, m, 3, k), y = f32_of(&w, k, n);
    check_type(&w, einsum(&w, "abc,cd->abd", x, y), "f32[?0,3,?2]");
    cr_assert_eq(w.graph->checks.n, 0);
    tgi_ref z = f32_of(&w, n, n);
    check_type(&w, einsum(&w, "ii->i", z), "f32[?2]");
    check_type(&w, einsum(&w, "abc,dc->dab", x, z), "f32[?2,?0,3]");
    cr_assert_gt(w.graph->checks.n, 0);
    cr_assert_str_eq(w.graph->checks.data[0].what,
                     "label 'c' of \"abc,dc->dab\"");
    building_end(&w);
}

/* -- Errors ---------------------------------------------------------------- */

Test(einsum, extents_of_one_label_are_equal)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3), y = f32_of(&w, 4, 5), one = f32_of(&w, 1, 3);
    check_refused(&w, einsum(&w, "ij,jk->ik", x, y), TG_ERROR_SHAPE,
                  "f32[2,3] x f32[4,5]: label 'j' of \"ij,jk->ik\": 3 and 4 "
                  "are not equal");
    check_refused(&w, einsum(&w, "ij,ij", one, x), TG_ERROR_SHAPE,
                  "f32[1,3] x f32[2,3]: label 'i' of \"ij,ij\": 1 and 2 are "
                  "not equal");
    check_refused(&w, einsum(&w, "ii", x), TG_ERROR_SHAPE,
                  "f32[2,3] x f32[2,3]: label 'i' of \"ii\": 2 and 3 are not "
                  "equal");
    check_refused(&w, einsum(&w, "...,...", x, y), TG_ERROR_SHAPE,
                  "f32[2,3] x f32[4,5]: '...' of \"...,...\": 2 and 4 do not "
                  "broadcast");
    tgi_dim n = symbol(w.graph, 0, 0);
    tgi_ref u = f32_of(&w, n);
    tgi_ref v = f32_of(&w, tgi_dim_add(w.graph->dims, n, 1));
    check_refused(&w, einsum(&w, "i,i", u, v), TG_ERROR_SHAPE,
                  "f32[?0] x f32[?0+1]: label 'i' of \"i,i\": ?0 and ?0+1 are "
                  "not equal");
    building_end(&w);
}

Test(einsum, element_types_are_equal_numbers)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3), i = of_type(&w, TG_I32, 3);
    tgi_ref b = of_type(&w, TG_BOOL, 3);
    check_refused(&w, einsum(&w, "ij,j", x, i), TG_ERROR_DTYPE,
                  "f32[2,3] x i32[3]: dtypes f32 and i32 differ; "
                  "convert one with tg_cast");
    check_refused(&w, einsum(&w, "i->i", b), TG_ERROR_DTYPE,
                  "bool[3]: needs a number type");
    check_refused(&w, einsum(&w, ",i", weak_double(&w, 0.5), i),
                  TG_ERROR_DTYPE,
                  "the number 0.5 is not representable in i32");
    building_end(&w);
}

Test(einsum, products_have_at_most_so_many_axes)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 1, 1, 1, 1, 1), y = f32_of(&w, 1, 1, 1, 1, 1);
    check_refused(&w, einsum(&w, "abcde,fghij,abcdefgh->i", x, y,
                             f32_of(&w, 1, 1, 1, 1, 1, 1, 1, 1)),
                  TG_ERROR_OVERFLOW,
                  "f32[1,1,1,1,1] x f32[1,1,1,1,1]: the product has more "
                  "than 8 axes");
    tgi_ref m = f32_of(&w, 5, 2, 3);
    tgi_ref many = f32_of(&w, 1, 1, 1, 1, 1, 1, 5, 3);
    check_refused(&w, einsum(&w, "...ki,...i->...k", m, many),
                  TG_ERROR_OVERFLOW,
                  "f32[5,2,3] x f32[1,1,1,1,1,1,5,3]: 7 batch axes and 2 "
                  "matrix axes exceed the limit of 8");
    building_end(&w);
}
