/* SPDX-License-Identifier: MIT */
/*
 * layered_layout.c - see layered_layout.h. Three steps:
 *
 *   layers     as few as possible of a limited width (Coffman and Graham);
 *              late nodes are above their first user
 *   order      in each layer by the mean position of the neighbours above, then
 *              below, in a few sweeps
 *   positions  each node near the mean of its neighbours, as far as the
 *              distance to those beside it allows
 */
#include "front/inspect/layered_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    MAX_SPAN = 4, /* layers that a drawn edge spans */
    ORDER_SWEEPS = 8,
    POSITION_SWEEPS = 12
};
#define GAP 18.0         /* between nodes */
#define MARGIN 24.0      /* around the picture */
#define MAX_WIDTH 1000.0 /* of the nodes in a layer, without bends */

bool tgi_layout_add_node(tgi_layout *layout, double width, bool is_late)
{
    const tgi_layout_node node = {.width = width, .is_late = is_late};
    if (!tgi_vec_push(&layout->nodes, node)) {
        tgi_error_memory();
        return false;
    }
    layout->n_nodes = layout->nodes.n;
    return true;
}

bool tgi_layout_add_edge(tgi_layout *layout, uint32_t from, uint32_t to)
{
    const tgi_layout_edge edge = {.from = from, .to = to};
    if (tgi_vec_push(&layout->edges, edge))
        return true;
    tgi_error_memory();
    return false;
}

void tgi_layout_deinit(tgi_layout *layout)
{
    tgi_vec_deinit(&layout->nodes);
    tgi_vec_deinit(&layout->edges);
}

/* -- Layers ---------------------------------------------------------------- */

typedef struct layering {
    tgi_layout *l;
    uint32_t *least;  /* by node: the layer below its operands */
    uint32_t *lowest; /* by node: the first layer of its users */
    double *used;     /* by layer: width of its nodes */
    bool *is_placed;  /* by node */
} layering;

static bool has_room(const layering *g, uint32_t layer, double width)
{
    return g->used[layer] == 0 || g->used[layer] + GAP + width <= MAX_WIDTH;
}

static void put_into_layer(const layering *g, size_t node, uint32_t layer)
{
    tgi_layout_node *n = &g->l->nodes.data[node];
    n->layer = layer;
    g->used[layer] += (g->used[layer] > 0 ? GAP : 0) + n->width;
    g->is_placed[node] = true;
}

/* The late operands of a node that have no layer yet: their width, with gaps.
   The node's edges begin at `edge`. */
static double late_width(const layering *g, uint32_t node, size_t edge)
{
    const tgi_layout *l = g->l;
    double width = 0;
    for (; edge < l->edges.n && l->edges.data[edge].to == node; edge++) {
        const tgi_layout_node *from = &l->nodes.data[l->edges.data[edge].from];
        if (from->is_late && !g->is_placed[l->edges.data[edge].from])
            width += from->width + GAP;
    }
    return width;
}

/* Nodes that are not late, from top to bottom, each with its late operands
   above it. Edges are sorted by their lower node, and nodes are in topological
   order: the operands of a node have their layers when it is its turn. */
static void place_early(const layering *g)
{
    const tgi_layout *l = g->l;
    for (size_t first = 0, edge = 0, i = 0; i < l->n_nodes; i++) {
        const tgi_layout_node *node = &l->nodes.data[i];
        for (first = edge; edge < l->edges.n && l->edges.data[edge].to == i;
             edge++) {
            const uint32_t from = l->edges.data[edge].from;
            const uint32_t above =
                g->is_placed[from] ? l->nodes.data[from].layer : g->least[from];
            if (above + 1 > g->least[i])
                g->least[i] = above + 1;
        }
        if (node->is_late)
            continue;
        const double late = late_width(g, (uint32_t)i, first);
        uint32_t layer = g->least[i];
        while (!has_room(g, layer, node->width) ||
               (late > 0 && !has_room(g, layer - 1, late - GAP)))
            layer++;
        put_into_layer(g, i, layer);
        for (; first < edge; first++) {
            const uint32_t from = l->edges.data[first].from;
            if (!g->is_placed[from])
                put_into_layer(g, from, layer - 1);
        }
    }
}

