/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_debug.c - debug information of generated code: the code is the same
 * with and without it; instructions have the lines of the operations that they
 * compute; nested functions are inlined frames; the line table of an object can
 * be read back, and damage to it is noticed or harmless.
 */
#include "codegen/assembling.h"

#include "object/debug_lines.h"

/* Lines of operations. Each is set where it is used. */
static int line_of_sub, line_of_mul, line_of_sum, line_of_call;

#define AT(line, expression) (line = __LINE__, (expression))

/* -- Compiling ------------------------------------------------------------- */

static bool compile(const fused *fu, const char *directory, tgi_codegen *out)
{
    const tgi_codegen_options options = {.cpu = "x86-64-v3",
                                         .vector_bits = 8 * REGISTER_BYTES,
                                         .verify = true,
                                         .wants_assembly = true,
                                         .debug_directory = directory,
                                         .alloc = tgi_alloc,
                                         .free = tgi_free};
    return tgi_llvm_codegen(fu->loops, &options, out);
}

/* Fuses, schedules and compiles a callback, with debug information. */
static void build_at(int line, assembled *as, const char *name,
                     tg_callback *callback, const tg_spec *specs,
                     size_t n_specs)
{
    assemble_at(line, as, name, callback, NO_SYMBOLS, specs, n_specs);
    tgi_llvm_codegen_dispose(&as->codegen);
    cr_assert(compile(&as->fu, "/source", &as->codegen), "%s",
              as->codegen.error);
    as->text = as->codegen.assembly;
}

#define build(as, callback, ...)                                               \
    build_at(__LINE__, as, #callback, callback, (const tg_spec[]){__VA_ARGS__}, \
             sizeof((const tg_spec[]){__VA_ARGS__}) / sizeof(tg_spec))

static tgi_object open_object(const tgi_codegen *codegen)
{
    tgi_object object;
    cr_assert_eq(tgi_object_init(&object, codegen->object,
                                 codegen->object_bytes),
                 TG_OK, "%s", tg_error(NULL));
    return object;
}

/* The relocated image, which is freed by tgi_free. */
static unsigned char *image_of(const tgi_codegen *codegen, size_t *out_bytes)
{
    tgi_object object = open_object(codegen);
    unsigned char *image = tgi_alloc_zero(object.image_bytes);
    *out_bytes = object.image_bytes;
    cr_assert_eq(tgi_object_write_image(&object, image), TG_OK, "%s",
                 tg_error(NULL));
    tgi_object_deinit(&object);
    return image;
}

/* -- The same code --------------------------------------------------------- */

static void check_same_code(assembled *as)
{
    tgi_codegen plain = {0};
    size_t n, n_plain;
    cr_assert(compile(&as->fu, NULL, &plain), "%s", plain.error);
    cr_assert_null(strstr(plain.assembly, "\t.loc\t"));
    cr_assert_not_null(strstr(as->text, "\t.loc\t"));
    cr_assert_null(strstr(as->text, ".debug_info"));
    unsigned char *image = image_of(&as->codegen, &n);
    unsigned char *plain_image = image_of(&plain, &n_plain);
    cr_assert_eq(n, n_plain);
    cr_assert_eq(memcmp(image, plain_image, n), 0);
    tgi_free(image);
    tgi_free(plain_image);
    tgi_llvm_codegen_dispose(&plain);
    assemble_end(as);
}

static void elementwise(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_tanh(tg_exp(tg_mul(in[0], in[0])));
    tg_return(t, tg_erf(tg_sin(y)), tg_sum(y, TG_AXES(-1)), tg_argmax(y, 0));
}

static void matrices(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_relu(tg_add(tg_matmul(in[0], in[1]), 1));
    tg_value z = tg_matmul(y, in[1]);
    tg_return(t, z, tg_reduce_max(z, TG_AXES(-1)), tg_sum(z, TG_AXES(0)));
}

static void is_small(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_lt(tg_sum(in[0], TG_ALL_AXES), 100.0));
}

static void grow(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], tg_slice(in[0], 0, -1, TG_END, -1)));
}

static void control(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y, z;
    tg_while(is_small, grow, NULL, TG_ARGS(in[0]), &y, 1);
    tg_while(is_small, grow, NULL, TG_ARGS(tg_slice(in[0], 0, 0, 4, 1)), &z, 1);
    tg_print(t, "%v", z);
    tg_return(t, y, z, tg_gather(in[0], in[1], 0), tg_cumsum(in[0], 0));
}

