/* SPDX-License-Identifier: MIT */
/*
 * test_profile_store.c - the store of profiles, the timeline and the roofs of
 * reports, without calls.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/profile.h"
#include "profile/timeline.h"
#include "run/roof.h"
#include "support/support.h"

/* -- Histograms ------------------------------------------------------------ */

Test(histogram, median_is_within_its_bucket)
{
    for (uint64_t ns = 1; ns < UINT64_C(1) << 40; ns = ns * 9 / 8 + 1) {
        tgi_histogram h = {0};
        tgi_histogram_add(&h, ns, 1);
        const double median = (double)tgi_histogram_median(&h);
        cr_assert_leq(median, 1.07 * (double)ns + 1);
        cr_assert_geq(median, 0.93 * (double)ns - 1);
    }
}

Test(histogram, median_divides_the_runs)
{
    tgi_histogram h = {0};
    cr_assert_eq(tgi_histogram_median(&h), 0);
    tgi_histogram_add(&h, 1000, 40);
    tgi_histogram_add(&h, 5, 30);
    tgi_histogram_add(&h, 1000000, 30);
    const uint64_t median = tgi_histogram_median(&h);
    cr_assert(median > 900 && median < 1100, "%llu",
              (unsigned long long)median);
}

Test(histogram, accepts_any_duration)
{
    tgi_histogram h = {0};
    tgi_histogram_add(&h, UINT64_MAX, UINT64_MAX);
    tgi_histogram_add(&h, 0, 1);
    cr_assert_gt(tgi_histogram_median(&h), UINT64_C(1) << 38);
}

/* -- The store ------------------------------------------------------------- */

static tgi_profile_trace *get_trace(const char *function, size_t number,
                                    bool *is_new)
{
    const tgi_profile_key key = {function, number, {"file.c", 3}};
    tgi_profile_trace *cached = NULL;
    tgi_profile_trace *trace = tgi_profile_trace_get(&key, &cached, is_new);
    tgi_profile_trace_release(cached);
    return trace;
}

static const tg_site sites[] = {{"a.c", 1}, {"b.c", 2}};

static tgi_profile_unit *get_unit(tgi_profile_trace *trace, const char *name)
{
    const tgi_profile_unit like = {
        .name = name, .ops = "add", .sites = sites, .n_sites = 2};
    return tgi_profile_unit_get(trace, &like);
}

Test(profile, equal_keys_are_one_trace_and_equal_names_one_unit)
{
    bool is_new;
    tgi_profile_begin();
    tgi_profile_trace *a = get_trace("f", 1, &is_new);
    cr_assert(a && is_new);
    tgi_profile_trace *b = get_trace("f", 1, &is_new);
    cr_assert(a == b && !is_new);
    tgi_profile_trace *c = get_trace("f", 2, &is_new);
    cr_assert(c && c != a && is_new);
    cr_assert_eq(get_unit(a, "x"), get_unit(a, "x"));
    cr_assert_neq(get_unit(a, "x"), get_unit(a, "y"));
    cr_assert_neq(get_unit(a, "x"), get_unit(c, "x"));
    tgi_profile_trace_release(a);
    tgi_profile_trace_release(b);
    tgi_profile_trace_release(c);
    tgi_profile_end();
    tgi_profile_clear();
    check_nothing_is_alive();
}

static void read_first(const tgi_profile_view *view, void *user)
{
    cr_assert_eq(view->n_traces, 1);
    *(tgi_profile_trace *)user = *view->traces[0];
}

Test(profile, calls_add_up)
{
    bool is_new;
    tgi_profile_trace seen;
    tgi_profile_begin();
    tgi_profile_trace *trace = get_trace("f", 1, &is_new);
    tgi_profile_unit *unit = get_unit(trace, "x");
    for (uint64_t i = 1; i <= 3; i++) {
        const tgi_profile_sample sample = {.unit = unit,
                                           .n_runs = 2,
                                           .ns = 100 * i,
                                           .min_ns = 40 * i,
                                           .threads_ns = 150 * i,
                                           .bytes = 8,
                                           .flops = 4};
        const tgi_profile_call call = {.total_ns = 200 * i,
                                       .temporary_bytes = 1000 - i,
                                       .n_threads = 2,
                                       .samples = &sample,
                                       .n_samples = 1};
        tgi_profile_add_call(trace, &call);
    }
    tgi_profile_read(read_first, &seen);
    cr_assert_eq(seen.n_calls, 3);
    cr_assert_eq(seen.total_ns, 1200);
    cr_assert_eq(seen.temporary_bytes, 999);
    cr_assert_eq(unit->n_runs, 6);
    cr_assert_eq(unit->total_ns, 600);
    cr_assert_eq(unit->min_ns, 40);
    cr_assert_eq(unit->threads_ns, 900);
    cr_assert_eq(unit->bytes, 48);
    cr_assert_eq(unit->flops, 24);
    cr_assert_eq(unit->threads, 2);
    tgi_profile_trace_release(trace);
    tgi_profile_end();
    tgi_profile_clear();
    check_nothing_is_alive();
}

