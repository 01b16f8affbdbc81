/* SPDX-License-Identifier: MIT */
/*
 * file.h - tensors and variables in files: .npy, .npz, .safetensors and CSV.
 *
 * Reading. Nothing in a file is trusted: every length is checked against the
 * size of the file before it is used, and a damaged file is TG_ERROR_FILE.
 * Elements are used in place, in a private mapping of the file, where their
 * dtype, order and alignment allow it: writing to such a tensor changes memory
 * of the process, never the file. A mapped file may be replaced or removed, as
 * the functions below do it, but a process that touches a mapping whose file
 * was cut short gets SIGBUS; where others may do that, set `no_map`.
 *
 * Writing. A file is replaced as a whole: written under a temporary name in its
 * directory, synchronised with the disk, then renamed. If that fails, the old
 * file is as it was. A symbolic link is replaced, not followed.
 */
#ifndef TGJIT_FILE_H
#define TGJIT_FILE_H

#include "tensor.h"
#include "variable.h"

TG_BEGIN_DECLS

typedef struct tg_archive tg_archive;

/* How files are read. */
typedef struct tg_load_options {
    size_t struct_bytes; /* sizeof(tg_load_options) */
    bool no_map;         /* read the file into memory instead of mapping it */
    bool allow_missing;  /* variables that the file lacks keep their contents */
    bool allow_extra;    /* tensors without a variable are ignored */
} tg_load_options;

#define TG_LOAD_OPTIONS_INIT TG_OPTIONS_INIT(tg_load_options)

/* -- .npy: one array ------------------------------------------------------- */

/*
 * The array of a .npy file of version 1.0, 2.0 or 3.0, as numpy.save writes
 * it. In C order and with the byte order of the machine it is mapped, else
 * converted into memory of the tensor's own. DTYPE for element types that the
 * library does not have, FILE for anything else.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_npy_load(tg_context *ctx, const char *path);
TG_API TG_MUST_CHECK tg_tensor *
tg_npy_load_with(tg_context *ctx, const char *path,
                 const tg_load_options *options);

/* Writes a tensor for numpy.load, and for tg_npy_load to map. */
TG_API TG_MUST_CHECK tg_status tg_npy_save(const tg_tensor *tensor,
                                           const char *path);

/* -- Archives: named tensors ----------------------------------------------- */

/*
 * An archive is a list of tensors with names, in the order of their addition,
 * and of metadata: pairs of strings. It is what a .npz or .safetensors file
 * holds. Names are UTF-8, not empty, without "__metadata__" and at most
 * TG_MAX_NAME_BYTES long. Nothing leaves an archive, so what it lends lives as
 * long as the archive.
 */
#define TG_MAX_NAME_BYTES 65000

typedef enum tg_archive_format {
    TG_ARCHIVE_BY_SUFFIX = 0,
    TG_ARCHIVE_NPZ = 1,        /* uncompressed, as numpy.savez writes it */
    TG_ARCHIVE_SAFETENSORS = 2
} tg_archive_format;

/* An empty archive. */
TG_API TG_MUST_CHECK tg_archive *tg_archive_create(tg_context *ctx);

/*
 * The archive in a .npz or .safetensors file; its first bytes tell which. Only
 * its table of contents is read: tensors are read when they are asked for.
 * FILE if the table is damaged: names twice, data outside of the file or used
 * twice, or gaps in a .safetensors file.
 */
TG_API TG_MUST_CHECK tg_archive *tg_archive_load(tg_context *ctx,
                                                 const char *path);
TG_API TG_MUST_CHECK tg_archive *
tg_archive_load_with(tg_context *ctx, const char *path,
                     const tg_load_options *options);

TG_API tg_archive *tg_archive_retain(tg_archive *archive);
TG_API void tg_archive_release(tg_archive *archive);
TG_DEFINE_AUTO(tg_archive)

/*
 * Writes all tensors and metadata. The format is that of the suffix (.npz or
 * .safetensors, else INVALID_ARGUMENT), or the one given. Tensors of a file
 * that nobody has asked for are read; if one cannot be, nothing is written.
 */
TG_API TG_MUST_CHECK tg_status tg_archive_save(tg_archive *archive,
                                               const char *path);
TG_API TG_MUST_CHECK tg_status tg_archive_save_as(tg_archive *archive,
                                                  const char *path,
                                                  tg_archive_format format);

/* Number of tensors, and their names; NULL from the number on. */
TG_API size_t tg_archive_count(tg_archive *archive);
TG_API const char *tg_archive_name(tg_archive *archive, size_t i);
TG_API bool tg_archive_has(tg_archive *archive, const char *name);

/*
 * The tensor of that name, lent. NULL and STATE if there is none; DTYPE if the
 * library does not have its element type (F16, BF16, complex …); FILE if its
 * data is damaged; UNSUPPORTED if it is compressed and the library was built
 * without zlib.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_archive_get(tg_archive *archive,
                                               const char *name);

/* Adds a tensor, which the archive retains: later changes of its elements are
   saved. STATE if the name is taken. */
TG_API TG_MUST_CHECK tg_status tg_archive_add(tg_archive *archive,
                                              const char *name,
                                              tg_tensor *tensor);

