/* SPDX-License-Identifier: MIT */
/*
 * inspect_session.c - see inspect_session.h. One lock guards the pages of all
 * traces; at exit, those that still exist are written.
 */
#include "front/inspect/inspect_session.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/at_fork.h"
#include "base/error.h"
#include "base/live.h"
#include "front/inspect/page.h"
#include "front/object/dump_file.h"

struct tgi_inspect_page {
    tgi_inspection inspection;
    char *path;
    pid_t writer; /* a forked child does not write the pages of its parent */
    tgi_inspect_page *next_of_trace;
    tgi_inspect_page *next, **link; /* in the list of all */
};

static struct {
    pthread_mutex_t lock;
    tgi_inspect_page *first;
    bool is_registered; /* to be called at exit */
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

TGI_LOCK_ACROSS_FORK(&session.lock, (void)0)

/* -- Writing --------------------------------------------------------------- */

/* A page that cannot be written again stays without a profile. */
static void write_with_profile(const tgi_inspect_page *page)
{
    tgi_error_copy before;
    if (page->writer != getpid() ||
        !tgi_inspection_has_profile(&page->inspection))
        return;
    tgi_error_save(&before);
    if (tgi_inspection_write(&page->inspection, page->path))
        tgi_error_restore(&before);
}

static void write_at_exit(void)
{
    pthread_mutex_lock(&session.lock);
    for (const tgi_inspect_page *page = session.first; page; page = page->next)
        write_with_profile(page);
    pthread_mutex_unlock(&session.lock);
}

/* -- Pages ----------------------------------------------------------------- */

static void page_free(tgi_inspect_page *page)
{
    tgi_inspection_deinit(&page->inspection);
    tgi_free(page->path);
    tgi_free(page);
}

static char *make_path(const char *dir, const char *function, unsigned number,
                       uint64_t context, unsigned variant)
{
    tgi_strbuf path = {0};
    tgi_strbuf_addf(&path, "%s/", dir);
    tgi_dump_file_name(&path, function, number);
    if (context > 1)
        tgi_strbuf_addf(&path, ".context%llu", (unsigned long long)context);
    if (variant > 1)
        tgi_strbuf_addf(&path, ".variant%u", variant);
    tgi_strbuf_add(&path, ".html");
    return tgi_strbuf_take(&path);
}

/* Lock held. */
static tg_status add_to_lists(tgi_inspect_page **list, tgi_inspect_page *page)
{
    if (!session.is_registered && atexit(write_at_exit) != 0)
        return tgi_error_memory();
    session.is_registered = true;
    page->next_of_trace = *list;
    *list = page;
    page->next = session.first;
    page->link = &session.first;
    if (page->next)
        page->next->link = &page->next;
    session.first = page;
    return TG_OK;
}

tg_status tgi_inspect_add_page(tgi_inspect_page **list, const char *dir,
                               uint64_t context, unsigned number,
                               tgi_inspection *inspection)
{
    tgi_inspect_page *page = tgi_alloc_zero(sizeof(*page));
    if (!page) {
        tgi_inspection_deinit(inspection);
        return tgi_error_memory();
    }
    page->inspection = *inspection;
    page->writer = getpid();
    pthread_mutex_lock(&session.lock);
    unsigned variant = 1;
    for (const tgi_inspect_page *other = *list; other;
         other = other->next_of_trace)
        variant++;
    page->path =
        make_path(dir, page->inspection.function, number, context, variant);
    tg_status status = page->path ? TG_OK : tgi_error_memory();
    if (!status)
        status = tgi_inspection_write(&page->inspection, page->path);
    if (!status)
        status = add_to_lists(list, page);
    pthread_mutex_unlock(&session.lock);
    if (status)
        page_free(page);
    return status;
}

void tgi_inspect_close_pages(tgi_inspect_page *list)
{
    while (list) {
        tgi_inspect_page *page = list;
        list = page->next_of_trace;
        pthread_mutex_lock(&session.lock);
        *page->link = page->next;
        if (page->next)
            page->next->link = page->link;
        write_with_profile(page);
        pthread_mutex_unlock(&session.lock);
        page_free(page);
    }
}
