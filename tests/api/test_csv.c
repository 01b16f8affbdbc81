/* SPDX-License-Identifier: MIT */
/*
 * test_csv.c - CSV files as tensors: what is a field, what is a number, and
 * rows that are bad, which are named by line and column.
 */
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>

#include "support/files.h"

#define CSV(f, text) FILE_TEXT(f, "x.csv", text)

static tg_csv_options header_options(void)
{
    tg_csv_options options = TG_CSV_OPTIONS_INIT;
    options.has_header = true;
    return options;
}

/* -- Rows and fields ------------------------------------------------------- */

Test(csv, a_file_is_a_matrix)
{
    file_session f;
    files_begin(&f);
    tg_tensor *x = tg_csv_load(f.ctx, CSV(&f, "1,2,3\n4,5,6\n"), NULL);
    cr_assert_not_null(x, "%s", tg_error(f.ctx));
    cr_assert(tg_tensor_rank(x) == 2 && tg_tensor_dims(x)[0] == 2 &&
              tg_tensor_dims(x)[1] == 3);
    check_f32(x, 1, 2, 3, 4, 5, 6);
    files_end(&f, 1);
}

Test(csv, files_may_be_written_in_many_ways)
{
    static const char *const texts[] = {
        "1,2\n3,4\n",
        "1,2\n3,4",
        "1,2\r\n3,4\r\n",
        "1,2\r\n3,4\r",
        ("\xef\xbb\xbf" "1,2\n3,4\n"),
        "\n\n1,2\n\n  \n3,4\n\n",
        " 1 ,\t2 \n3 , 4\n",
        "\"1\",\"2\"\n\"3\", \"4\" \n",
        "1,+2\n3.0,4e0\n",
        "0001,2.\n30e-1,.4E+1\n",
    };
    file_session f;
    files_begin(&f);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        tg_tensor *x = tg_csv_load(
            f.ctx, file_write(&f, "x.csv", texts[i], strlen(texts[i])), NULL);
        cr_assert_not_null(x, "%s: %s", texts[i], tg_error(f.ctx));
        cr_assert_eq(tg_tensor_dims(x)[0], 2);
        check_f32(x, 1, 2, 3, 4);
    }
    files_end(&f, 1);
}

Test(csv, groups_of_columns_are_tensors_of_their_own)
{
    file_session f;
    files_begin(&f);
    const char *path = CSV(&f, "id,\"x, \"\"the\"\" first\",y,label,z\n"
                               "a,1.5,2,0,9\n\"b\nc\",3,4,1,8\n");
    const tg_csv_options options = header_options();
    static const tg_csv_columns groups[] = {
        {.name = "label", .dtype = TG_I64},
        {.name = "x, \"the\" first", .n = 2},
        {.first = 3, .n = TG_CSV_REST, .dtype = TG_F64},
        {.name = "label", .n = 1, .dtype = TG_BOOL},
    };
    tg_tensor *t[4];
    check_works(tg_csv_load_columns(f.ctx, path, &options, groups, 4, t));
    cr_assert_eq(tg_tensor_rank(t[0]), 1);
    check_i64(t[0], 0, 1);
    cr_assert_eq(tg_tensor_dims(t[1])[1], 2);
    check_f32(t[1], 1.5f, 2, 3, 4);
    cr_assert_eq(memcmp(tg_tensor_data(t[2]), (double[]){0, 9, 1, 8}, 32), 0);
    cr_assert_eq(tg_tensor_dtype(t[3]), TG_BOOL);
    cr_assert_eq(tg_tensor_rank(t[3]), 2);
    tg_tensor_release(t[2]);
    tg_tensor_release(t[3]);
    check_works(tg_csv_load_columns(f.ctx, path, &options, NULL, 0, NULL));
    files_end(&f, 1);
}