/* The other late nodes, from bottom to top: above their first user. */
static void place_late(const layering *g)
{
    const tgi_layout *l = g->l;
    size_t edge = l->edges.n;
    for (size_t i = 0; i < l->n_nodes; i++)
        g->lowest[i] = UINT32_MAX;
    for (size_t i = l->n_nodes; i-- > 0;) {
        const tgi_layout_node *node = &l->nodes.data[i];
        if (!g->is_placed[i]) {
            const uint32_t last =
                g->lowest[i] == UINT32_MAX ? g->least[i] : g->lowest[i] - 1;
            uint32_t layer = last;
            while (layer > g->least[i] && !has_room(g, layer, node->width))
                layer--;
            put_into_layer(g, i,
                           has_room(g, layer, node->width) ? layer : last);
        }
        for (; edge > 0 && l->edges.data[edge - 1].to == i; edge--) {
            const uint32_t from = l->edges.data[edge - 1].from;
            if (node->layer < g->lowest[from])
                g->lowest[from] = node->layer;
        }
    }
}

static int compare_edges(const void *a, const void *b)
{
    const tgi_layout_edge *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* As Coffman and Graham: as far up as the operands and the width of the layers
   allow. */
static bool choose_layers(tgi_layout *l)
{
    /* A layer is skipped only if it or the one above it is full: there are fewer
       layers than three times the nodes. */
    const size_t n = 3 * l->n_nodes + 3;
    layering g = {.l = l,
                  .least = tgi_alloc_zero(n * sizeof(*g.least)),
                  .lowest = tgi_alloc_zero(n * sizeof(*g.lowest)),
                  .used = tgi_alloc_zero(n * sizeof(*g.used)),
                  .is_placed = tgi_alloc_zero(n * sizeof(*g.is_placed))};
    const bool is_good = g.least && g.lowest && g.used && g.is_placed;
    if (is_good) {
        if (l->edges.n)
            qsort(l->edges.data, l->edges.n, sizeof(*l->edges.data),
                  compare_edges);
        place_early(&g);
        place_late(&g);
    } else {
        tgi_error_memory();
    }
    tgi_free(g.least);
    tgi_free(g.lowest);
    tgi_free(g.used);
    tgi_free(g.is_placed);
    return is_good;
}

static bool add_bends(tgi_layout *l)
{
    for (size_t i = 0; i < l->edges.n; i++) {
        tgi_layout_edge *edge = &l->edges.data[i];
        const uint32_t first = l->nodes.data[edge->from].layer + 1;
        const uint32_t end = l->nodes.data[edge->to].layer;
        edge->is_far = end - first + 1 > MAX_SPAN;
        edge->first_bend = (uint32_t)l->nodes.n;
        for (uint32_t layer = first; layer < end && !edge->is_far; layer++) {
            const tgi_layout_node bend = {.layer = layer};
            if (!tgi_vec_push(&l->nodes, bend)) {
                tgi_error_memory();
                return false;
            }
            edge->n_bends++;
        }
    }
    return true;
}

/* -- Neighbours ------------------------------------------------------------ */

/* Edges between adjacent layers, and each node's neighbours on one side: those
   of node i are all[first[i]] to all[first[i + 1] - 1]. */
typedef struct neighbours {
    uint32_t *first, *all;
} neighbours;

typedef struct placing {
    tgi_layout *l;
    uint32_t n_layers;
    uint32_t *order;       /* node numbers by layer … */
    uint32_t *layer_begin; /* … of which these are the first */
    uint32_t *position;    /* in its layer, by node */
    double *key;           /* by node: what it is sorted by, or its place */
    double width;          /* of the widest layer */
    double *room;          /* by position in a layer: working memory, twice */
    neighbours above, below;
} placing;

/* Calls `visit` for each pair of adjacent nodes, the upper one first. */
static void visit_links(const tgi_layout *l,
                        void visit(uint32_t upper, uint32_t lower, void *user),
                        void *user)
{
    for (size_t i = 0; i < l->edges.n; i++) {
        const tgi_layout_edge *edge = &l->edges.data[i];
        uint32_t upper = edge->from;
        if (edge->is_far)
            continue;
        for (uint32_t k = 0; k < edge->n_bends; k++) {
            visit(upper, edge->first_bend + k, user);
            upper = edge->first_bend + k;
        }
        visit(upper, edge->to, user);
    }
}

static void count_link(uint32_t upper, uint32_t lower, void *user)
{
    placing *p = user;
    p->above.first[lower + 1]++;
    p->below.first[upper + 1]++;
}

/* `first` is shifted by one node while the lists are filled. */
static void add_link(uint32_t upper, uint32_t lower, void *user)
{
    placing *p = user;
    p->above.all[p->above.first[lower]++] = upper;
    p->below.all[p->below.first[upper]++] = lower;
}

static void shift_back(uint32_t *first, size_t n)
{
    memmove(first + 1, first, n * sizeof(*first));
    first[0] = 0;
}

static void find_neighbours(placing *p)
{
    const size_t n = p->l->nodes.n;
    visit_links(p->l, count_link, p);
    for (size_t i = 0; i < n; i++) {
        p->above.first[i + 1] += p->above.first[i];
        p->below.first[i + 1] += p->below.first[i];
    }
    visit_links(p->l, add_link, p);
    shift_back(p->above.first, n);
    shift_back(p->below.first, n);
}

/* -- Order ----------------------------------------------------------------- */

static void begin_order(placing *p)
{
    const tgi_layout *l = p->l;
    for (size_t i = 0; i < l->nodes.n; i++)
        p->layer_begin[l->nodes.data[i].layer + 1]++;
    for (uint32_t i = 0; i < p->n_layers; i++)
        p->layer_begin[i + 1] += p->layer_begin[i];
    for (uint32_t i = 0; i < l->nodes.n; i++)
        p->order[p->layer_begin[l->nodes.data[i].layer]++] = i;
    shift_back(p->layer_begin, p->n_layers);
    for (uint32_t layer = 0; layer < p->n_layers; layer++)
        for (uint32_t i = p->layer_begin[layer]; i < p->layer_begin[layer + 1];
             i++)
            p->position[p->order[i]] = i - p->layer_begin[layer];
}

/* Sorts one layer by p->key; stable. Layers are short and nearly sorted. */
static void sort_layer(placing *p, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin + 1; i < end; i++)
        for (uint32_t k = i;
             k > begin && p->key[p->order[k]] < p->key[p->order[k - 1]]; k--) {
            const uint32_t node = p->order[k];
            p->order[k] = p->order[k - 1];
            p->order[k - 1] = node;
        }
    for (uint32_t i = begin; i < end; i++)
        p->position[p->order[i]] = i - begin;
}

