/* SPDX-License-Identifier: MIT */
/*
 * test_faults_files.c - memory that runs out while files are read and written,
 * at every allocation in turn: an error, no leak, and no temporary file.
 * jansson's own allocations fail in a test of theirs: it may say that the text
 * is bad then.
 */
#include <jansson.h>

#include "support/files.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* Runs a scenario in a folder of its own, in which it leaves n files. */
static void check_files_fault(bool (*scenario)(void), int n_files)
{
    strcpy(folder, "/tmp/tgjit-faults-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    check_every_fault(scenario);
    const int n = remove_folder(folder);
    cr_assert_eq(n, n_files, "%d files are left, not %d", n, n_files);
}

static tg_context *begin(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    return tg_context_create(&options);
}

static tg_tensor *vector(tg_context *ctx, tg_dtype dtype)
{
    static const double data[4] = {1, 2, 3, 4};
    return tg_tensor_copy(ctx, data, dtype, TG_DIMS(3));
}

/* -- .npy ------------------------------------------------------------------ */

static bool npy_scenario(void)
{
    static const char transposed[] =
        "\x93NUMPY\1\0\x3a\0{'descr': '>f4', 'fortran_order': True, 'shape': "
        "(1, 2)}  abcdefgh";
    tg_load_options options = TG_LOAD_OPTIONS_INIT;
    options.no_map = true;
    FILE *file = fopen(in_folder("transposed.npy"), "wb");
    fwrite(transposed, 1, sizeof(transposed) - 1, file);
    fclose(file);
    tg_context *ctx = begin();
    tg_tensor *x = ctx ? vector(ctx, TG_F32) : NULL, *y = NULL, *z = NULL,
              *w = NULL;
    const bool good =
        x && tg_npy_save(x, in_folder("x.npy")) == TG_OK &&
        (y = tg_npy_load(ctx, in_folder("x.npy"))) &&
        (z = tg_npy_load_with(ctx, in_folder("x.npy"), &options)) &&
        (w = tg_npy_load(ctx, in_folder("transposed.npy")));
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_tensor_release(w);
    tg_context_release(ctx);
    return good;
}

Test(faults, npy_files)
{
    check_files_fault(npy_scenario, 2);
}

/* -- Archives -------------------------------------------------------------- */

static bool fill_archive(tg_archive *a, tg_context *ctx)
{
    static const tg_dtype dtypes[] = {TG_F32, TG_U8, TG_F64};
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        tg_tensor *x = vector(ctx, dtypes[i]);
        const bool good = x && tg_archive_add(a, names[i], x) == TG_OK;
        tg_tensor_release(x);
        if (!good)
            return false;
    }
    return tg_archive_add_metadata(a, "key", "value") == TG_OK;
}

static bool archive_scenario_of(const char *name)
{
    tg_context *ctx = begin();
    tg_archive *a = ctx ? tg_archive_create(ctx) : NULL;
    const bool good = a && fill_archive(a, ctx) &&
                      tg_archive_save(a, in_folder(name)) == TG_OK &&
                      reads_archive(ctx, in_folder(name));
    tg_archive_release(a);
    tg_context_release(ctx);
    return good;
}

static bool npz_scenario(void)
{
    return archive_scenario_of("x.npz");
}

static bool safetensors_scenario(void)
{
    return archive_scenario_of("x.safetensors");
}

static bool compressed_scenario(void)
{
    FILE *file = fopen(in_folder("x.npz"), "wb");
    fwrite(compressed_npz, 1, sizeof(compressed_npz), file);
    fclose(file);
    tg_context *ctx = begin();
    const bool good = ctx && (reads_archive(ctx, in_folder("x.npz")) ||
                              tg_error_last()->status == TG_ERROR_UNSUPPORTED);
    tg_context_release(ctx);
    return good;
}

Test(faults, npz_files)
{
    check_files_fault(npz_scenario, 1);
}