/* The metadata under a key, lent; NULL if there is none. */
TG_API const char *tg_archive_metadata(tg_archive *archive, const char *key);

/* Key number i of the metadata, lent; NULL from their number on. */
TG_API const char *tg_archive_metadata_key(tg_archive *archive, size_t i);

/* Adds metadata: UTF-8. STATE if the key is taken. */
TG_API TG_MUST_CHECK tg_status tg_archive_add_metadata(tg_archive *archive,
                                                       const char *key,
                                                       const char *value);

/* -- Variables and bundles in archives ------------------------------------- */

/*
 * Adds copies of the contents of variables, under "PREFIX.NAME", or NAME if
 * the prefix is NULL or "". All are copied at one moment: no call of another
 * thread is seen half done. A member of a bundle is named as C would write it,
 * "first.weights"; members that are NULL are left out. All or none are added.
 *
 * STATE if a variable has no contents yet, or a name is taken; BUSY in a
 * callback of a call that uses one.
 */
TG_API TG_MUST_CHECK tg_status
tg_archive_add_bundle(tg_archive *archive, const char *prefix,
                      const tg_bundle_type *type, const void *bundle);
TG_API TG_MUST_CHECK tg_status
tg_archive_add_variables(tg_archive *archive, const char *prefix,
                         tg_variable *const *variables, size_t n_variables);

/*
 * Assigns the tensors of an archive to the variables, at one moment as above.
 * Before anything is written, all names, dtypes, shapes and data are checked:
 * STATE if a variable has no tensor, or a tensor under the prefix no variable
 * (see tg_load_options); DTYPE or SHAPE if they differ; STATE if a variable
 * that is listed twice would get two values. Then no variable has changed.
 */
TG_API TG_MUST_CHECK tg_status
tg_archive_get_bundle(tg_archive *archive, const char *prefix,
                      const tg_bundle_type *type, const void *bundle,
                      const tg_load_options *options);
TG_API TG_MUST_CHECK tg_status
tg_archive_get_variables(tg_archive *archive, const char *prefix,
                         tg_variable *const *variables, size_t n_variables,
                         const tg_load_options *options);

/* The same with a file of its own; there must be a variable. */
TG_API TG_MUST_CHECK tg_status tg_bundle_save(const tg_bundle_type *type,
                                              const void *bundle,
                                              const char *path);
TG_API TG_MUST_CHECK tg_status tg_bundle_load(const tg_bundle_type *type,
                                              const void *bundle,
                                              const char *path);
TG_API TG_MUST_CHECK tg_status
tg_bundle_load_with(const tg_bundle_type *type, const void *bundle,
                    const char *path, const tg_load_options *options);

TG_API TG_MUST_CHECK tg_status
tg_variables_save(tg_variable *const *variables, size_t n_variables,
                  const char *path);
TG_API TG_MUST_CHECK tg_status
tg_variables_load(tg_variable *const *variables, size_t n_variables,
                  const char *path);
TG_API TG_MUST_CHECK tg_status
tg_variables_load_with(tg_variable *const *variables, size_t n_variables,
                       const char *path, const tg_load_options *options);

/* -- CSV ------------------------------------------------------------------- */

typedef struct tg_csv_options {
    size_t struct_bytes; /* sizeof(tg_csv_options) */
    bool has_header;     /* the first row names the columns */
    bool allow_empty;    /* an empty field of a float column is NaN */
    char delimiter;      /* 0: a comma */
    tg_dtype dtype;      /* of tg_csv_load; TG_DTYPE_NONE: f32 */
} tg_csv_options;

#define TG_CSV_OPTIONS_INIT TG_OPTIONS_INIT(tg_csv_options)

/* Columns that are next to each other and make one tensor. */
typedef struct tg_csv_columns {
    tg_dtype dtype;   /* TG_DTYPE_NONE: f32 */
    const char *name; /* of the first, in the header; NULL: `first` */
    int64_t first;    /* its number, from 0 on */
    int64_t n;        /* 0: one column, as a vector; n: as [rows, n];
                         TG_CSV_REST: all that follow, as [rows, …] */
} tg_csv_columns;

#define TG_CSV_REST ((int64_t)-1)

/*
 * All of a CSV file as one tensor [rows, columns]. Fields may be quoted ("a
 * quote is """); blanks around other fields and empty lines are skipped. Every
 * row has as many fields as the first. Numbers are decimal, rounded to
 * nearest; nan and inf are floats; bools are 0, 1, true and false. A bad row is
 * TG_ERROR_FILE at FILE:LINE, with column and field. `path` may be a pipe.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_csv_load(tg_context *ctx, const char *path,
                                            const tg_csv_options *options);

/*
 * One tensor for each of n_groups groups of columns, in out_tensors; all NULL
 * on failure. Columns in no group may hold any text.
 */
TG_API TG_MUST_CHECK tg_status
tg_csv_load_columns(tg_context *ctx, const char *path,
                    const tg_csv_options *options,
                    const tg_csv_columns *groups, size_t n_groups,
                    tg_tensor **out_tensors);

TG_END_DECLS

#endif /* TGJIT_FILE_H */
