/* SPDX-License-Identifier: MIT */
/*
 * onnx_model.c - loading models: files, bodies, variables; and the functions
 * that describe a model.
 */
#include "onnx_model.h"

#include <stdlib.h>
#include <string.h>

#include "onnx_file.h"
#include "onnx_inputs.h"
#include "onnx_reader.h"
#include "onnx_run.h"
#include "onnx_wire.h"

/* -- Variables ------------------------------------------------------------- */

static bool is_weight(const tgi_onnx_body *body, const tgi_onnx_initial *x)
{
    return tgi_onnx_is_float(x->array.dtype) && x->array.rank > 0 &&
           x->array.count > 0 && !(body->facts[x->id] & TGI_ONNX_NEEDED);
}

/* Reads the elements of a variable from where the model has them. */
static tg_status fill_variable(const tgi_onnx_reader *reader,
                               const tgi_onnx_initial *x)
{
    void *data = tg_variable_map(x->variable, TG_WRITE);
    if (!data)
        return tg_error_last()->status;
    const tg_status status = tgi_onnx_source_read(
        reader->origin.source, x->offset,
        x->array.count * tg_dtype_bytes(x->array.dtype), data);
    const tg_status ended = tg_variable_unmap(x->variable);
    return status ? status : ended;
}

static tg_status create_variable(tg_onnx_model *m,
                                 const tgi_onnx_reader *reader,
                                 const char *prefix, tgi_onnx_initial *x)
{
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = m->group;
    options.untrainable = m->body->facts[x->id] & TGI_ONNX_STATISTIC;
    const char *name = tgi_onnx_text(&m->arena, "%s%s", prefix ? prefix : "",
                                     m->body->names[x->id]);
    if (!name)
        return TG_ERROR_OUT_OF_MEMORY;
    x->variable = tg_variable_create_with(
        m->ctx, name, x->array.dtype, x->array.rank, x->array.dims,
        x->array.data ? tg_from_data(x->array.data) : tg_unset(), &options);
    if (!x->variable)
        return tg_error_last()->status;
    return x->array.data ? TG_OK : fill_variable(reader, x);
}

/* Reads the initial values that are still in the source: into variables, or as
   constants. */
static tg_status read_initials(tg_onnx_model *m, const tgi_onnx_reader *reader,
                               const tg_onnx_options *options)
{
    const char *prefix = options ? options->prefix : NULL;
    const bool creates = !options || options->weights != TG_ONNX_CONSTANTS;
    tgi_onnx_graph *graph = &m->body->graph;
    tg_status status = TG_OK;
    m->group = creates ? tg_group_create(m->ctx) : NULL;
    if (creates && !m->group)
        return tg_error_last()->status;
    for (size_t i = 0; !status && i < graph->n_initials; i++) {
        tgi_onnx_initial *x = &graph->initials[i];
        if (creates && is_weight(m->body, x))
            status = create_variable(m, reader, prefix, x);
        else if (!x->array.data)
            status = tgi_onnx_array_fetch(&m->arena, reader->origin.source,
                                          x->offset, &x->array);
    }
    return status;
}

/* -- Loading --------------------------------------------------------------- */

static tg_status build_model(tg_onnx_model *m, const Onnx__ModelProto *proto,
                             const tgi_onnx_origin *origin,
                             const tg_onnx_options *options)
{
    const tgi_onnx_reader reader = {&m->arena, proto, m->name, *origin};
    tg_status status = tgi_onnx_read(&reader, &m->body);
    if (status)
        return status;
    m->shapes = options ? options->shapes : TG_ONNX_DECLARED;
    status = tgi_onnx_read_types(m, proto->graph);
    if (status)
        return status;
    tgi_onnx_find_needs(m->body);
    if (m->body->draws_random) {
        const char *prefix = options && options->prefix ? options->prefix : "";
        const char *name = tgi_onnx_text(&m->arena, "%srandom", prefix);
        m->generator = name ? tg_generator_create(m->ctx, name,
                                                  options ? options->seed : 0)
                            : NULL;
        if (!m->generator)
            return tg_error_last()->status;
    }
    return read_initials(m, &reader, options);
}

static tg_status check_options(const tg_context *ctx,
                               const tg_onnx_options *options)
{
    return !options || (options->struct_bytes == sizeof(*options) &&
                        options->weights <= TG_ONNX_CONSTANTS &&
                        options->shapes <= TG_ONNX_ANY)
               ? TG_OK
               : tg_error_set(ctx, TG_ERROR_INVALID_ARGUMENT,
                              (tg_site){NULL, 0},
                              "tg_onnx_options: use TG_ONNX_OPTIONS_INIT");
}

