/* SPDX-License-Identifier: MIT */
/*
 * image.h - machine code in memory, loaded from an object of the code generator
 * or the disk cache.
 *
 * An object has code and constants, but no undefined symbols, absolute
 * addresses or writable data. A small loader therefore suffices: verify
 * (elf_reader.c), copy and relocate (image_write.c), make executable
 * (executable_pages.c). The object must be compiled with the position-
 * independent relocation model, and its functions must be internal, hidden or
 * dso_local; then all relocations are PC-relative, or relative to a page.
 *
 * An image is immutable. All functions are thread-safe.
 */
#ifndef TGI_IMAGE_H
#define TGI_IMAGE_H

#include <stddef.h>

#include "tgjit/base.h"

typedef struct tgi_image tgi_image;

/*
 * Loads an ELF object from n_bytes bytes, which need no alignment and are not
 * retained. Accepts arbitrary bytes: INVALID_ARGUMENT for a malformed object,
 * UNSUPPORTED for one that needs more than above; the message has the reason.
 * Damage that leaves a well-formed object is not detected: the disk cache has
 * its own checksum.
 */
TG_MUST_CHECK tg_status tgi_image_load(const void *bytes, size_t n_bytes,
                                       tgi_image **out_image);

tgi_image *tgi_image_retain(tgi_image *image);

/* The last release frees the code. NULL is allowed. */
void tgi_image_release(tgi_image *image);

/* The address of a global symbol; NULL if there is none of this name. */
void *tgi_image_symbol(const tgi_image *image, const char *name);

/* Bytes of code and constants. */
size_t tgi_image_code_bytes(const tgi_image *image);

/* Bytes of memory: whole pages, symbol names, debugger registration. */
size_t tgi_image_bytes(const tgi_image *image);

#endif /* TGI_IMAGE_H */
