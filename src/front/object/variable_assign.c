/* SPDX-License-Identifier: MIT */
/*
 * variable_assign.c - tg_variable_assign: the host assigns a tensor or a
 * number to a variable, with the checks of the operation tg_assign.
 */
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "front/object/variable_object.h"
#include "tgjit/value.h"

/* The number that an operand holds; false if it is none. */
static bool read_number(const tg_operand *operand, tgi_number *out_number)
{
    switch (operand->kind) {
    case TG_OPERAND_INT:
        *out_number = (tgi_number){TGI_NUMBER_INT, {.i = operand->as.i}};
        return true;
    case TG_OPERAND_UINT:
        *out_number = (tgi_number){TGI_NUMBER_UINT, {.u = operand->as.u}};
        return true;
    case TG_OPERAND_FLOAT:
        *out_number = (tgi_number){TGI_NUMBER_FLOAT, {.f = operand->as.f}};
        return true;
    default:
        return false;
    }
}

/* Fails unless the tensor is a scalar or has the shape of the variable. */
static tg_status check_tensor(const tg_variable *variable,
                              const tg_tensor *tensor, const char *who,
                              tg_site site)
{
    const tgi_spec *to = &variable->spec;
    char expected[256], actual[256];
    if (!tensor)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site, "%s: the tensor is NULL",
                 who);
    const tgi_spec *from = &tensor->spec;
    if (tgi_spec_equals(to, from) ||
        (to->dtype == from->dtype && from->rank == 0))
        return TG_OK;
    TGI_FAIL(to->dtype == from->dtype ? TG_ERROR_SHAPE : TG_ERROR_DTYPE, site,
             "%s: variable '%s' is %s, but the tensor is %s", who,
             variable->name,
             tgi_spec_text(to->dtype, to->rank, to->dims, expected,
                           sizeof(expected)),
             tgi_spec_text(from->dtype, from->rank, from->dims, actual,
                           sizeof(actual)));
}

static void fill_elements(char *data, const tgi_spec *spec,
                          const void *element)
{
    const size_t bytes = tg_dtype_bytes(spec->dtype);
    for (int64_t i = 0; i < spec->count; i++)
        memcpy(data + (size_t)i * bytes, element, bytes);
}

static tg_status assign_variable(tg_variable *variable, tg_operand value,
                                 const char *who, tg_site site)
{
    tgi_number number;
    char element[8], text[64];
    TGI_TRY(tgi_variable_check(variable, NULL, who, site));
    const tgi_spec *spec = &variable->spec;
    const bool is_number = read_number(&value, &number);
    const tg_tensor *tensor = is_number ? NULL : value.as.tensor;
    if (!is_number && value.kind != TG_OPERAND_TENSOR)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "%s: a variable is assigned a tensor or a number", who);
    if (!is_number)
        TGI_TRY(check_tensor(variable, tensor, who, site));
    else if (!tgi_dtype_store(spec->dtype, number, element))
        TGI_FAIL(TG_ERROR_DTYPE, site,
                 "%s: variable '%s' is %s, which cannot represent %s", who,
                 variable->name, tg_dtype_name(spec->dtype),
                 tgi_number_format(number, text, sizeof(text)));
    char *data = tg_variable_map(variable, TG_WRITE);
    if (!data)
        return tg_error_last()->status;
    if (is_number || tensor->spec.rank != spec->rank)
        fill_elements(data, spec, is_number ? element : tensor->data);
    else if (spec->bytes)
        memmove(data, tensor->data, (size_t)spec->bytes);
    return tg_variable_unmap(variable);
}

tg_status tg_variable_assign_at(tg_variable *variable, tg_operand value,
                                tg_site site)
{
    static const char who[] = "tg_variable_assign";
    tgi_api_frame frame = tgi_api_enter(variable ? variable->ctx : NULL, who);
    const tg_status status = assign_variable(variable, value, who, site);
    tgi_api_leave(frame);
    return status;
}