static void order_layer(placing *p, uint32_t layer, const neighbours *side)
{
    const uint32_t begin = p->layer_begin[layer];
    const uint32_t end = p->layer_begin[layer + 1];
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t node = p->order[i];
        const uint32_t first = side->first[node];
        const uint32_t n = side->first[node + 1] - first;
        double sum = 0;
        for (uint32_t k = 0; k < n; k++)
            sum += p->position[side->all[first + k]];
        p->key[node] = n ? sum / n : p->position[node];
    }
    sort_layer(p, begin, end);
}

static void choose_order(placing *p)
{
    for (int sweep = 0; sweep < ORDER_SWEEPS; sweep++) {
        for (uint32_t i = 1; i < p->n_layers; i++)
            order_layer(p, i, &p->above);
        for (uint32_t i = p->n_layers; i-- > 0;)
            order_layer(p, i, &p->below);
    }
}

/* -- Positions ------------------------------------------------------------- */

static double distance_of(const tgi_layout *l, uint32_t left, uint32_t right)
{
    return (l->nodes.data[left].width + l->nodes.data[right].width) / 2 + GAP;
}

/* The mean of the neighbours on one side, or both. Bends count more, which
   straightens edges. */
static double wanted_x(const placing *p, uint32_t node, bool uses_above,
                       bool uses_below)
{
    const neighbours *const sides[] = {uses_above ? &p->above : NULL,
                                       uses_below ? &p->below : NULL};
    double sum = 0, weights = 0;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = sides[side] ? sides[side]->first[node] : 0;
             sides[side] && i < sides[side]->first[node + 1]; i++) {
            const tgi_layout_node *other =
                &p->l->nodes.data[sides[side]->all[i]];
            const double weight =
                other->width == 0 && p->l->nodes.data[node].width == 0 ? 4 : 1;
            sum += weight * other->x;
            weights += weight;
        }
    return weights > 0 ? sum / weights : p->l->nodes.data[node].x;
}

/* Each node as far left, and as far right, as its wish and the nodes beside it
   allow. The middle of both keeps the distances, too. */