Test(csv, many_rows_and_long_ones_are_read)
{
    enum { ROWS = 3000, COLUMNS = 40 };
    static char text[ROWS * COLUMNS * 8];
    file_session f;
    files_begin(&f);
    size_t n = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        n += (size_t)sprintf(text + n, "%d%c", i,
                             i % COLUMNS == COLUMNS - 1 ? '\n' : ';');
    tg_csv_options options = TG_CSV_OPTIONS_INIT;
    options.delimiter = ';';
    options.dtype = TG_I32;
    tg_tensor *x =
        tg_csv_load(f.ctx, file_write(&f, "x.csv", text, n), &options);
    cr_assert_not_null(x, "%s", tg_error(f.ctx));
    cr_assert(tg_tensor_dims(x)[0] == ROWS && tg_tensor_dims(x)[1] == COLUMNS);
    const int32_t *is = tg_tensor_data(x);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        cr_assert_eq(is[i], i);
    tg_tensor_release(x);
    files_end(&f, 1);
}

Test(csv, other_delimiters_can_be_set)
{
    file_session f;
    files_begin(&f);
    tg_csv_options options = TG_CSV_OPTIONS_INIT;
    options.delimiter = '\t';
    check_f32(tg_csv_load(f.ctx, CSV(&f, "1\t2\n 3\t\"4\"\n"), &options), 1,
              2, 3, 4);
    for (const char *bad = "\n\"5-. +\r"; *bad; bad++) {
        options.delimiter = *bad;
        cr_assert_null(tg_csv_load(f.ctx, file_path(&f, "x.csv"), &options));
        check_record(TG_ERROR_INVALID_ARGUMENT, "cannot be a delimiter");
    }
    files_end(&f, 1);
}

Test(csv, a_header_alone_gives_empty_tensors)
{
    file_session f;
    files_begin(&f);
    const tg_csv_options options = header_options();
    tg_tensor *x = tg_csv_load(f.ctx, CSV(&f, "a,b,c\n"), &options);
    cr_assert_not_null(x, "%s", tg_error(f.ctx));
    cr_assert(tg_tensor_dims(x)[0] == 0 && tg_tensor_dims(x)[1] == 3);
    tg_tensor_release(x);
    cr_assert_null(tg_csv_load(f.ctx, CSV(&f, "\n \n"), NULL));
    check_record(TG_ERROR_FILE, "x.csv: has no rows");
    files_end(&f, 1);
}

static void *write_pipe(void *user)
{
    FILE *pipe = fopen(user, "w");
    for (int i = 0; i < 1000; i++)
        fprintf(pipe, "%d,%d\n", i, -i);
    fclose(pipe);
    return NULL;
}

Test(csv, a_pipe_can_be_read)
{
    file_session f;
    files_begin(&f);
    char path[128];
    pthread_t writer;
    snprintf(path, sizeof(path), "%s", file_path(&f, "pipe"));
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(pthread_create(&writer, NULL, write_pipe, path), 0);
    tg_tensor *x = tg_csv_load(f.ctx, path, NULL);
    pthread_join(writer, NULL);
    cr_assert_not_null(x, "%s", tg_error(f.ctx));
    cr_assert_eq(tg_tensor_dims(x)[0], 1000);
    tg_tensor_release(x);
    files_end(&f, 1);
}

/* -- Numbers --------------------------------------------------------------- */

/* One field as f32 and f64: the bits of the C library's functions. */
static void check_float(const file_session *f, const char *text)
{
    char line[128];
    const tg_csv_columns groups[] = {{.dtype = TG_F32}, {.dtype = TG_F64}};
    tg_tensor *t[2];
    const float narrow = strtof(text, NULL);
    const double wide = strtod(text, NULL);
    snprintf(line, sizeof(line), "%s\n", text);
    check_works(tg_csv_load_columns(
        f->ctx, file_write(f, "x.csv", line, strlen(line)), NULL, groups, 2,
        t));
    cr_assert_eq(memcmp(tg_tensor_data(t[0]), &narrow, 4), 0, "%s as f32: %a",
                 text, (double)*(float *)tg_tensor_data(t[0]));
    cr_assert_eq(memcmp(tg_tensor_data(t[1]), &wide, 8), 0, "%s as f64: %a",
                 text, *(double *)tg_tensor_data(t[1]));
    tg_tensor_release(t[0]);
    tg_tensor_release(t[1]);
}