/* NULL on failure. Sets the path of the source, which is for messages. */
static tg_onnx_model *create_model(tg_context *ctx, const char *name,
                                   const tgi_onnx_origin *origin,
                                   const tg_onnx_options *options)
{
    ProtobufCMessage *proto = NULL;
    tg_onnx_model *m = calloc(1, sizeof(*m));
    if (!m) {
        tg_error_set(ctx, TG_ERROR_OUT_OF_MEMORY, (tg_site){NULL, 0},
                     "out of memory");
        return NULL;
    }
    m->refs = 1;
    m->ctx = tg_context_retain(ctx);
    m->name = tgi_onnx_text(&m->arena, "%.200s", name);
    if (m->name)
        origin->source->path = m->name;
    tg_status status =
        m->name ? tgi_onnx_unpack(&m->arena, &onnx__model_proto__descriptor,
                                  origin->source, &proto)
                : TG_ERROR_OUT_OF_MEMORY;
    if (!status)
        status = build_model(m, (const Onnx__ModelProto *)proto, origin,
                             options);
    if (!status)
        return m;
    tg_onnx_model_release(m);
    return NULL;
}

tg_onnx_model *tg_onnx_parse(tg_context *ctx, const char *name,
                             const void *data, size_t bytes,
                             const tg_onnx_options *options)
{
    if (!ctx || !name || (!data && bytes)) {
        tg_error_set(ctx, TG_ERROR_INVALID_ARGUMENT, (tg_site){NULL, 0},
                     "tg_onnx_parse: the context, the name or the data is NULL");
        return NULL;
    }
    tgi_onnx_source source = tgi_onnx_source_memory(name, data, bytes);
    const tgi_onnx_origin origin = {NULL, &source};
    return check_options(ctx, options)
               ? NULL
               : create_model(ctx, name, &origin, options);
}

tg_onnx_model *tg_onnx_load(tg_context *ctx, const char *path,
                            const tg_onnx_options *options)
{
    tgi_onnx_arena arena = {NULL};
    tgi_onnx_source source;
    tg_onnx_model *m = NULL;
    if (!ctx || !path) {
        tg_error_set(ctx, TG_ERROR_INVALID_ARGUMENT, (tg_site){NULL, 0},
                     "tg_onnx_load: the context or the path is NULL");
        return NULL;
    }
    if (check_options(ctx, options))
        return NULL;
    if (!tgi_onnx_source_open(&source, path)) {
        const char *slash = strrchr(path, '/');
        const char *folder =
            slash ? tgi_onnx_text(&arena, "%.*s", (int)(slash - path + 1), path)
                  : ".";
        const tgi_onnx_origin origin = {folder, &source};
        if (folder)
            m = create_model(ctx, slash ? slash + 1 : path, &origin, options);
    }
    tgi_onnx_source_close(&source);
    tgi_onnx_arena_release(&arena);
    return m;
}

tg_onnx_model *tg_onnx_model_retain(tg_onnx_model *model)
{
    if (model)
        __atomic_add_fetch(&model->refs, 1, __ATOMIC_RELAXED);
    return model;
}

void tg_onnx_model_release(tg_onnx_model *m)
{
    if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL))
        return;
    tg_function_release(m->function);
    for (size_t i = 0; m->body && i < m->body->graph.n_initials; i++)
        tg_variable_release(m->body->graph.initials[i].variable);
    tg_variable_release(m->generator);
    tg_group_release(m->group);
    tg_context_release(m->ctx);
    tgi_onnx_arena_release(&m->arena);
    free(m);
}

/* -- Inputs and outputs ---------------------------------------------------- */

size_t tg_onnx_input_count(const tg_onnx_model *m)
{
    return m ? m->body->graph.n_inputs : 0;
}

const char *tg_onnx_input_name(const tg_onnx_model *m, size_t i)
{
    return i < tg_onnx_input_count(m)
               ? m->body->names[m->body->graph.inputs[i]]
               : NULL;
}

const tg_spec *tg_onnx_input_spec(const tg_onnx_model *m, size_t i)
{
    return i < tg_onnx_input_count(m) ? &m->specs[i] : NULL;
}

size_t tg_onnx_output_count(const tg_onnx_model *m)
{
    return m ? m->body->graph.n_outputs : 0;
}

const char *tg_onnx_output_name(const tg_onnx_model *m, size_t i)
{
    return i < tg_onnx_output_count(m)
               ? m->body->names[m->body->graph.outputs[i]]
               : NULL;
}

size_t tg_onnx_node_count(const tg_onnx_model *m)
{
    return m ? m->body->graph.n_nodes : 0;
}

const char *tg_onnx_node_operator(const tg_onnx_model *m, size_t i)
{
    return i < tg_onnx_node_count(m) ? m->body->graph.nodes[i].proto->op_type
                                     : NULL;
}

bool tg_onnx_input_is_shape(const tg_onnx_model *m, size_t i)
{
    return i < tg_onnx_input_count(m) &&
           (m->body->facts[m->body->graph.inputs[i]] & TGI_ONNX_NEEDED);
}

