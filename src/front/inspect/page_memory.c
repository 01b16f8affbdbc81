/* SPDX-License-Identifier: MIT */
/*
 * page_memory.c - the memory of a page's program: a picture of the arena, in
 * which the live range of each temporary is a rectangle over epochs, and a
 * table of all buffers.
 */
#include "front/inspect/page.h"

#define PICTURE_WIDTH 1060.0
#define LEFT 76.0 /* of the picture: the scale */
#define TOP 10.0
#define BOTTOM 34.0

enum {
    PICTURE_HEIGHT = 340, /* of the arena */
    MIN_EPOCH_WIDTH = 14,
    MAX_TICKS = 40 /* numbers of epochs */
};

static bool is_in_arena(const tgi_page *p, size_t buffer)
{
    const tgi_loop_buffer *b = &p->loops->buffers.data[buffer];
    return (b->place == TGI_PLACE_TEMP || b->place == TGI_PLACE_SCRATCH ||
            b->place == TGI_PLACE_BLOCK) &&
           b->is_used && p->sizes[buffer] > 0 && p->offsets[buffer] >= 0;
}

/* The first kernel that stores to a buffer, from 1; 0: none. */
static uint32_t writer_of(const tgi_page *p, size_t buffer)
{
    for (uint32_t i = 0; i < p->loops->kernels.n; i++) {
        const tgi_kernel_loops *k = p->loops->kernels.data[i];
        for (size_t j = 0; j < k->stores.n; j++)
            if (tgi_buffer_id_index(
                    k->accesses.data[k->stores.data[j].access].buffer) ==
                buffer)
                return i + 1;
    }
    return 0;
}

/* -- Picture --------------------------------------------------------------- */

static void print_range(const tgi_page *p, size_t buffer, double epoch_width)
{
    const tgi_loop_buffer *b = &p->loops->buffers.data[buffer];
    const double scale = PICTURE_HEIGHT / (double)p->plan.bytes;
    const double x = LEFT + b->first_epoch * epoch_width;
    const double width = (b->last_epoch - b->first_epoch + 1) * epoch_width - 2;
    const double y = TOP + (double)p->offsets[buffer] * scale;
    double height = (double)p->sizes[buffer] * scale;
    height = height < 2 ? 2 : height;
    const uint32_t writer = writer_of(p, buffer);
    tgi_strbuf name = {0};
    tgi_loops_print_buffer(p->loops, tgi_buffer_id_from((uint32_t)buffer),
                           &name);
    tgi_strbuf_addf(p->out, "<a href=\"#b%zu\" class=\"c%d\">", buffer,
                    writer ? tgi_page_colour(writer) : 0);
    tgi_strbuf_addf(p->out,
                    "<rect class=\"live\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                    "height=\"%.1f\" rx=\"3\"/>",
                    x, y, width, height);
    if (height >= 15 && width >= 30) {
        const char *size = tgi_html_bytes((double)p->sizes[buffer]).text;
        tgi_strbuf_addf(p->out, "<text x=\"%.1f\" y=\"%.1f\">", x + 6,
                        y + height / 2 + 4);
        tgi_html_text(p->out, name.text ? name.text : "");
        if (width >= 110)
            tgi_strbuf_addf(p->out, " %s", size);
        tgi_strbuf_add(p->out, "</text>");
    }
    tgi_strbuf_add(p->out, "<title>");
    tgi_html_textf(
        p->out, "%s: %s at %lld, epochs %u to %u", name.text ? name.text : "",
        tgi_html_bytes((double)p->sizes[buffer]).text,
        (long long)p->offsets[buffer], b->first_epoch, b->last_epoch);
    tgi_strbuf_add(p->out, "</title></a>\n");
    p->out->failed |= name.failed;
    tgi_strbuf_deinit(&name);
}

static void print_scales(const tgi_page *p, double epoch_width)
{
    const uint32_t n = p->loops->n_epochs;
    const double right = LEFT + n * epoch_width;
    for (int i = 0; i <= 4; i++) {
        const double y = TOP + PICTURE_HEIGHT * i / 4.0;
        tgi_strbuf_addf(p->out,
                        "<path class=\"g\" d=\"M%.0f %.1fH%.0f\"/>"
                        "<text class=\"t\" text-anchor=\"end\" x=\"%.0f\" "
                        "y=\"%.1f\">%s</text>\n",
                        LEFT, y, right, LEFT - 8, y + 4,
                        tgi_html_bytes((double)p->plan.bytes * i / 4).text);
    }
    const uint32_t step = n / MAX_TICKS + 1;
    for (uint32_t i = 0; i < n; i += step)
        tgi_strbuf_addf(p->out,
                        "<text class=\"t\" text-anchor=\"middle\" x=\"%.1f\" "
                        "y=\"%.0f\">%u</text>\n",
                        LEFT + (i + 0.5) * epoch_width,
                        TOP + PICTURE_HEIGHT + 16, i);
}