Test(csv, floats_are_rounded_to_nearest)
{
    static const char *const texts[] = {
        "0", "-0", "0.1", "-123.456", "16777216", "16777217", "16777219e0",
        "9007199254740992", "9007199254740993", "1e22", "1e-22", "1e10",
        "1e-10", "1e11", "123456789012345678901234567890",
        "0.000000000000000000000000000000000001", "3.4028234e38", "1e-45",
        "0.30000001192092896", "18446744073709551616", "1e-400",
        "2.2250738585072011e-308", "000000000000000000000000000000001.5",
        "8388609.5", "1.00000017881393432617187499",
        "1.00000017881393432617187501", "nan", "inf", "-Infinity", "+INF"};
    file_session f;
    files_begin(&f);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        check_float(&f, texts[i]);
    uint64_t random = 1;
    for (int i = 0; i < 500; i++) {
        char text[64];
        const uint64_t r = random_next(&random);
        snprintf(text, sizeof(text), "%s%llu.%llue%d", r & 1 ? "-" : "",
                 (unsigned long long)(r >> (r % 60)),
                 (unsigned long long)(random_next(&random) >> (r % 64)),
                 random_below(&random, 20) - 20);
        check_float(&f, text);
    }
    files_end(&f, 1);
}

Test(csv, neither_locale_nor_rounding_mode_matter)
{
    file_session f;
    files_begin(&f);
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where there is one */
    const int mode = fegetround();
    const char *path = CSV(&f, "0.1,123456789.123456789\n");
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 3; i++) {
        fesetround(modes[i]);
        tg_tensor *x = tg_csv_load(f.ctx, path, NULL);
        const int after = fegetround();
        fesetround(mode);
        cr_assert_eq(after, modes[i]);
        check_f32(x, 0.1f, 123456789.123456789f);
    }
    files_end(&f, 1);
}

Test(csv, integers_and_bools_are_exact)
{
    file_session f;
    files_begin(&f);
    const char *path = CSV(&f, "-128,18446744073709551615,"
                               "-9223372036854775808,true,FALSE,1,+7\n");
    static const tg_csv_columns groups[] = {
        {.dtype = TG_I8},
        {.dtype = TG_U64, .first = 1},
        {.dtype = TG_I64, .first = 2},
        {.dtype = TG_BOOL, .first = 3, .n = 3},
        {.dtype = TG_U8, .first = 6},
    };
    tg_tensor *t[5];
    check_works(tg_csv_load_columns(f.ctx, path, NULL, groups, 5, t));
    cr_assert_eq(*(int8_t *)tg_tensor_data(t[0]), -128);
    cr_assert_eq(*(uint64_t *)tg_tensor_data(t[1]), UINT64_MAX);
    cr_assert_eq(*(int64_t *)tg_tensor_data(t[2]), INT64_MIN);
    cr_assert_eq(memcmp(tg_tensor_data(t[3]), "\1\0\1", 3), 0);
    cr_assert_eq(*(uint8_t *)tg_tensor_data(t[4]), 7);
    for (int i = 0; i < 5; i++)
        tg_tensor_release(t[i]);
    files_end(&f, 1);
}

Test(csv, empty_fields_are_nan_if_allowed)
{
    file_session f;
    files_begin(&f);
    tg_csv_options options = TG_CSV_OPTIONS_INIT;
    options.allow_empty = true;
    const char *path = CSV(&f, "1,,\"\"\n,5,\n");
    tg_tensor *x = tg_csv_load(f.ctx, path, &options);
    cr_assert_not_null(x, "%s", tg_error(f.ctx));
    const float *is = tg_tensor_data(x);
    cr_assert(is[0] == 1 && isnan(is[1]) && isnan(is[2]) && isnan(is[3]) &&
              is[4] == 5 && isnan(is[5]));
    tg_tensor_release(x);
    options.dtype = TG_I32;
    cr_assert_null(tg_csv_load(f.ctx, path, &options));
    check_record(TG_ERROR_FILE, "x.csv:1: ", "column 1: '' is not a number");
    cr_assert_null(tg_csv_load(f.ctx, path, NULL));
    files_end(&f, 1);
}

/* -- Bad rows -------------------------------------------------------------- */

