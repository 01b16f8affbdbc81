/* SPDX-License-Identifier: MIT */
/*
 * test_page_parts.c - parts of pages about traces: text in HTML, layouts of
 * pictures, assembly divided by function and source line.
 */
#include <math.h>

#include "front/inspect/assembly.h"
#include "front/inspect/html.h"
#include "front/inspect/layered_layout.h"
#include "support/support.h"

/* -- HTML ------------------------------------------------------------------ */

static void check_text(const char *text, const char *wanted)
{
    tgi_strbuf out = {0};
    tgi_html_text(&out, text);
    tgi_strbuf_add(&out, "");
    cr_assert_str_eq(out.text, wanted);
    tgi_strbuf_deinit(&out);
    check_nothing_is_alive();
}

#define BAD "\xef\xbf\xbd"

Test(html, markup_is_escaped)
{
    check_text("", "");
    check_text("a <b> & \"c\" 'd'",
               "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    check_text("tab\tline\n", "tab\tline\n");
}

Test(html, characters_that_html_cannot_contain_are_replaced)
{
    check_text("\x01\x1f\x7f", BAD BAD BAD);
    check_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
               "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    check_text("\xff<", BAD "&lt;");
    check_text("\xc3", BAD);                 /* cut off */
    check_text("\xc0\xaf", BAD BAD);         /* overlong */
    check_text("\xed\xa0\x80", BAD BAD BAD); /* a surrogate */
    check_text("\xe2\x82<", BAD BAD "&lt;");
}

static void check_short(const char *text, size_t n, const char *wanted)
{
    tgi_strbuf out = {0};
    tgi_html_short(&out, text, n);
    cr_assert_str_eq(out.text, wanted);
    tgi_strbuf_deinit(&out);
}

Test(html, long_text_is_shortened_at_characters)
{
    check_short("abc", 3, "abc");
    check_short("abcd", 3, "ab…");
    check_short("\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9…");
    check_short("<<<<", 2, "&lt;…");
}

Test(html, numbers_have_units)
{
    cr_assert_str_eq(tgi_html_time(12).text, "12 ns");
    cr_assert_str_eq(tgi_html_time(1234).text, "1.23 µs");
    cr_assert_str_eq(tgi_html_time(999.9e6).text, "1.00 s");
    cr_assert_str_eq(tgi_html_bytes(1536).text, "1.50 KiB");
    cr_assert_str_eq(tgi_html_bytes(1023).text, "1023 B");
}

/* -- Layouts --------------------------------------------------------------- */

/* No two nodes of a layer overlap, edges go down, all is in the picture. */
static void check_layout(const tgi_layout *l)
{
    for (size_t i = 0; i < l->nodes.n; i++) {
        const tgi_layout_node *a = &l->nodes.data[i];
        cr_assert(a->x - a->width / 2 >= 0 && a->x + a->width / 2 <= l->width,
                  "node %zu is outside", i);
        cr_assert(a->y > 0 && a->y < l->height);
        for (size_t k = 0; k < i; k++) {
            const tgi_layout_node *b = &l->nodes.data[k];
            cr_assert(a->layer != b->layer ||
                          fabs(a->x - b->x) >= (a->width + b->width) / 2 + 17.9,
                      "nodes %zu and %zu overlap", k, i);
        }
    }
    for (size_t i = 0; i < l->edges.n; i++) {
        const tgi_layout_edge *edge = &l->edges.data[i];
        uint32_t layer = l->nodes.data[edge->from].layer;
        cr_assert_lt(layer, l->nodes.data[edge->to].layer);
        for (uint32_t k = 0; k < edge->n_bends; k++)
            cr_assert_eq(l->nodes.data[edge->first_bend + k].layer, ++layer);
        cr_assert(edge->is_far || layer + 1 == l->nodes.data[edge->to].layer);
    }
}

Test(layout, a_chain_is_straight)
{
    tgi_layout l = {.layer_height = 50};
    for (uint32_t i = 0; i < 20; i++) {
        cr_assert(tgi_layout_add_node(&l, 100, i == 0));
        cr_assert(i == 0 || tgi_layout_add_edge(&l, i - 1, i));
    }
    cr_assert(tgi_layout_run(&l));
    check_layout(&l);
    for (uint32_t i = 0; i < 20; i++) {
        cr_assert_eq(l.nodes.data[i].layer, i);
        cr_assert(fabs(l.nodes.data[i].x - l.nodes.data[0].x) < 1);
    }
    tgi_layout_deinit(&l);
    check_nothing_is_alive();
}

Test(layout, nothing_at_all)
{
    tgi_layout l = {.layer_height = 50};
    cr_assert(tgi_layout_run(&l));
    tgi_layout_deinit(&l);
    check_nothing_is_alive();
}

Test(layout, wide_graphs_stay_narrow)
{
    tgi_layout l = {.layer_height = 50};
    for (uint32_t i = 0; i < 60; i++) /* sources, all used by the last */
        cr_assert(tgi_layout_add_node(&l, 168, true));
    for (uint32_t i = 0; i < 60; i++) {
        cr_assert(tgi_layout_add_node(&l, 168, false));
        cr_assert(tgi_layout_add_edge(&l, i, 60 + i));
    }
    cr_assert(tgi_layout_run(&l));
    check_layout(&l);
    cr_assert_lt(l.width, 1300);
    tgi_layout_deinit(&l);
    check_nothing_is_alive();
}

Test(layout, random_graphs_have_no_overlap)
{
    uint64_t random = 7;
    for (int round = 0; round < 60; round++) {
        tgi_layout l = {.layer_height = 50};
        const uint32_t n = 1 + (uint32_t)round * 3;
        for (uint32_t i = 0; i < n; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const uint32_t n_edges = i ? (uint32_t)(random >> 60) % 4 : 0;
            cr_assert(tgi_layout_add_node(&l, 60 + (double)(random >> 57),
                                          n_edges == 0));
            for (uint32_t k = 0; k < n_edges; k++)
                cr_assert(tgi_layout_add_edge(
                    &l, (uint32_t)((random >> (8 * k)) % i), i));
        }
        cr_assert(tgi_layout_run(&l));
        check_layout(&l);
        tgi_layout_deinit(&l);
    }
    check_nothing_is_alive();
}

/* -- Assembly -------------------------------------------------------------- */

static const char assembly[] = "\t.text\n"
                               "\t.file\t\"step\"\n"
                               "\t.section\t.rodata\n"
                               ".LCPI0_0:\n"
                               "\t.long\t0x80000000\n"
                               "tg_step_0_add:                  # @x\n"
                               ".Lfunc_begin0:\n"
                               "\t.cfi_startproc\n"
                               "# %bb.0:\n"
                               "\t.file\t1 \"/a b\" \"dir/step.c\"\n"
                               "\t.loc\t1 28 0 prologue_end\n"
                               "\tmovq\t8(%rsi), %rax\n"
                               ".LBB0_1:                # %item\n"
                               "\t.loc\t1 29 0\n"
                               "\tretq\n"
                               "\t.size\ttg_step_0_add, 3\n"
                               "other:\n"
                               "\tnop\n"
                               "\t.size\tother, 1\n";

static void check_span(tgi_assembly_span s, const char *wanted)
{
    cr_assert(s.n == strlen(wanted) && memcmp(s.text, wanted, s.n) == 0,
              "'%.*s' is not '%s'", (int)s.n, s.text, wanted);
}

Test(assembly, functions_have_instructions_with_lines)
{
    tgi_assembly a = {0};
    cr_assert(tgi_assembly_parse(&a, assembly));
    cr_assert_eq(a.functions.n, 2);
    const tgi_assembly_function *f = tgi_assembly_find(&a, "tg_step_0_add");
    cr_assert_eq(f, &a.functions.data[0]);
    cr_assert_null(tgi_assembly_find(&a, "tg_step_0"));
    cr_assert_eq(f->n_lines, 3);
    check_span(a.lines.data[0].text, "movq\t8(%rsi), %rax");
    cr_assert_eq(a.lines.data[0].line, 28);
    check_span(a.lines.data[1].text, ".LBB0_1:");
    check_span(a.lines.data[2].text, "retq");
    cr_assert_eq(a.lines.data[2].line, 29);
    check_span(a.lines.data[3].text, "nop");
    cr_assert_eq(a.lines.data[3].line, 0);
    cr_assert(tgi_assembly_is_file(&a, 1, "dir/step.c"));
    cr_assert(tgi_assembly_is_file(&a, 1, "/a b/dir/step.c"));
    cr_assert_not(tgi_assembly_is_file(&a, 1, "/a b/dir/other.c"));
    cr_assert_not(tgi_assembly_is_file(&a, 2, "dir/step.c"));
    tgi_assembly_deinit(&a);
    check_nothing_is_alive();
}

/* Any beginning of it can be parsed. */
Test(assembly, text_may_end_anywhere)
{
    char text[sizeof(assembly)];
    for (size_t n = 0; n < sizeof(assembly); n++) {
        tgi_assembly a = {0};
        memcpy(text, assembly, n);
        text[n] = 0;
        cr_assert(tgi_assembly_parse(&a, text));
        tgi_assembly_deinit(&a);
    }
    check_nothing_is_alive();
}
