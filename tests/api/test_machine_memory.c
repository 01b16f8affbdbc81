/* SPDX-License-Identifier: MIT */
/*
 * test_machine_memory.c - limits of control groups, read from directories that
 * imitate /proc and /sys, and calls that need more memory than the machine has.
 */
#include "base/machine_memory.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/modes.h"

/* -- Control groups -------------------------------------------------------- */

static char root[64];

static void make_root(void)
{
    strcpy(root, "/tmp/tgjit-cgroup-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *info, int type,
                      struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

static void remove_root(void)
{
    cr_assert_eq(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Writes a file under the root and creates its folders. */
static void put(const char *name, const char *text)
{
    char path[512];
    cr_assert_lt(snprintf(path, sizeof(path), "%s%s", root, name),
                 (int)sizeof(path));
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(machine_memory, without_groups_there_is_no_limit)
{
    make_root();
    cr_assert_eq(tgi_cgroup_memory_limit(root), UINT64_MAX);
    put("/proc/self/cgroup", "0::/\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), UINT64_MAX);
    put("/sys/fs/cgroup/memory.max", "max\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), UINT64_MAX);
    put("/proc/self/cgroup", "no line of that kind\n\n:\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), UINT64_MAX);
    remove_root();
}

Test(machine_memory, version_2_has_the_least_limit_of_the_groups_around)
{
    make_root();
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), UINT64_MAX);
    put("/sys/fs/cgroup/a/memory.max", "3000000\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), 3000000);
    put("/sys/fs/cgroup/a/b/memory.max", "2000000\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), 2000000);
    put("/sys/fs/cgroup/memory.max", "1000000\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), 1000000);
    remove_root();
}

Test(machine_memory, version_1_has_a_hierarchy_for_memory)
{
    make_root();
    put("/proc/self/cgroup",
        "5:cpu,cpuacct:/c\n4:hugetlb,memory:/a/b\n3:memory_other:/d\n0::/e\n");
    put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1\n");
    put("/sys/fs/cgroup/memory/d/memory.limit_in_bytes", "2\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), UINT64_MAX);
    /* The host's path inside a container, where the group itself is mounted. */
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), 9223372036854771712u);
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000000\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), 5000000);
    /* Both versions at once. */
    put("/sys/fs/cgroup/unified/e/memory.max", "4000000\n");
    cr_assert_eq(tgi_cgroup_memory_limit(root), 4000000);
    remove_root();
}

Test(machine_memory, malformed_limits_are_ignored)
{
    make_root();
    put("/proc/self/cgroup", "0::/a\n");
    static const char *const texts[] = {"", "\n", "-1\n", "lots\n",
                                        "99999999999999999999999\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        put("/sys/fs/cgroup/a/memory.max", texts[i]);
        cr_assert_eq(tgi_cgroup_memory_limit(root), UINT64_MAX, "%s", texts[i]);
    }
    remove_root();
}

/* -- Contexts -------------------------------------------------------------- */

/* Has a temporary of n more elements in every mode. */
static void sum_of_many(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t n = *(const int64_t *)user;
    tg_return(t, tg_sum(tg_pad(in[0], 0, 0, n, 1), TG_ALL_AXES));
}

/* Two more results of n elements. */
static void two_of_many(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t n = *(const int64_t *)user;
    tg_value many = tg_pad(in[0], 0, 0, n, 1);
    tg_return(t, tg_sin(many), tg_cos(many));
}

static void call_too_large(session *s, tg_callback *callback, int64_t n,
                           size_t n_results, uint64_t limit, const char *what)
{
    char text[64];
    tg_function *f = tg_function_create(s->ctx, callback, &n, NULL);
    tg_tensor *x = tg_tensor_copy(s->ctx, (float[]){1, 2}, TG_F32, TG_DIMS(2));
    tg_tensor *y[2] = {NULL, NULL};
    const tg_result results[] = {TG_OUT(&y[0]), TG_OUT(&y[1])};
    snprintf(text, sizeof(text), "limit is %llu", (unsigned long long)limit);
    check_fails(tg_call(f, TG_ARGS(x), results, n_results),
                TG_ERROR_OUT_OF_MEMORY, "out of memory", what, text);
    cr_assert(!y[0] && !y[1]);
    tg_tensor_release(x);
    tg_function_release(f);
}

static void exceed_machine(session *s)
{
    const uint64_t machine = tgi_machine_memory();
    const int64_t n = (int64_t)(machine / sizeof(float)) + 1;
    char text[64];
    cr_assert_lt(machine, UINT64_MAX);
    snprintf(text, sizeof(text), "limit is %llu", (unsigned long long)machine);
    call_too_large(s, sum_of_many, n, 1, machine, "of temporaries");
    cr_assert_null(tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n), tg_zeros()));
    check_record(TG_ERROR_OUT_OF_MEMORY, "tg_tensor_create", text);
    cr_assert_null(
        tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(n), tg_zeros()));
    check_record(TG_ERROR_OUT_OF_MEMORY, "tg_variable_create", text);
}

Test(machine_memory, by_default_it_is_the_limit)
{
    static const char *const modes[] = {"off", "auto", "required"};
    char text[1024];
    const int n = tgi_jit_describe(text, sizeof(text)) ? 3 : 2;
    for (int i = 0; i < n; i++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = modes[i]});
        exceed_machine(&s);
        session_end(&s);
    }
}

/* The interpreter computes results in its own memory, in addition to the
   tensors; compiled code stores them in the tensors. */
static void exceed_by_sum(const char *jit, uint64_t limit)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = jit,
                                                .memory_limit = limit});
    call_too_large(&s, two_of_many, 3 << 16, 2, limit,
                   "of temporaries and results");
    session_end(&s);
}

Test(machine_memory, temporaries_and_results_count_together)
{
    char text[1024];
    exceed_by_sum("off", 3 << 20);
    if (tgi_jit_describe(text, sizeof(text)))
        exceed_by_sum("required", 1 << 20);
}