Test(csv, bad_rows_are_named_by_line_and_column)
{
    static const struct {
        const char *text, *says;
        tg_dtype dtype;
        int line;
    } cases[] = {
        {"1,2\n3\n", "the row has 1 field, but the first row has 2", 0, 2},
        {"1,2\n3,4,5\n", "has 3 fields, but", 0, 2},
        {"1,2\n\n\n3,x\n", "column 1: 'x' is not a number of type f32", 0, 4},
        {"\"1\n\",2\n3,x\n", "column 0: '1\\x0a' is not a number", 0, 1},
        {"1,2\n\"3\" 4,5\n", "column 0: text behind a quoted field", 0, 2},
        {"1,2\n3,\"4\n", "column 1: a quoted field does not end", 0, 2},
        {"1,0x10\n", "'0x10' is not a number", 0, 1},
        {"1,1e\n", "'1e' is not", 0, 1},
        {"1,.\n", "'.' is not", 0, 1},
        {"1,-\n", "'-' is not", 0, 1},
        {"1,1 2\n", "'1 2' is not", 0, 1},
        {"1,1e39\n", "'1e39' is not a number of type f32", 0, 1},
        {"1,1e309\n", "type f64", TG_F64, 1},
        {"1,nano\n", "'nano' is not", 0, 1},
        {"1,128\n", "'128' is not a number of type i8", TG_I8, 1},
        {"1,-1\n", "'-1' is not a number of type u8", TG_U8, 1},
        {"1,1.0\n", "'1.0' is not a number of type i32", TG_I32, 1},
        {"1,-\n", "'-' is not", TG_I32, 1},
        {"1,99999999999999999999\n", "type u64", TG_U64, 1},
        {"1,-9223372036854775809\n", "type i64", TG_I64, 1},
        {"1,yes\n", "'yes' is not a number of type bool", TG_BOOL, 1},
    };
    file_session f;
    files_begin(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tg_csv_options options = TG_CSV_OPTIONS_INIT;
        options.dtype = cases[i].dtype;
        const char *path = file_write(&f, "x.csv", cases[i].text,
                                      strlen(cases[i].text));
        cr_assert_null(tg_csv_load(f.ctx, path, &options), "%s",
                       cases[i].text);
        check_record(TG_ERROR_FILE, "x.csv:", ": tg_csv_load: ",
                     cases[i].says);
        cr_assert_eq(tg_error_last()->line, cases[i].line, "%s",
                     tg_error(f.ctx));
        cr_assert_str_eq(tg_error_last()->file, path);
    }
    cr_assert_null(tg_csv_load(f.ctx, CSV(&f, "1,2\n3,\0\n"), NULL));
    check_record(TG_ERROR_FILE, "x.csv:2: ", "NUL");
    const tg_csv_options named = header_options();
    cr_assert_null(tg_csv_load(f.ctx, CSV(&f, "a,the age\n1,2\n3,?\n"),
                               &named));
    check_record(TG_ERROR_FILE, "x.csv:3: ", "column 1 ('the age'): '?'");
    files_end(&f, 1);
}

