/* SPDX-License-Identifier: MIT */
/*
 * fuzz_onnx.c - feeds mutants of ONNX models to the reader, and traces those
 * that are accepted.
 *
 * Seeds are the models of onnx_models.h and, if they are installed, small ones
 * of ONNX's tests. Half of the mutants are edited as messages: numbers, names
 * and elements of lists change, so that most are well-formed; half as bytes. A
 * mutant fails if a failure has no message, if it takes too long, or if memory
 * leaks.
 *
 *     --count N   mutants (default 4000)      --seed S   of the random numbers
 *     --jobs J    processes                   --only K   mutant K alone, here
 *     --data DIR  folders of tests
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx_models.h"
#include "onnx.pb-c.h"
#include "support/arguments.h"
#include "support/support_random.h"
#include "support/workers.h"
#include "tgjit/onnx.h"

enum {
    MAX_SEEDS = 1024,
    MAX_BYTES = 1 << 14, /* of a mutant */
    MAX_EDITS = 4,
    MEMORY_LIMIT = 64 << 20,
    MAX_SECONDS = 60,
    MAX_INPUTS = 32
};

typedef struct bytes {
    unsigned char *data;
    size_t n;
} bytes;

static bytes seeds[MAX_SEEDS];
static size_t n_seeds;

static size_t below(uint64_t *random, size_t n)
{
    return n ? (size_t)(random_next(random) % n) : 0;
}

/* -- Seeds ----------------------------------------------------------------- */

static void add_seed(const void *data, size_t n)
{
    if (n_seeds == MAX_SEEDS || n > MAX_BYTES / 2)
        return;
    seeds[n_seeds] = (bytes){malloc(n + 1), n};
    if (!seeds[n_seeds].data)
        abort();
    memcpy(seeds[n_seeds++].data, data, n);
}

static void add_built(void)
{
    const proto all[] = {dense_model(),    shape_chain(), reshape_by_input(),
                         branch_model(),   loop_model(),  function_model(true),
                         function_model(false)};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        add_seed(all[i].data, all[i].n);
}

static void add_folders(const char *path)
{
    static unsigned char data[MAX_BYTES];
    char name[4096];
    struct dirent **entries;
    const int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s/%s/model.onnx", path,
                 entries[i]->d_name);
        FILE *file = fopen(name, "rb");
        if (file) {
            add_seed(data, fread(data, 1, sizeof(data), file));
            fclose(file);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* -- Edits of messages ----------------------------------------------------- */

static int64_t odd_number(uint64_t *random, int64_t before)
{
    static const int64_t known[] = {0,         1,         -1,        2,
                                    INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN,
                                    1 << 20,   -2,        16,        100000000};
    switch (below(random, 4)) {
    case 0:
        return known[below(random, sizeof(known) / sizeof(known[0]))];
    case 1:
        return (int64_t)((uint64_t)before ^ (uint64_t)1 << below(random, 64));
    case 2:
        return (int64_t)((uint64_t)before + below(random, 9) - 4);
    default:
        return (int64_t)(random_next(random) >> below(random, 64));
    }
}

/* A string of the same length: a copy with other bytes, or all the same. */
static void edit_string(char *text, uint64_t *random)
{
    const size_t n = strlen(text);
    static const char letters[] = "abxyhn01_/.";
    if (n)
        text[below(random, n)] = letters[below(random, sizeof(letters) - 1)];
}

/* The number of a field, or of an element of it. */
static void edit_scalar(ProtobufCType type, void *at, uint64_t *random)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        *(int64_t *)at = odd_number(random, *(int64_t *)at);
        break;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        *(int32_t *)at = (int32_t)odd_number(random, *(int32_t *)at) % 64;
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)at = (float)odd_number(random, (int64_t)*(uint32_t *)at);
        break;
    case PROTOBUF_C_TYPE_STRING:
        if (*(char **)at && **(char **)at)
            edit_string(*(char **)at, random);
        break;
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData *x = at;
        if (x->len && below(random, 4) == 0)
            x->len -= 1;
        else if (x->len)
            x->data[below(random, x->len)] = (unsigned char)below(random, 256);
        break;
    }
    default:
        break;
    }
}

static size_t element_bytes(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_INT32 || type == PROTOBUF_C_TYPE_FLOAT ||
                   type == PROTOBUF_C_TYPE_ENUM
               ? 4
           : type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                                           : 8;
}

/* Edits a field of a message, or of one that it holds. Gives up after some tries:
   most fields are empty. */