/* A run may end after its profile has been replaced. */
Test(profile, a_trace_outlives_its_profile_while_it_is_used)
{
    bool is_new;
    tgi_profile_begin();
    tgi_profile_trace *old = get_trace("f", 1, &is_new);
    tgi_profile_begin();
    tgi_profile_add_call(old, &(tgi_profile_call){.total_ns = 1});
    tgi_profile_trace *now = get_trace("f", 1, &is_new);
    cr_assert(is_new && now != old);
    cr_assert_eq(now->n_calls, 0);
    tgi_profile_trace_release(old);
    tgi_profile_trace_release(now);
    tgi_profile_end();
    tgi_profile_clear();
    check_nothing_is_alive();
}

Test(profile, a_cached_trace_is_replaced_with_its_profile)
{
    bool is_new;
    const tgi_profile_key key = {"f", 1, {NULL, 0}};
    tgi_profile_trace *cached = NULL;
    tgi_profile_begin();
    tgi_profile_trace *a = tgi_profile_trace_get(&key, &cached, &is_new);
    cr_assert(is_new && a == cached);
    tgi_profile_trace *b = tgi_profile_trace_get(&key, &cached, &is_new);
    cr_assert(!is_new && b == a);
    tgi_profile_clear();
    tgi_profile_trace *c = tgi_profile_trace_get(&key, &cached, &is_new);
    cr_assert(is_new && c != a && c == cached);
    tgi_profile_trace_release(a);
    tgi_profile_trace_release(b);
    tgi_profile_trace_release(c);
    tgi_profile_trace_release(cached);
    tgi_profile_end();
    tgi_profile_clear();
    check_nothing_is_alive();
}

static void read_counts(const tgi_profile_view *view, void *user)
{
    uint64_t *counts = user;
    counts[0] = view->n_traces;
    counts[1] = view->n_dropped;
}

Test(profile, memory_is_bounded)
{
    bool is_new;
    uint64_t counts[2];
    tgi_profile_begin();
    for (size_t i = 0; i < TGI_PROFILE_MAX_TRACES + 10; i++) {
        tgi_profile_trace *trace = get_trace("f", i, &is_new);
        cr_assert_eq(trace != NULL, i < TGI_PROFILE_MAX_TRACES);
        tgi_profile_add_call(trace, &(tgi_profile_call){.total_ns = 1});
        tgi_profile_trace_release(trace);
    }
    tgi_profile_read(read_counts, counts);
    cr_assert_eq(counts[0], TGI_PROFILE_MAX_TRACES);
    cr_assert_eq(counts[1], 10);
    tgi_profile_end();
    tgi_profile_clear();
    check_nothing_is_alive();
}

/* -- The timeline ---------------------------------------------------------- */

/* The events of a file that is removed. */
static json_t *read_events(const char *path)
{
    json_error_t error;
    json_t *events = json_load_file(path, 0, &error);
    cr_assert_not_null(events, "%s:%d: %s", path, error.line, error.text);
    cr_assert(json_is_array(events));
    (void)unlink(path);
    return events;
}

static const char *string_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

/* The number of spans, and of other events. */
static void count_events(const json_t *events, size_t *out_spans,
                         size_t *out_others)
{
    *out_spans = *out_others = 0;
    for (size_t i = 0; i < json_array_size(events); i++)
        if (strcmp(string_of(json_array_get(events, i), "ph"), "X") == 0)
            ++*out_spans;
        else
            ++*out_others;
}

static void *add_many(void *user)
{
    tgi_timeline_name_thread("adder");
    for (int i = 0; i < 2000; i++) {
        const uint64_t begin = tgi_timeline_begin();
        tgi_timeline_end("test", user, begin);
    }
    return NULL;
}

Test(timeline, events_of_several_threads_are_complete)
{
    const char path[] = "test_timeline_threads.json";
    pthread_t threads[3];
    size_t spans, others;
    cr_assert_eq(tgi_timeline_open(path), TG_OK, "%s", tg_error(NULL));
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, add_many, "span"), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(tgi_timeline_close(), TG_OK);
    json_t *events = read_events(path);
    count_events(events, &spans, &others);
    cr_assert_eq(spans, 6000);
    cr_assert_eq(others, 4); /* names: the process, three threads */
    json_decref(events);
}