Test(csv, bad_groups_are_refused)
{
    static const struct {
        tg_csv_columns group;
        tg_status status;
        const char *says;
    } cases[] = {
        {{.name = "c"}, TG_ERROR_FILE, "there is no column 'c'"},
        {{.name = "a"}, TG_ERROR_FILE, "there are two columns 'a'"},
        {{.first = 3}, TG_ERROR_INVALID_ARGUMENT, "there are 3 columns"},
        {{.first = -1}, TG_ERROR_INVALID_ARGUMENT, "there are 3 columns"},
        {{.first = 1, .n = 3}, TG_ERROR_INVALID_ARGUMENT, "not 3 from column"},
        {{.n = -2}, TG_ERROR_INVALID_ARGUMENT, "there are 3 columns"},
        {{.n = INT64_MAX}, TG_ERROR_INVALID_ARGUMENT, "there are 3 columns"},
        {{.dtype = (tg_dtype)99}, TG_ERROR_DTYPE, "99 is not an element"},
    };
    file_session f;
    files_begin(&f);
    const char *path = CSV(&f, "a,b,a\n1,2,3\n");
    const tg_csv_options options = header_options();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const tg_csv_columns groups[] = {{.first = 1}, cases[i].group};
        tg_tensor *t[2] = {(tg_tensor *)1, (tg_tensor *)1};
        check_fails(tg_csv_load_columns(f.ctx, path, &options, groups, 2, t),
                    cases[i].status, cases[i].says);
        cr_assert(!t[0] && !t[1]);
    }
    tg_tensor *x = NULL;
    const tg_csv_columns named = {.name = "b"};
    check_fails(tg_csv_load_columns(f.ctx, path, NULL, &named, 1, &x),
                TG_ERROR_INVALID_ARGUMENT, "'b'", "has_header");
    check_fails(tg_csv_load_columns(f.ctx, path, NULL, NULL, 1, &x),
                TG_ERROR_INVALID_ARGUMENT, "groups of columns are NULL");
    check_fails(tg_csv_load_columns(f.ctx, path, NULL, &named, 1, NULL),
                TG_ERROR_INVALID_ARGUMENT, "the tensors are NULL");
    cr_assert_null(tg_csv_load(NULL, path, NULL));
    cr_assert_null(tg_csv_load(f.ctx, NULL, NULL));
    cr_assert_null(tg_csv_load(f.ctx, f.folder, NULL));
    check_record(TG_ERROR_FILE, "cannot read ", ": Is a directory");
    cr_assert_null(tg_csv_load(f.ctx, file_path(&f, "none"), NULL));
    check_record(TG_ERROR_FILE, "cannot read ", ": No such file");
    files_end(&f, 1);
}

/* -- Datasets -------------------------------------------------------------- */

static const tg_csv_columns label_and_rest[] = {
    {.dtype = TG_I64, .name = "label"}, {.name = "x", .n = 2}};

/* Pulls a row of label and two numbers. */
static tg_status next_row(tg_iterator *it, int64_t *label, float x[2])
{
    tg_tensor *t = NULL;
    const tg_status status = tg_next(it, TG_RESULTS(label, &t));
    if (!status) {
        cr_assert_eq(tg_tensor_count(t), 2);
        memcpy(x, tg_tensor_f32(t), 2 * sizeof(*x));
    }
    tg_tensor_release(t);
    return status;
}

Test(csv, rows_are_elements_of_a_dataset)
{
    file_session f;
    files_begin(&f);
    char name[] = "label";
    const tg_csv_options options = header_options();
    const tg_csv_columns groups[] = {{.dtype = TG_I64, .name = name},
                                     {.name = "x", .n = 2}};
    tg_dataset *d = tg_dataset_from_csv(
        f.ctx, CSV(&f, "label,x,y\n7,1,2\n8,3,4\n9,5,6\n"), &options, groups,
        2);
    cr_assert_not_null(d, "%s", tg_error(NULL));
    name[0] = '?'; /* groups are copied */
    for (int pass = 0; pass < 2; pass++) {
        tg_iterator *it = tg_iterate(d);
        for (int i = 0; i < 3; i++) {
            int64_t label;
            float x[2];
            check_works(next_row(it, &label, x));
            cr_assert(label == 7 + i && x[0] == (float)(1 + 2 * i) &&
                      x[1] == x[0] + 1);
        }
        for (int i = 0; i < 2; i++)
            cr_assert_eq(tg_next(it, TG_RESULTS()), TG_END_OF_DATA);
        tg_iterator_release(it);
    }
    /* Batches, through a thread, repeated. */
    d = tg_dataset_batch(tg_dataset_repeat(d, 3), 2, TG_KEEP_REMAINDER);
    d = tg_dataset_prefetch(d, 2);
    tg_iterator *it = tg_iterate(d);
    tg_tensor *labels = NULL, *x = NULL;
    int64_t sum = 0;
    tg_status status;
    while (!(status = tg_next(it, TG_RESULTS(&labels, &x))))
        for (int64_t i = 0; i < tg_tensor_count(labels); i++)
            sum += tg_tensor_i64(labels)[i] * 100 +
                   (int64_t)tg_tensor_f32(x)[2 * i];
    cr_assert_eq(status, TG_END_OF_DATA);
    cr_assert_eq(sum, 3 * (2400 + 9));
    tg_tensor_release(labels);
    tg_tensor_release(x);
    tg_iterator_release(it);
    tg_dataset_release(d);

    /* Without groups: all columns. */
    d = tg_dataset_from_csv(f.ctx, CSV(&f, "1,2\n3,4\n"), NULL, NULL, 0);
    it = tg_iterate(d);
    x = NULL;
    check_works(tg_next(it, TG_RESULTS(&x)));
    check_f32(x, 1, 2);
    tg_iterator_release(it);
    tg_dataset_release(d);
    files_end(&f, 1);
}