Test(llvm_debug, elementwise_code_is_the_same_with_lines)
{
    assembled as;
    build(&as, elementwise, F32(50, 200));
    check_same_code(&as);
}

Test(llvm_debug, code_of_products_is_the_same_with_lines)
{
    assembled as;
    build(&as, matrices, F32(100, 64), F32(64, 64));
    check_same_code(&as);
}

Test(llvm_debug, code_of_loops_is_the_same_with_lines)
{
    assembled as;
    build(&as, control, F32(5000), I32(3));
    check_same_code(&as);
}

/* -- Lines ----------------------------------------------------------------- */

/* The line of the last .loc directive before `at`; 0: none. */
static int line_before(const char *text, const char *at)
{
    int line = 0, file;
    for (const char *loc = text; (loc = strstr(loc, "\t.loc\t")) && loc < at;
         loc++)
        cr_assert_eq(sscanf(loc, " .loc %d %d", &file, &line), 2);
    return line;
}

/* The first use of an instruction in a function. */
static const char *find_code(const char *text, const char *function,
                             const char *instruction)
{
    char label[128];
    snprintf(label, sizeof(label), "\n%s", function);
    const char *at = strstr(text, label);
    cr_assert_not_null(at, "%s", function);
    at = strstr(at, instruction);
    cr_assert_not_null(at, "%s", instruction);
    return at;
}

static void distances(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value d = AT(line_of_sub, tg_sub(in[0], in[1]));
    tg_value squares = AT(line_of_mul, tg_mul(d, d));
    tg_return(t, AT(line_of_sum, tg_sum(squares, TG_AXES(-1))));
}

Test(llvm_debug, instructions_have_the_lines_of_their_operations)
{
    assembled as;
    build(&as, distances, F32(300, 64), F32(300, 64));
    const char kernel[] = "tg_distances_0";
    cr_expect_eq(line_before(as.text, find_code(as.text, kernel, "vsubps")),
                 line_of_sub);
    cr_expect_eq(line_before(as.text, find_code(as.text, kernel, "vmulps")),
                 line_of_mul);
    cr_expect_eq(line_before(as.text, find_code(as.text, kernel, "vaddps")),
                 line_of_sum);
    cr_expect_not_null(strstr(as.text, "\t.file\t1 "));
    cr_expect_not_null(strstr(as.text, __FILE__));
    assemble_end(&as);
}

/* A function that kernels of several lines call has no lines. */

static void one_product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[1]));
}

static void two_products(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_matmul(in[0], in[1]);
    tg_return(t, tg_matmul(y, in[1]));
}

/* True if a function has lines. */
static bool has_lines(const char *text, const char *function)
{
    const char *begin = find_code(text, function, ":");
    const char *end = strstr(begin, ".cfi_endproc");
    const char *loc = strstr(begin, "\t.loc\t");
    cr_assert_not_null(end);
    return loc && loc < end;
}

Test(llvm_debug, a_micro_kernel_has_a_line_if_one_kernel_calls_it)
{
    assembled as;
    build(&as, one_product, F32(300, 512), F32(512, 512));
    cr_assert(has_lines(as.text, "tg_micro_kernel"));
    assemble_end(&as);
    build(&as, two_products, F32(300, 512), F32(512, 512));
    cr_assert_not(has_lines(as.text, "tg_micro_kernel"));
    cr_assert(has_lines(as.text, "tg_two_products_0"));
    assemble_end(&as);
}

/* -- Nested functions ------------------------------------------------------ */

static void square(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, AT(line_of_mul, tg_mul(in[0], in[0])));
}

static assembled nested; /* norm uses its context */

static void norm(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y;
    tg_function *f = tg_function_create_named(nested.fu.session.ctx, "square",
                                              square, NULL, NULL);
    AT(line_of_call, tg_apply(f, TG_ARGS(in[0]), &y, 1));
    tg_function_release(f);
    tg_return(t, tg_sqrt(tg_sum(y, TG_AXES(-1))));
}

Test(llvm_debug, nested_functions_are_inlined)
{
    build(&nested, norm, F32(300, 64));
    const char *mul = find_code(nested.text, "tg_norm_0", "vmulps");
    cr_assert_eq(line_before(nested.text, mul), line_of_mul);
    cr_assert_eq(nested.codegen.n_inlined_sites, 1);
    const tgi_site_chain *site = nested.codegen.inlined_sites[0];
    cr_assert_str_eq(site->function, "square");
    cr_assert_eq(site->line, line_of_mul);
    cr_assert_eq(site->caller->line, line_of_call);
    cr_assert_null(site->caller->caller);
    assemble_end(&nested);
}