/* Names of events come from the user. */
Test(timeline, any_name_is_valid_json)
{
    const char path[] = "test_timeline_names.json";
    char name[1000];
    for (size_t i = 0; i < sizeof(name) - 1; i++)
        name[i] = (char)(1 + i % 255);
    name[sizeof(name) - 1] = 0;
    cr_assert_eq(tgi_timeline_open(path), TG_OK);
    for (int i = 0; i < 200; i++)
        tgi_timeline_add(name, name + i, name + 2 * i, tgi_clock_ns(),
                         UINT64_MAX);
    cr_assert_eq(tgi_timeline_close(), TG_OK);
    json_t *events = read_events(path);
    cr_assert_eq(json_array_size(events), 202);
    json_decref(events);
}

/* The file is valid also after a buffer was written and before the next. */
Test(timeline, the_file_is_valid_without_being_closed)
{
    const char path[] = "test_timeline_killed.json";
    size_t spans, others;
    const pid_t child = fork();
    if (child == 0) {
        if (tgi_timeline_open(path))
            _exit(1);
        add_many("span");
        _exit(0); /* no exit handler */
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    json_t *events = read_events(path);
    count_events(events, &spans, &others);
    cr_assert(spans > 100 && spans < 2000, "%zu", spans);
    json_decref(events);
}

Test(timeline, a_forked_child_does_not_write)
{
    const char path[] = "test_timeline_forked.json";
    cr_assert_eq(tgi_timeline_open(path), TG_OK);
    add_many("parent");
    const pid_t child = fork();
    if (child == 0) {
        const uint64_t begin = tgi_timeline_begin();
        add_many("child");
        tgi_timeline_close();
        _exit(begin != 0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert_eq(tgi_timeline_close(), TG_OK);
    json_t *events = read_events(path);
    for (size_t i = 0; i < json_array_size(events); i++)
        cr_assert_str_neq(string_of(json_array_get(events, i), "name"),
                          "child");
    json_decref(events);
}

Test(timeline, a_file_that_cannot_be_created_is_an_error)
{
    cr_assert_eq(tgi_timeline_open("/nonexistent/dir/x.json"), TG_ERROR_FILE);
    cr_assert(!tgi_profile_is_on());
    cr_assert_not_null(strstr(tg_error(NULL), "/nonexistent/dir/x.json"));
}

Test(timeline, there_is_one_at_a_time)
{
    const char path[] = "test_timeline_twice.json";
    cr_assert_eq(tgi_timeline_open(path), TG_OK);
    cr_assert_eq(tgi_timeline_open(path), TG_ERROR_BUSY);
    cr_assert_eq(tgi_timeline_close(), TG_OK);
    cr_assert_eq(tgi_timeline_close(), TG_OK);
    json_decref(read_events(path));
}

/* A limit on file sizes acts like a full disk. */
Test(timeline, a_failed_write_is_reported_when_it_is_closed)
{
    const char path[] = "test_timeline_full.json";
    const struct rlimit limit = {4096, RLIM_INFINITY};
    cr_assert_eq(tgi_timeline_open(path), TG_OK);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    add_many("span");
    cr_assert_eq(tgi_timeline_close(), TG_ERROR_FILE);
    cr_assert(!tgi_profile_is_on());
    (void)unlink(path);
}

/* -- Roofs ----------------------------------------------------------------- */

Test(roof, is_positive_and_work_takes_time)
{
    const tgi_roof *roof = tgi_roof_get();
    for (int t = 0; t < TGI_ROOF_TEAMS; t++) {
        const tgi_roof_team *team = &roof->teams[t];
        cr_assert_geq(team->n_threads, 1);
        cr_assert_gt(team->flops, 0);
        for (int i = 0; i < TGI_ROOF_LEVELS; i++)
            cr_assert_gt(team->bandwidth[i], 0);
    }
    const double seconds = tgi_roof_seconds(roof, 1, 0, 1e9, 4);
    cr_assert_gt(seconds, 0);
    cr_assert_float_eq(tgi_roof_seconds(roof, 1, 0, 1e9, 8), 2 * seconds,
                       1e-9 * seconds);
    cr_assert_gt(tgi_roof_seconds(roof, 1, 1e12, 1e9, 4), seconds);
    check_nothing_is_alive();
}
