/* SPDX-License-Identifier: MIT */
/*
 * file.h - tensors and variables in files: .npy, .npz, .safetensors and CSV.
 *
 * Reading. File contents are untrusted: every length is checked against the
 * file size before use, and a damaged file is TG_ERROR_FILE. If dtype, order
 * and alignment allow it, a tensor is a view of a private mapping of the file:
 * writing to the tensor never changes the file. A mapped file may be replaced
 * or deleted, but reading a mapping whose file was truncated raises SIGBUS. Set
 * `no_map` if other programs may truncate the file.
 *
 * Writing is atomic: the file is written under a temporary name in the same
 * directory, synchronised with the disk and renamed. On failure the old file is
 * unchanged. A symbolic link is replaced, not followed.
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
    bool allow_missing;  /* variables without a tensor keep their contents */
    bool allow_extra;    /* tensors without a variable are ignored */
} tg_load_options;

#define TG_LOAD_OPTIONS_INIT TG_OPTIONS_INIT(tg_load_options)

/* -- .npy: one array ------------------------------------------------------- */

/*
 * Loads a .npy file (version 1.0, 2.0 or 3.0). An array in C order and native
 * byte order is mapped; any other is converted into memory owned by the tensor.
 * NULL on failure: DTYPE for an unsupported dtype, OVERFLOW if the size exceeds
 * 64 bits, FILE if the file cannot be read or is not a valid .npy file.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_npy_load(tg_context *ctx, const char *path);
TG_API TG_MUST_CHECK tg_tensor *
tg_npy_load_with(tg_context *ctx, const char *path,
                 const tg_load_options *options);

/* Saves a tensor as .npy, version 1.0, aligned for mapping. */
TG_API TG_MUST_CHECK tg_status tg_npy_save(const tg_tensor *tensor,
                                           const char *path);

/* -- Archives: named tensors ----------------------------------------------- */

/*
 * An archive is the content of a .npz or .safetensors file: an ordered list of
 * named tensors, and metadata (pairs of strings). Names are non-empty UTF-8 of
 * at most TG_MAX_NAME_BYTES bytes; "__metadata__" is reserved. Entries are
 * never removed: tensors and strings that an archive lends live as long as it.
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
 * Opens a .npz or .safetensors file; the format is detected from its contents.
 * Reads only the table of contents; tensors are read on request. NULL and FILE
 * if the table is invalid: duplicate names, data out of range or overlapping,
 * or gaps in a .safetensors file.
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
 * Saves all tensors and metadata, in the given format or that of the suffix
 * (.npz or .safetensors; any other is INVALID_ARGUMENT). Tensors not yet read
 * from the archive's own file are read first; if one fails, nothing is written.
 */
TG_API TG_MUST_CHECK tg_status tg_archive_save(tg_archive *archive,
                                               const char *path);
TG_API TG_MUST_CHECK tg_status tg_archive_save_as(tg_archive *archive,
                                                  const char *path,
                                                  tg_archive_format format);

/* Number of tensors; name of tensor i, NULL if i is out of range. */
TG_API size_t tg_archive_count(tg_archive *archive);
TG_API const char *tg_archive_name(tg_archive *archive, size_t i);
TG_API bool tg_archive_has(tg_archive *archive, const char *name);

/*
 * Returns the tensor of that name, lent. NULL on failure: STATE if there is
 * none; DTYPE if its dtype is unsupported (complex, 8-bit floats …); FILE if its
 * data is damaged; UNSUPPORTED if it is compressed and the library was built
 * without zlib.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_archive_get(tg_archive *archive,
                                               const char *name);

/* Adds a tensor and retains it; saving the archive reads its elements. STATE if
   the name exists. */
TG_API TG_MUST_CHECK tg_status tg_archive_add(tg_archive *archive,
                                              const char *name,
                                              tg_tensor *tensor);

/* Value of a metadata key, lent; NULL if there is none. */
TG_API const char *tg_archive_metadata(tg_archive *archive, const char *key);