/* -- The line table of an object ------------------------------------------- */

static const tgi_debug_row *find_row(const tgi_debug_lines *lines, int line)
{
    for (size_t i = 0; i < lines->rows.n; i++)
        if (lines->rows.data[i].line == (uint32_t)line &&
            !lines->rows.data[i].is_end)
            return &lines->rows.data[i];
    return NULL;
}

Test(llvm_debug, the_line_table_can_be_read_back)
{
    assembled as;
    tgi_debug_lines lines;
    build(&as, distances, F32(300, 64), F32(300, 64));
    tgi_object object = open_object(&as.codegen);
    cr_assert_eq(tgi_debug_lines_read(&object, &lines), TG_OK);
    const int expected[] = {line_of_sub, line_of_mul, line_of_sum};
    for (int i = 0; i < 3; i++) {
        const tgi_debug_row *row = find_row(&lines, expected[i]);
        cr_assert_not_null(row, "line %d", expected[i]);
        cr_assert_not_null(
            strstr(__FILE__, lines.files.data[row->file].name));
        cr_assert_lt(row->offset, object.image_bytes);
    }
    for (size_t i = 1; i < lines.rows.n; i++)
        cr_assert(lines.rows.data[i - 1].is_end ||
                  lines.rows.data[i - 1].offset <= lines.rows.data[i].offset);
    cr_assert(lines.rows.data[lines.rows.n - 1].is_end);
    tgi_debug_lines_deinit(&lines);
    tgi_object_deinit(&object);
    assemble_end(&as);
}

/* The section of the line table in a copy of an object. */
static unsigned char *find_table(const tgi_object *object, unsigned char *copy,
                                 size_t *out_bytes)
{
    for (size_t i = 1; i < object->n_sections; i++) {
        const Elf64_Shdr section = tgi_object_section(object, i);
        *out_bytes = section.sh_size;
        if (!strcmp(tgi_object_section_name(object, &section), ".debug_line"))
            return copy + section.sh_offset;
    }
    cr_assert_fail("there is no line table");
    return NULL;
}

/* Every byte of the table in turn has other values. No read leaves the object,
   whose copy ends where its memory does, and all rows refer to files. */
Test(llvm_debug, a_damaged_line_table_is_harmless)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    size_t bytes;
    build(&nested, norm, F32(300, 64));
    const size_t n = nested.codegen.object_bytes;
    unsigned char *copy = tgi_alloc(n);
    memcpy(copy, nested.codegen.object, n);
    tgi_object object;
    cr_assert_eq(tgi_object_init(&object, copy, n), TG_OK);
    unsigned char *table = find_table(&object, copy, &bytes);
    for (size_t i = 0; i < bytes; i++)
        for (size_t k = 0; k < sizeof(values); k++) {
            tgi_debug_lines lines;
            const unsigned char before = table[i];
            table[i] = values[k];
            cr_assert_eq(tgi_debug_lines_read(&object, &lines), TG_OK);
            for (size_t j = 0; j < lines.rows.n; j++)
                cr_assert_lt(lines.rows.data[j].file, lines.files.n);
            tgi_debug_lines_deinit(&lines);
            table[i] = before;
        }
    tgi_object_deinit(&object);
    tgi_free(copy);
    assemble_end(&nested);
}

static unsigned char read_object[1 << 16];
static size_t n_read_object;

static bool read_lines(void)
{
    tgi_debug_lines lines;
    tgi_object object;
    if (tgi_object_init(&object, read_object, n_read_object))
        return false;
    const tg_status status = tgi_debug_lines_read(&object, &lines);
    if (!status)
        tgi_debug_lines_deinit(&lines);
    tgi_object_deinit(&object);
    return status == TG_OK;
}

Test(llvm_debug, reading_lines_reports_out_of_memory)
{
    build(&nested, norm, F32(300, 64));
    n_read_object = nested.codegen.object_bytes;
    cr_assert_leq(n_read_object, sizeof(read_object));
    memcpy(read_object, nested.codegen.object, n_read_object);
    assemble_end(&nested);
    check_every_fault(read_lines);
}