static void print_picture(const tgi_page *p)
{
    const uint32_t n = p->loops->n_epochs ? p->loops->n_epochs : 1;
    double epoch_width = (PICTURE_WIDTH - LEFT) / n;
    epoch_width = epoch_width < MIN_EPOCH_WIDTH ? MIN_EPOCH_WIDTH : epoch_width;
    tgi_strbuf_addf(p->out,
                    "<div class=\"s\"><svg width=\"%.0f\" height=\"%.0f\" "
                    "role=\"img\"><title>live ranges of temporaries</title>\n",
                    LEFT + n * epoch_width + 16, TOP + PICTURE_HEIGHT + BOTTOM);
    print_scales(p, epoch_width);
    for (size_t i = 0; i < p->loops->buffers.n; i++)
        if (is_in_arena(p, i))
            print_range(p, i, epoch_width);
    tgi_strbuf_add(p->out, "</svg></div>\n");
}

/* -- Table ----------------------------------------------------------------- */

static void print_buffer(const tgi_page *p, size_t i)
{
    static const char *const places[] = {
        [TGI_PLACE_PARAM] = "parameter",
        [TGI_PLACE_RESULT] = "result",
        [TGI_PLACE_CONSTANT] = "constant",
        [TGI_PLACE_TEMP] = "temporary",
        [TGI_PLACE_SCRATCH] = "scratch of each thread",
        [TGI_PLACE_BLOCK] = "row block of each thread",
        [TGI_PLACE_SSA] = "registers",
        [TGI_PLACE_COUNTER] = "counter",
        [TGI_PLACE_STACK] = "stack, per slice"};
    const tgi_loop_buffer *b = &p->loops->buffers.data[i];
    const size_t graph = b->graph && b->node
                             ? tgi_graph_list_find(&p->graphs, b->graph)
                             : p->graphs.graphs.n;
    tgi_strbuf_addf(p->out, "<tr id=\"b%zu\"><td class=\"m\">", i);
    tgi_loops_print_buffer(p->loops, tgi_buffer_id_from((uint32_t)i), p->out);
    tgi_strbuf_addf(p->out, "</td><td>%s</td><td class=\"m\">%s</td>",
                    places[b->place], tg_dtype_name((tg_dtype)b->dtype));
    if (p->has_plan)
        tgi_strbuf_addf(p->out, "<td class=\"r\">%s</td>",
                        tgi_html_bytes((double)p->sizes[i]).text);
    else
        tgi_strbuf_add(p->out, "<td class=\"r d\">–</td>");
    if (p->has_plan && is_in_arena(p, i))
        tgi_strbuf_addf(
            p->out, "<td class=\"r\">%lld</td><td class=\"r\">%u–%u</td>",
            (long long)p->offsets[i], b->first_epoch, b->last_epoch);
    else
        tgi_strbuf_add(p->out, "<td></td><td></td>");
    tgi_strbuf_add(p->out, "<td>");
    tgi_page_link_kernel(p, writer_of(p, i));
    tgi_strbuf_add(p->out, "</td><td>");
    if (graph < p->graphs.graphs.n) {
        const tgi_node *node = tgi_graph_node(b->graph, b->node);
        const char *reason = p->nodes[graph][b->node].reason;
        tgi_page_link_node(p, graph, b->node);
        tgi_strbuf_add(p->out, " ");
        tgi_strbuf_add(p->out, tgi_op_table[node->op].name);
        if (reason) {
            size_t n = 0;
            while (reason[n] && reason[n] != '\n')
                n++;
            tgi_strbuf_add(p->out, ": ");
            tgi_html_text_bytes(p->out, reason, n);
        }
    }
    tgi_strbuf_add(p->out, "</td></tr>\n");
}

void tgi_page_print_memory(const tgi_page *page)
{
    const tgi_page *p = page;
    tgi_strbuf_add(p->out, "<section id=\"memory\"><h2>Memory plan</h2>"
                           "<p class=\"d\">");
    if (!p->has_plan)
        tgi_strbuf_add(p->out, "The sizes of buffers are unknown.</p>\n");
    else if (p->plan.bytes == 0)
        tgi_strbuf_add(p->out, "The program has no temporaries.</p>\n");
    else
        tgi_strbuf_addf(
            p->out,
            "%s of temporaries on one thread, %s live at once. From left to "
            "right: the %u epoch%s between barriers; from top to bottom: the "
            "arena. Temporaries whose live ranges are disjoint share "
            "memory.</p>\n",
            tgi_html_bytes((double)p->plan.bytes).text,
            tgi_html_bytes((double)p->plan.peak).text, p->loops->n_epochs,
            p->loops->n_epochs == 1 ? "" : "s");
    if (p->has_plan && p->plan.bytes)
        print_picture(p);
    tgi_strbuf_addf(p->out,
                    "<details%s><summary>%zu buffers</summary>\n<table><tr>"
                    "<th>buffer</th><th>place</th><th>dtype</th>"
                    "<th class=\"r\">size</th><th class=\"r\">offset</th>"
                    "<th class=\"r\">epochs</th><th>stored by</th>"
                    "<th>value, and why it is stored</th></tr>\n",
                    p->loops->buffers.n <= 200 ? " open" : "",
                    p->loops->buffers.n);
    for (size_t i = 0; i < p->loops->buffers.n; i++)
        print_buffer(p, i);
    tgi_strbuf_add(p->out, "</table></details></section>\n");
}
