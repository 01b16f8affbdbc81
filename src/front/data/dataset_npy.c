/* SPDX-License-Identifier: MIT */
/*
 * dataset_npy.c - tg_dataset_from_npy: slices of arrays in .npy files, which
 * stay mapped as long as the dataset lives.
 */
#include "front/data/dataset_object.h"
#include "tgjit/file.h"

static const char who[] = "tg_dataset_from_npy";

/* Maps the files and slices them. `operands` has zeros. */
static tg_dataset *create(tg_context *ctx, const char *const *paths, size_t n,
                          tg_operand *operands, tg_site site)
{
    for (size_t i = 0; i < n; i++) {
        tg_tensor *tensor = tg_npy_load(ctx, paths[i]);
        if (!tensor)
            return NULL;
        operands[i] = tg_in_tensor(tensor);
    }
    return tg_dataset_from_at(ctx, operands, n, site);
}

tg_dataset *tg_dataset_from_npy_at(tg_context *ctx, const char *const *paths,
                                   size_t n, tg_site site)
{
    tgi_api_frame frame = tgi_api_enter(ctx, who);
    tg_dataset *d = NULL;
    tg_operand *operands = NULL;
    if (!ctx || !paths || n == 0)
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site, "%s: %s", who,
                      ctx ? "there are no files" : "the context is NULL");
    else if (!(operands = tgi_alloc_zero(n * sizeof(*operands))))
        tgi_error_memory();
    else
        d = create(ctx, paths, n, operands, site);
    if (!d)
        tgi_error_locate(site, who);
    for (size_t i = 0; operands && i < n; i++)
        tg_tensor_release(operands[i].as.tensor);
    tgi_free(operands);
    tgi_api_leave(frame);
    return d;
}