/* Metadata key i, lent; NULL if i is out of range. */
TG_API const char *tg_archive_metadata_key(tg_archive *archive, size_t i);

/* Adds metadata (UTF-8). STATE if the key exists. */
TG_API TG_MUST_CHECK tg_status tg_archive_add_metadata(tg_archive *archive,
                                                       const char *key,
                                                       const char *value);

/* -- Variables and bundles in archives ------------------------------------- */

/*
 * Adds copies of variables as "PREFIX.NAME", or NAME if the prefix is NULL or
 * "". All variables are locked while they are copied, so the copy is a state
 * between two calls. On failure nothing is added.
 *
 * The NAME of a bundle member is its path in C, "first.weights"; NULL members
 * are skipped. The NAME of a listed variable is tg_variable_name: the second
 * "w" of a context is named "w_1" in a file too. Use bundles if a model may be
 * created more than once.
 *
 * STATE if a variable is uninitialised or a name exists; BUSY if called from a
 * callback of a call that uses one of the variables.
 */
TG_API TG_MUST_CHECK tg_status
tg_archive_add_bundle(tg_archive *archive, const char *prefix,
                      const tg_bundle_type *type, const void *bundle);
TG_API TG_MUST_CHECK tg_status
tg_archive_add_variables(tg_archive *archive, const char *prefix,
                         tg_variable *const *variables, size_t n_variables);

/*
 * Assigns tensors of an archive to variables, named as above. Checks all names,
 * dtypes, shapes and data first, then assigns all variables under their locks.
 * On failure no variable has changed: STATE if a variable has no tensor, a
 * tensor under the prefix has no variable (see tg_load_options), or a variable
 * that is listed twice would get two values; DTYPE or SHAPE if specs differ;
 * BUSY as above; else as tg_archive_get.
 */
TG_API TG_MUST_CHECK tg_status
tg_archive_get_bundle(tg_archive *archive, const char *prefix,
                      const tg_bundle_type *type, const void *bundle,
                      const tg_load_options *options);
TG_API TG_MUST_CHECK tg_status
tg_archive_get_variables(tg_archive *archive, const char *prefix,
                         tg_variable *const *variables, size_t n_variables,
                         const tg_load_options *options);

/* The same with a file. INVALID_ARGUMENT if there is no variable. */
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

/* Adjacent columns that form one tensor. */
typedef struct tg_csv_columns {
    tg_dtype dtype;   /* TG_DTYPE_NONE: f32 */
    const char *name; /* header name of the first column; NULL: use `first` */
    int64_t first;    /* index of the first column */
    int64_t n;        /* 0: one column, shape [rows]; n: shape [rows, n];
                         TG_CSV_REST: through the last column */
} tg_csv_columns;

#define TG_CSV_REST ((int64_t)-1)

/*
 * Reads a CSV file into one tensor [rows, columns]. Fields may be quoted, with
 * "" for a quote; blanks around unquoted fields and empty lines are skipped.
 * All rows must have the same number of fields. Numbers are decimal, correctly
 * rounded and independent of the locale; floats may be nan and inf, bools are
 * 0, 1, true or false. An invalid row is TG_ERROR_FILE; the message begins with
 * PATH:LINE and names the column and the field. `path` may be a pipe.
 */
TG_API TG_MUST_CHECK tg_tensor *tg_csv_load(tg_context *ctx, const char *path,
                                            const tg_csv_options *options);

/*
 * As tg_csv_load, but reads one tensor per group of columns into out_tensors;
 * on failure all are NULL. Columns outside all groups may hold any text.
 */
TG_API TG_MUST_CHECK tg_status
tg_csv_load_columns(tg_context *ctx, const char *path,
                    const tg_csv_options *options,
                    const tg_csv_columns *groups, size_t n_groups,
                    tg_tensor **out_tensors);

TG_END_DECLS

#endif /* TGJIT_FILE_H */
