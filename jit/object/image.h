/* SPDX-License-Identifier: MIT */
/*
 * image.h - machine code in memory, loaded from the object that the code
 * generator or the disk cache gave: the last station of a compile.
 *
 * Generated code is one object of code and constants that needs nothing from
 * outside: no foreign symbol, no absolute address, no writable data. So our
 * own loader is enough: verify (elf_reader.c), write and relocate
 * (image_write.c), make executable (executable_pages.c). The object must come from the
 * position-independent model and its functions be internal, hidden or
 * dso_local; then all its relocations are distances.
 *
 * An image is immutable. Every function here may be called from any thread.
 */
#ifndef TGI_IMAGE_H
#define TGI_IMAGE_H

#include <stddef.h>

#include "tgjit/base.h"

typedef struct tgi_image tgi_image;

/*
 * Loads the `n_bytes` bytes of an ELF object, which need no alignment and are
 * not kept. They may hold anything: a damaged object is an invalid argument,
 * one that asks for more than above is unsupported, with a message that names
 * what it asks for. But damage that leaves a sound object is not seen: what
 * comes from a disk needs a checksum of its own.
 */
TG_MUST_CHECK tg_status tgi_image_load(const void *bytes, size_t n_bytes,
                                       tgi_image **out_image);

tgi_image *tgi_image_retain(tgi_image *image);

/* The code goes with the last reference. NULL is allowed. */
void tgi_image_release(tgi_image *image);

/* Address of a global symbol; NULL if there is none of that name. */
void *tgi_image_symbol(const tgi_image *image, const char *name);

/* Bytes of code and constants together. */
size_t tgi_image_code_bytes(const tgi_image *image);

/* Bytes of memory: whole pages, names, and what a debugger is told. */
size_t tgi_image_bytes(const tgi_image *image);

#endif /* TGI_IMAGE_H */