tg_status tg_onnx_set_input(tg_onnx_model *m, size_t i, const tg_tensor *x)
{
    const tg_spec *spec = tg_onnx_input_spec(m, i);
    tgi_onnx_array *array;
    if (!spec || !x)
        return tg_error_set(m ? m->ctx : NULL, TG_ERROR_INVALID_ARGUMENT,
                            (tg_site){NULL, 0},
                            "tg_onnx_set_input: there is no input %zu, or the "
                            "tensor is NULL",
                            i);
    const tg_site site = {m->name, 0};
    const int64_t *dims = tg_tensor_dims(x);
    if (tg_tensor_dtype(x) != spec->dtype)
        return tg_error_set(m->ctx, TG_ERROR_DTYPE, site,
                            "input '%s' is %s, the tensor %s",
                            tg_onnx_input_name(m, i),
                            tg_dtype_name(spec->dtype),
                            tg_dtype_name(tg_tensor_dtype(x)));
    bool fits = spec->rank < 0 || tg_tensor_rank(x) == spec->rank;
    for (int k = 0; fits && k < spec->rank; k++)
        fits = spec->dims[k] < 0 || spec->dims[k] == dims[k];
    if (!fits)
        return tg_error_set(m->ctx, TG_ERROR_SHAPE, site,
                            "input '%s': the shape of the tensor is not that "
                            "of the input",
                            tg_onnx_input_name(m, i));
    const tg_status status =
        tgi_onnx_array_copy(&m->arena, spec->dtype, tg_tensor_rank(x), dims,
                            tg_tensor_data(x), &array);
    if (status)
        return status;
    m->set[i] = array;
    tg_function_release(m->function);
    m->function = NULL;
    return TG_OK;
}

/* -- Function and variables ------------------------------------------------ */

tg_function *tg_onnx_function(tg_onnx_model *m)
{
    if (!m) {
        tg_error_set(NULL, TG_ERROR_INVALID_ARGUMENT, (tg_site){NULL, 0},
                     "tg_onnx_function: the model is NULL");
        return NULL;
    }
    if (m->function)
        return m->function;
    const size_t n_inputs = tg_onnx_input_count(m);
    tg_spec *specs = calloc(n_inputs + 1, sizeof(*specs));
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    if (!specs) {
        tg_error_set(m->ctx, TG_ERROR_OUT_OF_MEMORY, (tg_site){NULL, 0},
                     "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < n_inputs; i++)
        if (!m->set[i])
            specs[options.n_signature++] = m->specs[i];
    options.policy = TG_EXACT;
    options.signature = specs;
    if (m->shapes != TG_ONNX_DECLARED) {
        options.signature = NULL;
        options.n_signature = 0;
    }
    m->function = tg_function_create_named(m->ctx, m->name,
                                           tgi_onnx_trace_model, m, &options);
    free(specs);
    return m->function;
}

tg_variable *tg_onnx_variable(const tg_onnx_model *m, const char *name)
{
    for (size_t i = 0; m && name && i < m->body->graph.n_initials; i++) {
        const tgi_onnx_initial *x = &m->body->graph.initials[i];
        if (x->variable && !strcmp(m->body->names[x->id], name))
            return x->variable;
    }
    return NULL;
}

size_t tg_onnx_variables(const tg_onnx_model *m, tg_variable_filter filter,
                         tg_variable **out_variables, size_t capacity)
{
    size_t n = 0;
    for (size_t i = 0; m && i < m->body->graph.n_initials; i++) {
        tg_variable *x = m->body->graph.initials[i].variable;
        if (!x || (filter == TG_TRAINABLE && !tg_variable_is_trainable(x)))
            continue;
        if (n < capacity)
            out_variables[n] = x;
        n++;
    }
    return n;
}

/* -- Tensors --------------------------------------------------------------- */

tg_tensor *tg_onnx_tensor_load(tg_context *ctx, const char *path)
{
    tgi_onnx_arena arena = {NULL};
    tgi_onnx_source source;
    ProtobufCMessage *proto;
    tgi_onnx_array array;
    tg_tensor *x = NULL;
    if (!ctx || !path) {
        tg_error_set(ctx, TG_ERROR_INVALID_ARGUMENT, (tg_site){NULL, 0},
                     "tg_onnx_tensor_load: the context or the path is NULL");
        return NULL;
    }
    if (!tgi_onnx_source_open(&source, path) &&
        !tgi_onnx_unpack(&arena, &onnx__tensor_proto__descriptor, &source,
                         &proto) &&
        !tgi_onnx_array_read(&arena, (const Onnx__TensorProto *)proto, NULL,
                             (tg_site){path, 0}, &array, NULL))
        x = tg_tensor_copy(ctx, array.data, array.dtype, array.rank,
                           array.dims);
    tgi_onnx_source_close(&source);
    tgi_onnx_arena_release(&arena);
    return x;
}
