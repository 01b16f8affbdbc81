/* SPDX-License-Identifier: MIT */
/*
 * page.h - a page in the making: what its parts share.
 */
#ifndef TGI_PAGE_H
#define TGI_PAGE_H

#include "front/inspect/assembly.h"
#include "front/inspect/html.h"
#include "front/inspect/inspection.h"
#include "front/inspect/page_style.h"
#include "ir/dump.h"
#include "memory/memory_plan.h"

enum { TGI_PAGE_NODE_KERNELS = 3 };

/* What became of a node. Kernels and buffers are numbered from 1; 0: none. */
typedef struct tgi_page_node {
    uint32_t buffer;
    uint32_t kernels[TGI_PAGE_NODE_KERNELS]; /* that compute it */
    uint32_t n_kernels;                      /* of them all */
    const char *reason; /* why it is stored: a part of a line, or NULL */
} tgi_page_node;

/* A source line, and a node that it traced. */
typedef struct tgi_page_use {
    uint32_t file; /* of the page's files */
    int line;
    uint32_t graph;
    tgi_ref node;
} tgi_page_use;

typedef struct tgi_page_file {
    const char *path;
    char *text;    /* NULL: it could not be read */
    size_t *lines; /* offsets of their beginnings */
    size_t n_lines;
    size_t first_use, n_uses; /* in the page's list */
} tgi_page_file;

/* The profile of a kernel, or of an operation if calls are interpreted. */
typedef struct tgi_page_unit {
    char *name;
    bool is_interpreted;
    uint32_t kernel; /* number, or 0 */
    uint64_t n_runs, total_ns, median_ns, min_ns, wait_ns;
    double gigabytes, gigaflops, roof, imbalance; /* per second; 0: unknown */
    int threads;
} tgi_page_unit;

typedef struct tgi_page_profile {
    bool is_known;
    uint64_t n_calls, n_interpreted;
    uint64_t total_ns, barrier_ns, host_ns, other_ns, temporary_bytes;
    TGI_VEC(tgi_page_unit) units; /* the longest first */
} tgi_page_profile;

typedef struct tgi_page {
    const tgi_inspection *of;
    const tgi_loops *loops; /* or NULL */
    tgi_strbuf *out;
    tgi_graph_list graphs;
    tgi_page_node **nodes; /* by graph, then by ref */
    TGI_VEC(tgi_page_file) files;
    TGI_VEC(tgi_page_use) uses; /* sorted */
    tgi_assembly assembly;
    tgi_page_profile profile;
    int64_t *sizes, *offsets; /* by buffer; NULL without loops */
    tgi_memory_plan plan;
    bool has_plan;
} tgi_page;

/* -- Facts (page_facts.c) -------------------------------------------------- */

/* Collects everything that the parts show; false when out of memory
   (recorded). Deinit is due in both cases. */
bool tgi_page_init(tgi_page *page, const tgi_inspection *of, tgi_strbuf *out);
void tgi_page_deinit(tgi_page *page);

/* The profile of the trace (page_profile.c); false when out of memory. */
bool tgi_page_read_profile(tgi_page *page);
/* Of a kernel; NULL: there is none. */
const tgi_page_unit *tgi_page_unit_of(const tgi_page *page, uint32_t kernel);

/* The files of the page's uses (page_source.c), likewise. */
bool tgi_page_read_sources(tgi_page *page);
/* The text of a line, without its indentation; NULL: unknown. */
const char *tgi_page_line(const tgi_page *page, uint32_t file, int line,
                          size_t *out_n);
/* The number of a file; UINT32_MAX: the page does not have it. */
uint32_t tgi_page_find_file(const tgi_page *page, const char *path);

/* -- Parts ----------------------------------------------------------------- */

void tgi_page_print_sources(const tgi_page *page);
void tgi_page_print_profile(const tgi_page *page);
void tgi_page_print_program(const tgi_page *page);
void tgi_page_print_kernels(const tgi_page *page);
void tgi_page_print_memory(const tgi_page *page);
/* False when out of memory (recorded). */
bool tgi_page_print_graphs(const tgi_page *page);
bool tgi_page_print_program_picture(const tgi_page *page);

/* -- Links ----------------------------------------------------------------- */

/* A coloured link to a kernel: its number. */
void tgi_page_link_kernel(const tgi_page *page, uint32_t kernel);
/* A link to a node: "%12". */
void tgi_page_link_node(const tgi_page *page, size_t graph, tgi_ref ref);
/* A link to a source line: "step.c:12"; nothing without a file. */
void tgi_page_link_site(const tgi_page *page, tg_site site);
/* The attribute that marks what belongs to a line: ` data-l="0-12"`. */
void tgi_page_mark_line(const tgi_page *page, tg_site site);
/* "t5", "p0": as in the loops. */
void tgi_page_buffer_name(const tgi_page *page, uint32_t buffer,
                          tgi_strbuf *out);

/* The class of a kernel's colour: 0 … 7; -1 for none. */
static inline int tgi_page_colour(uint32_t kernel)
{
    return kernel ? (int)((kernel - 1) % TGI_PAGE_COLOURS) : -1;
}

#endif /* TGI_PAGE_H */