static void place_layer(placing *p, uint32_t layer, bool uses_above,
                        bool uses_below)
{
    tgi_layout_node *nodes = p->l->nodes.data;
    const uint32_t begin = p->layer_begin[layer];
    const uint32_t n = p->layer_begin[layer + 1] - begin;
    double *left = p->room, *right = p->room + p->l->nodes.n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t node = p->order[begin + i];
        p->key[node] = left[i] = wanted_x(p, node, uses_above, uses_below);
        if (i) {
            const uint32_t before = p->order[begin + i - 1];
            const double least = left[i - 1] + distance_of(p->l, before, node);
            left[i] = left[i] > least ? left[i] : least;
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        const uint32_t node = p->order[begin + i];
        right[i] = p->key[node];
        if (i + 1 < n) {
            const uint32_t after = p->order[begin + i + 1];
            const double most = right[i + 1] - distance_of(p->l, node, after);
            right[i] = right[i] < most ? right[i] : most;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        nodes[p->order[begin + i]].x = (left[i] + right[i]) / 2;
    /* Within the picture, whose width fits all layers. */
    double least = 0, most = p->width;
    for (uint32_t i = 0; i < n; i++) {
        tgi_layout_node *node = &nodes[p->order[begin + i]];
        const double x = least + node->width / 2;
        node->x = node->x > x ? node->x : x;
        least = node->x + node->width / 2 + GAP;
    }
    for (uint32_t i = n; i-- > 0;) {
        tgi_layout_node *node = &nodes[p->order[begin + i]];
        const double x = most - node->width / 2;
        node->x = node->x < x ? node->x : x;
        most = node->x - node->width / 2 - GAP;
    }
}

static void choose_positions(placing *p)
{
    tgi_layout *l = p->l;
    for (uint32_t layer = 0; layer < p->n_layers; layer++) {
        double x = 0;
        for (uint32_t i = p->layer_begin[layer]; i < p->layer_begin[layer + 1];
             i++) {
            tgi_layout_node *node = &l->nodes.data[p->order[i]];
            node->x = x + node->width / 2;
            x += node->width + GAP;
        }
        p->width = x - GAP > p->width ? x - GAP : p->width;
    }
    for (int sweep = 0; sweep < POSITION_SWEEPS; sweep++) {
        /* From one side, a chain becomes straight in one sweep. */
        const bool uses_both = sweep >= POSITION_SWEEPS - 2;
        for (uint32_t i = 0; i < p->n_layers; i++)
            place_layer(p, i, true, uses_both);
        for (uint32_t i = p->n_layers; i-- > 0;)
            place_layer(p, i, uses_both, true);
    }
    double least = 0, most = 0;
    for (size_t i = 0; i < l->nodes.n; i++) {
        const tgi_layout_node *node = &l->nodes.data[i];
        const double begin = node->x - node->width / 2;
        const double end = node->x + node->width / 2;
        least = i == 0 || begin < least ? begin : least;
        most = i == 0 || end > most ? end : most;
    }
    for (size_t i = 0; i < l->nodes.n; i++) {
        tgi_layout_node *node = &l->nodes.data[i];
        node->x += MARGIN - least;
        node->y = MARGIN + (node->layer + 0.5) * l->layer_height;
    }
    l->width = most - least + 2 * MARGIN;
    l->height = p->n_layers * l->layer_height + 2 * MARGIN;
}

/* -- All ------------------------------------------------------------------- */

static size_t count_links(const tgi_layout *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->edges.n; i++)
        n += l->edges.data[i].is_far ? 0 : l->edges.data[i].n_bends + 1;
    return n;
}

static bool place(tgi_layout *l)
{
    const size_t n = l->nodes.n + 2, n_links = count_links(l) + 1;
    placing p = {.l = l};
    for (size_t i = 0; i < l->nodes.n; i++)
        if (l->nodes.data[i].layer >= p.n_layers)
            p.n_layers = l->nodes.data[i].layer + 1;
    const size_t n_numbers = 4 * n + 2 * n_links + p.n_layers + 2;
    uint32_t *numbers = tgi_alloc_zero(n_numbers * sizeof(*numbers));
    double *reals = tgi_alloc_zero(3 * n * sizeof(*reals));
    if (!numbers || !reals) {
        tgi_free(numbers);
        tgi_free(reals);
        tgi_error_memory();
        return false;
    }
    p.order = numbers;
    p.position = p.order + n;
    p.above.first = p.position + n;
    p.below.first = p.above.first + n;
    p.above.all = p.below.first + n;
    p.below.all = p.above.all + n_links;
    p.layer_begin = p.below.all + n_links;
    p.key = reals;
    p.room = reals + n;
    find_neighbours(&p);
    begin_order(&p);
    choose_order(&p);
    choose_positions(&p);
    tgi_free(numbers);
    tgi_free(reals);
    return true;
}

bool tgi_layout_run(tgi_layout *layout)
{
    return choose_layers(layout) && add_bends(layout) && place(layout);
}
