/* SPDX-License-Identifier: MIT */
/*
 * image.c - loads an object and owns its code.
 *
 * Of the object, the image keeps only the names of global symbols, in the same
 * memory block, after the symbol table.
 */
#include "object/image.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/live.h"
#include "base/refcount.h"
#include "object/elf_reader.h"
#include "object/executable_pages.h"
#include "object/image_debug.h"

typedef struct image_symbol {
    const char *name;
    void *address;
} image_symbol;

struct tgi_image {
    tgi_refcount refs;
    unsigned char *code; /* NULL until it is allocated */
    size_t code_bytes;
    tgi_image_debug *debug; /* NULL: not registered with gdb */
    size_t n_symbols;
    image_symbol symbols[]; /* and then their names */
};

/* -- Symbols --------------------------------------------------------------- */

static bool is_global_symbol(const tgi_object *object, const Elf64_Sym *symbol)
{
    return ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
           tgi_object_symbol_offset(object, symbol) != TGI_OBJECT_NOT_LOADED;
}

/* An image without code, with space for the symbols; NULL when out of
   memory. */
static tgi_image *alloc_image(const tgi_object *object)
{
    size_t n = 0, name_bytes = 0;
    for (size_t i = 0; i < object->n_symbols; i++) {
        const Elf64_Sym symbol = tgi_object_symbol(object, i);
        if (!is_global_symbol(object, &symbol))
            continue;
        n++;
        name_bytes += strlen(tgi_object_symbol_name(object, &symbol)) + 1;
    }
    tgi_image *image = tgi_alloc_zero(
        sizeof(*image) + n * sizeof(image->symbols[0]) + name_bytes);
    if (!image)
        return NULL;
    tgi_refcount_init(&image->refs);
    image->n_symbols = n;
    tgi_live_add(TGI_LIVE_IMAGE, 1);
    return image;
}

static void fill_symbols(tgi_image *image, const tgi_object *object)
{
    image_symbol *next = image->symbols;
    char *name = (char *)(image->symbols + image->n_symbols);
    for (size_t i = 0; i < object->n_symbols; i++) {
        const Elf64_Sym symbol = tgi_object_symbol(object, i);
        if (!is_global_symbol(object, &symbol))
            continue;
        next->address = image->code + tgi_object_symbol_offset(object, &symbol);
        next->name = name;
        name = stpcpy(name, tgi_object_symbol_name(object, &symbol)) + 1;
        next++;
    }
}

void *tgi_image_symbol(const tgi_image *image, const char *name)
{
    for (size_t i = 0; i < image->n_symbols; i++)
        if (strcmp(image->symbols[i].name, name) == 0)
            return image->symbols[i].address;
    return NULL;
}

/* -- Life ------------------------------------------------------------------ */

static tg_status fill(tgi_image *image, const tgi_object *object)
{
    void *pages;
    TGI_TRY(tgi_pages_alloc(object->image_bytes, &pages));
    image->code = pages;
    image->code_bytes = object->image_bytes;
    TGI_TRY(tgi_object_write_image(object, image->code));
    TGI_TRY(tgi_pages_seal(image->code, image->code_bytes));
    fill_symbols(image, object);
    return tgi_image_debug_add(object, image->code, &image->debug);
}

static tg_status load(const tgi_object *object, tgi_image **out_image)
{
    tgi_image *image = alloc_image(object);
    if (!image)
        return tgi_error_memory();
    const tg_status status = fill(image, object);
    if (status != TG_OK)
        tgi_image_release(image);
    else
        *out_image = image;
    return status;
}

tg_status tgi_image_load(const void *bytes, size_t n_bytes,
                         tgi_image **out_image)
{
    *out_image = NULL;
    tgi_object object;
    TGI_TRY(tgi_object_init(&object, bytes, n_bytes));
    const tg_status status =
        object.machine == tgi_elf_machine
            ? load(&object, out_image)
            : tgi_error_set(
                  TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                  "the object is for ELF machine %u, not for this one (%u)",
                  object.machine, tgi_elf_machine);
    tgi_object_deinit(&object);
    return status;
}

tgi_image *tgi_image_retain(tgi_image *image)
{
    tgi_refcount_inc(&image->refs);
    return image;
}

void tgi_image_release(tgi_image *image)
{
    if (!image || !tgi_refcount_dec(&image->refs))
        return;
    tgi_image_debug_remove(image->debug);
    if (image->code)
        tgi_pages_free(image->code, image->code_bytes);
    tgi_free(image);
    tgi_live_add(TGI_LIVE_IMAGE, -1);
}

size_t tgi_image_code_bytes(const tgi_image *image)
{
    return image->code_bytes;
}

size_t tgi_image_bytes(const tgi_image *image)
{
    return tgi_block_bytes(image) + tgi_block_bytes(image->debug) +
           tgi_pages_round_up(image->code_bytes);
}