static void edit_message(ProtobufCMessage *m, uint64_t *random)
{
    for (int tries = 0; m && tries < 64; tries++) {
        const ProtobufCFieldDescriptor *f =
            &m->descriptor->fields[below(random, m->descriptor->n_fields)];
        char *at = (char *)m + f->offset;
        size_t *n = (size_t *)(void *)((char *)m + f->quantifier_offset);
        const bool is_list = f->label == PROTOBUF_C_LABEL_REPEATED;
        if (is_list && *n == 0)
            continue;
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            if (*(uint32_t *)(void *)n != f->id)
                return;
        }
        const size_t i = is_list ? below(random, *n) : 0;
        char *element =
            is_list ? *(char **)(void *)at + i * element_bytes(f->type) : at;
        if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
            ProtobufCMessage **all = (ProtobufCMessage **)(void *)element;
            if (is_list && below(random, 12) == 0) {
                ProtobufCMessage **list = *(ProtobufCMessage ***)(void *)at;
                ProtobufCMessage *last = list[*n - 1]; /* exchanged */
                list[*n - 1] = list[i];
                list[i] = last;
                return;
            }
            if (!*all)
                continue;
            m = *all;
            continue;
        }
        if (is_list && below(random, 8) == 0 &&
            f->type != PROTOBUF_C_TYPE_STRING &&
            f->type != PROTOBUF_C_TYPE_BYTES)
            --*n; /* leaves nothing to be freed behind */
        else
            edit_scalar(f->type, element, random);
        return;
    }
}

/* -- Mutants --------------------------------------------------------------- */

static void edit_bytes(bytes *m, uint64_t *random)
{
    if (m->n == 0)
        return;
    const size_t at = below(random, m->n), more = below(random, m->n - at);
    switch (below(random, 6)) {
    case 0:
        m->n = at;
        break;
    case 1:
        memmove(m->data + at, m->data + at + more % 8, m->n - at - more % 8);
        m->n -= more % 8;
        break;
    case 2:
        memmove(m->data + below(random, m->n - more % 32), m->data + at,
                more % 32);
        break;
    default:
        m->data[at] = (unsigned char)random_next(random);
    }
}

static void mutate(bytes *m, uint64_t *random)
{
    const bytes *s = &seeds[below(random, n_seeds)];
    const size_t n_edits = 1 + below(random, MAX_EDITS);
    memcpy(m->data, s->data, s->n);
    m->n = s->n;
    if (below(random, 2)) {
        for (size_t i = 0; i < n_edits; i++)
            edit_bytes(m, random);
        return;
    }
    Onnx__ModelProto *x = onnx__model_proto__unpack(NULL, s->n, s->data);
    if (!x)
        abort();
    for (size_t i = 0; i < n_edits; i++)
        edit_message((ProtobufCMessage *)(below(random, 8) ? (void *)x->graph
                                                           : (void *)x),
                     random);
    if (onnx__model_proto__get_packed_size(x) <= MAX_BYTES)
        m->n = onnx__model_proto__pack(x, m->data);
    onnx__model_proto__free_unpacked(x, NULL);
}

/* -- Checks ---------------------------------------------------------------- */

typedef struct tally {
    uint64_t n, n_accepted, n_traced;
} tally;

typedef struct options {
    uint64_t seed, count, only;
    bool is_only;
    int n_jobs;
} options;

static tg_context *ctx; /* of a mutant */

static bool fail(const char *what)
{
    printf("%s: %s\n", what, tg_error(NULL));
    fflush(stdout);
    return false;
}

static bool has_message(void)
{
    const tg_error_record *e = tg_error_last();
    return e->status != TG_OK && e->status != TG_ERROR_INTERNAL && *e->message
               ? true
               : fail("a failure without a message");
}

/* Sets an input that decides a shape to ones. */
static bool set_input(tg_onnx_model *m, size_t i)
{
    const tg_spec *spec = tg_onnx_input_spec(m, i);
    int64_t dims[TG_MAX_RANK], count = 1;
    for (int k = 0; k < spec->rank; k++) {
        dims[k] = spec->dims[k] < 0 || spec->dims[k] > 64 ? 2 : spec->dims[k];
        count *= dims[k];
    }
    if (spec->rank < 0 || count > 4096)
        return false;
    tg_tensor *x = tg_tensor_create(ctx, spec->dtype, spec->rank, dims,
                                    tg_fill(1));
    const bool is_set = x && !tg_onnx_set_input(m, i, x);
    tg_tensor_release(x);
    return is_set;
}