Test(faults, compressed_files)
{
    check_files_fault(compressed_scenario, 1);
}

Test(faults, safetensors_files)
{
    check_files_fault(safetensors_scenario, 1);
}

/* -- Memory of jansson ----------------------------------------------------- */

static long json_left; /* allocations until one fails */
static size_t json_live;

static void *json_alloc(size_t n)
{
    if (json_left-- == 0)
        return NULL;
    json_live++;
    return malloc(n);
}

static void json_release(void *memory)
{
    json_live -= memory != NULL;
    free(memory);
}

Test(faults, jansson)
{
    static const char *const names[] = {"x.npz", "x.safetensors"};
    strcpy(folder, "/tmp/tgjit-faults-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        cr_assert(archive_scenario_of(names[i]), "%s", tg_error(NULL));
        tg_context *ctx = begin();
        bool good = false;
        json_set_alloc_funcs(json_alloc, json_release);
        for (long nth = 0; !good; nth++) {
            json_left = nth;
            tg_error_clear();
            good = reads_archive(ctx, in_folder(names[i]));
            cr_assert_eq(json_live, 0, "allocation %ld: a leak", nth);
            cr_assert(good || tg_error_last()->status != TG_OK);
            cr_assert(!good || json_left >= 0, "allocation %ld was missed",
                      nth);
        }
        json_set_alloc_funcs(malloc, free);
        tg_context_release(ctx);
    }
    cr_assert_eq(remove_folder(folder), 2);
    check_nothing_is_alive();
}

/* -- Checkpoints ----------------------------------------------------------- */

typedef struct pair {
    tg_variable *a, *b;
} pair;

static const tg_bundle_field pair_fields[] = {TG_FIELD(pair, a),
                                              TG_FIELD(pair, b)};
static const tg_bundle_type pair_type = TG_BUNDLE(pair, pair_fields);

/* If anything fails, both variables keep their contents. */
static bool checkpoint_scenario(void)
{
    static const float saved[] = {1, 2}, other[] = {5, 6};
    tg_context *ctx = begin();
    pair p = {NULL, NULL};
    if (ctx) {
        p.a = tg_variable_create(ctx, "a", TG_F32, TG_DIMS(2),
                                 tg_from_data(saved));
        p.b = tg_variable_create(ctx, "b", TG_F32, TG_DIMS(2),
                                 tg_from_data(saved));
    }
    bool good = p.a && p.b &&
                tg_bundle_save(&pair_type, &p, in_folder("p.safetensors")) ==
                    TG_OK &&
                tg_variable_set(p.a, other, sizeof(other)) == TG_OK &&
                tg_variable_set(p.b, other, sizeof(other)) == TG_OK;
    if (good) {
        float a[2], b[2];
        good = tg_bundle_load(&pair_type, &p, in_folder("p.safetensors")) ==
               TG_OK;
        const float *want = good ? saved : other;
        cr_assert_eq(tg_variable_get(p.a, a, sizeof(a)), TG_OK);
        cr_assert_eq(tg_variable_get(p.b, b, sizeof(b)), TG_OK);
        cr_assert(memcmp(a, want, sizeof(a)) == 0 &&
                  memcmp(b, want, sizeof(b)) == 0);
    }
    tg_bundle_release(&pair_type, &p);
    tg_context_release(ctx);
    return good;
}

Test(faults, checkpoints)
{
    check_files_fault(checkpoint_scenario, 1);
}

static bool prefix_scenario(void)
{
    tg_context *ctx = begin();
    tg_archive *a = ctx ? tg_archive_create(ctx) : NULL;
    tg_variable *v[2] = {NULL, NULL};
    for (int i = 0; i < 2 && a; i++)
        v[i] = tg_variable_create(ctx, "v", TG_F32, TG_DIMS(2), tg_zeros());
    bool good = v[0] && v[1];
    if (good) {
        good = tg_archive_add_variables(a, "p", v, 2) == TG_OK;
        cr_assert_eq(tg_archive_count(a), good ? 2 : 0);
        good = good &&
               tg_archive_get_variables(a, "p", v, 2, NULL) == TG_OK;
    }
    tg_variable_release(v[0]);
    tg_variable_release(v[1]);
    tg_archive_release(a);
    tg_context_release(ctx);
    return good;
}