Test(csv, a_bad_row_is_an_error_of_its_element)
{
    file_session f;
    files_begin(&f);
    int64_t label;
    float x[2];
    const tg_csv_options options = header_options();
    tg_dataset *d = tg_dataset_from_csv(
        f.ctx,
        CSV(&f, "label,x,y\n1,1,1\n2,2\n3,z,3\n4,4,4\n5,\"5\" 5,5\n6,6,6\n"),
        &options, label_and_rest, 2);
    for (int is_threaded = 0; is_threaded < 2; is_threaded++) {
        if (is_threaded)
            d = tg_dataset_prefetch(d, 2);
        tg_iterator *it = tg_iterate(d);
        check_works(next_row(it, &label, x));
        check_fails(next_row(it, &label, x), TG_ERROR_FILE,
                    "x.csv:3: tg_dataset_from_csv: the row has 2 fields");
        check_fails(next_row(it, &label, x), TG_ERROR_FILE,
                    "x.csv:4: tg_dataset_from_csv: column 1 ('x'): 'z' is not");
        check_works(next_row(it, &label, x));
        cr_assert(label == 4 && x[1] == 4);
        /* A row that cannot be split ends the iteration. */
        check_fails(next_row(it, &label, x), TG_ERROR_FILE,
                    "x.csv:6: tg_dataset_from_csv: column 1: text behind");
        cr_assert_eq(next_row(it, &label, x), TG_END_OF_DATA);
        tg_iterator_release(it);
    }
    /* The file may vanish between two iterations. */
    cr_assert_eq(unlink(file_path(&f, "x.csv")), 0);
    tg_iterator *it = tg_iterate(d);
    check_fails(next_row(it, &label, x), TG_ERROR_FILE, "x.csv");
    cr_assert_eq(next_row(it, &label, x), TG_END_OF_DATA);
    tg_iterator_release(it);
    tg_dataset_release(d);
    files_end(&f, 0);
}

Test(csv, a_dataset_of_a_bad_file_is_not_created)
{
    file_session f;
    files_begin(&f);
    const char *path = CSV(&f, "label,z,y\n1,1,1\n");
    const tg_csv_options options = header_options();
    cr_assert_null(
        tg_dataset_from_csv(f.ctx, path, &options, label_and_rest, 2));
    check_record(TG_ERROR_FILE, "tg_dataset_from_csv: ",
                 "x.csv: there is no column 'x'");
    cr_assert_null(tg_dataset_from_csv(f.ctx, file_path(&f, "none.csv"), NULL,
                                       NULL, 0));
    check_record(TG_ERROR_FILE, "none.csv");
    cr_assert_null(tg_dataset_from_csv(NULL, path, NULL, NULL, 0));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the context is NULL");
    cr_assert_null(tg_dataset_from_csv(f.ctx, NULL, NULL, NULL, 0));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the path is NULL");
    cr_assert_null(tg_dataset_from_csv(f.ctx, path, NULL, NULL, 1));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the groups of columns are NULL");
    files_end(&f, 1);
}

Test(csv, rows_stay_within_the_memory_limit)
{
    file_session f;
    files_begin(&f);
    tg_context_options small = TG_CONTEXT_OPTIONS_INIT;
    small.memory_limit = 1000;
    tg_context *ctx = tg_context_create(&small);
    cr_assert_null(tg_csv_load(ctx, CSV(&f, "1\n2\n"), NULL));
    check_record(TG_ERROR_OUT_OF_MEMORY, "limit");
    tg_context_release(ctx);
    files_end(&f, 1);
}