static bool trace(tg_onnx_model *m, tally *t)
{
    tg_spec specs[MAX_INPUTS];
    size_t n = 0;
    if (tg_onnx_input_count(m) > MAX_INPUTS)
        return true;
    for (size_t i = 0; i < tg_onnx_input_count(m); i++) {
        if (tg_onnx_input_is_shape(m, i) && set_input(m, i))
            continue;
        specs[n++] = *tg_onnx_input_spec(m, i);
    }
    tg_error_clear();
    tg_function *f = tg_onnx_function(m);
    tg_concrete *c = f ? tg_function_concrete(f, specs, n) : NULL;
    t->n_traced += c != NULL;
    if (!c && !has_message())
        return false;
    tg_concrete_release(c);
    return true;
}

static bool check_number(const void *user, uint64_t number, void *into)
{
    static unsigned char room[MAX_BYTES];
    const options *o = user;
    tally *t = into;
    bytes m = {room, 0};
    uint64_t random = o->seed * 0x2545f4914f6cdd1du + number;
    tg_context_options limited = TG_CONTEXT_OPTIONS_INIT;
    limited.memory_limit = MEMORY_LIMIT;
    limited.jit = "off";
    ctx = tg_context_create(&limited);
    if (!ctx)
        abort();
    random_next(&random);
    mutate(&m, &random);
    /* Memory of its own, so that ASan finds reads beyond its end. */
    unsigned char *copy = malloc(m.n + 1);
    if (!copy)
        abort();
    memcpy(copy, m.data, m.n);
    tg_error_clear();
    t->n++;
    tg_onnx_model *model = tg_onnx_parse(ctx, "m.onnx", copy, m.n, NULL);
    free(copy);
    bool is_good = true;
    if (model) {
        t->n_accepted++;
        is_good = trace(model, t);
    } else {
        is_good = has_message();
    }
    tg_onnx_model_release(model);
    tg_context_release(ctx);
    if (is_good && (tg_live_objects() || tg_live_bytes()))
        is_good = fail("memory leaks");
    return is_good;
}

static void report(const void *user, uint64_t number, int status)
{
    const options *o = user;
    printf("mutant fails, status 0x%x: fuzz_onnx --seed %" PRIu64
           " --only %" PRIu64 "\n",
           (unsigned)status, o->seed, number);
}

static void add(void *sum, const void *of_process)
{
    tally *to = sum;
    const tally *from = of_process;
    to->n += from->n;
    to->n_accepted += from->n_accepted;
    to->n_traced += from->n_traced;
}

static bool parse(options *o, int argc, char **argv, const char **data)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value && !strcmp(argv[i], "--count"))
            o->count = strtoull(value, NULL, 10);
        else if (value && !strcmp(argv[i], "--seed"))
            o->seed = strtoull(value, NULL, 10);
        else if (value && !strcmp(argv[i], "--data"))
            *data = value;
        else if (value && !strcmp(argv[i], "--only")) {
            o->only = strtoull(value, NULL, 10);
            o->is_only = true;
        } else if (value && !strcmp(argv[i], "--jobs") && atoi(value) > 0 &&
                   atoi(value) <= WORKERS_MAX)
            o->n_jobs = atoi(value);
        else
            return argument_is_wrong("fuzz_onnx", argc, argv, i);
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = {
        .seed = 1, .count = 4000, .n_jobs = workers_default_jobs()};
    const char *data = "/usr/share/libonnx-testdata/data/node";
    tally sum = {0};
    uint64_t n_passed = 0, n_failed = 0;
    if (!parse(&o, argc, argv, &data))
        return 2;
    add_built();
    add_folders(data);
    if (o.is_only) {
        n_failed = !check_number(&o, o.only, &sum);
    } else {
        const workers w = {.count = o.count,
                           .max_failures = 10,
                           .n_jobs = o.n_jobs,
                           .seconds = MAX_SECONDS,
                           .user = &o,
                           .check = check_number,
                           .tally_bytes = sizeof(tally),
                           .report = report,
                           .add = add};
        workers_run(&w, &sum, &n_passed, &n_failed);
    }
    printf("%" PRIu64 " mutants of %zu models, %" PRIu64 " accepted, %" PRIu64
           " traced; %" PRIu64 " failed\n",
           sum.n, n_seeds, sum.n_accepted, sum.n_traced, n_failed);
    for (size_t i = 0; i < n_seeds; i++)
        free(seeds[i].data);
    return n_failed != 0;
}