Test(faults, variables_in_archives)
{
    check_files_fault(prefix_scenario, 0);
}

/* -- CSV ------------------------------------------------------------------- */

static bool csv_scenario(void)
{
    static const tg_csv_columns groups[] = {{.name = "a", .dtype = TG_I64},
                                            {.name = "b", .n = TG_CSV_REST}};
    tg_csv_options options = TG_CSV_OPTIONS_INIT;
    options.has_header = true;
    FILE *file = fopen(in_folder("x.csv"), "w");
    fprintf(file, "a,b,c\n");
    for (int i = 0; i < 9000; i++)
        fprintf(file, "%d,0.5,\"%d\"\n", i, i);
    fclose(file);
    tg_context *ctx = begin();
    tg_tensor *t[2] = {NULL, NULL};
    const bool good =
        ctx && tg_csv_load_columns(ctx, in_folder("x.csv"), &options, groups, 2,
                                   t) == TG_OK;
    cr_assert(good || (!t[0] && !t[1]));
    tg_tensor_release(t[0]);
    tg_tensor_release(t[1]);
    tg_context_release(ctx);
    return good;
}

/* Two rows, one by one; a failed tg_next is not repeated. */
static bool csv_dataset_scenario(void)
{
    static const tg_csv_columns groups[] = {{.name = "a", .dtype = TG_I64},
                                            {.first = 1, .n = TG_CSV_REST}};
    tg_csv_options options = TG_CSV_OPTIONS_INIT;
    options.has_header = true;
    FILE *file = fopen(in_folder("x.csv"), "w");
    cr_assert_not_null(file);
    fputs("a,b,c\n1,2,3\n4,5,6\n", file);
    cr_assert_eq(fclose(file), 0);
    tg_context *ctx = tg_context_create(NULL);
    tg_dataset *d = ctx ? tg_dataset_from_csv(ctx, in_folder("x.csv"), &options,
                                              groups, 2)
                        : NULL;
    tg_iterator *it = d ? tg_iterate(d) : NULL;
    tg_tensor *x = NULL;
    int64_t a = 0;
    bool good = it && !tg_next(it, TG_RESULTS(&a, &x)) &&
                !tg_next(it, TG_RESULTS(&a, &x)) && a == 4 &&
                tg_next(it, TG_RESULTS(&a, &x)) == TG_END_OF_DATA;
    tg_tensor_release(x);
    tg_iterator_release(it);
    tg_dataset_release(d);
    tg_context_release(ctx);
    return good;
}

Test(faults, csv_datasets)
{
    check_files_fault(csv_dataset_scenario, 1);
}

Test(faults, csv_files)
{
    check_files_fault(csv_scenario, 1);
}

/* -- DLPack ---------------------------------------------------------------- */

static bool dlpack_scenario(void)
{
    tg_context *ctx = begin();
    tg_tensor *x = ctx ? vector(ctx, TG_F32) : NULL, *y = NULL, *z = NULL;
    struct DLManagedTensor *plain = x ? tg_tensor_to_dlpack(x) : NULL;
    struct DLManagedTensorVersioned *versioned =
        plain ? tg_tensor_to_dlpack_versioned(x) : NULL;
    /* Each is taken over, whether that works or not. */
    if (plain)
        y = tg_tensor_from_dlpack(ctx, plain);
    if (versioned)
        z = tg_tensor_from_dlpack_versioned(ctx, versioned);
    const bool good = y && z;
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_context_release(ctx);
    return good;
}

Test(faults, dlpack_structs)
{
    check_files_fault(dlpack_scenario, 0);
}
