/* SPDX-License-Identifier: MIT */
/*
 * onnx_reader.c - resolves the names of a model.
 *
 * A body has a table of names and a stack of definitions: a nested graph adds
 * its names and removes them at its end, so that a name means the innermost
 * definition. ONNX requires nodes in topological order, so a name that is not
 * yet defined is an error, and there are no cycles. Graphs and calls of local
 * functions nest at most MAX_NESTING deep, which bounds the recursion.
 */
#include "onnx_reader.h"

#include <string.h>

#include "onnx_wire.h"

enum { MAX_NESTING = 32, FIELD_ATTRIBUTE_PROTO = 11 };

/* A name that is defined; NAMES are buckets of a hash table. */
typedef struct binding {
    const char *name;
    tgi_onnx_id id;
    int depth;
    struct binding *same_bucket;
    struct binding *before; /* defined before, in any bucket */
} binding;

enum { N_BUCKETS = 1024 };

/* Local functions that have been resolved, or are being resolved. */
typedef struct local {
    const Onnx__FunctionProto *proto;
    tgi_onnx_body *body;
    bool is_open; /* its nodes are being read */
} local;

typedef struct library {
    const tgi_onnx_reader *in;
    local *locals;
    size_t n_locals;
    int depth; /* of calls */
} library;

typedef struct scope {
    library *library;
    tgi_onnx_body *body;
    const Onnx__OperatorSetIdProto *const *opsets;
    size_t n_opsets, capacity;
    binding *buckets[N_BUCKETS];
    binding *last;
    int depth; /* of graphs */
    const char *function; /* for messages; NULL: the main graph */
} scope;

static tg_status read_graph(scope *s, const Onnx__GraphProto *proto,
                            tgi_onnx_graph *graph);
static tg_status resolve_function(library *l, local *f);

static const char *text(const char *string)
{
    return string ? string : "";
}

static tg_site model_site(const scope *s)
{
    return (tg_site){s->library->in->path, 0};
}

/* -- Names ----------------------------------------------------------------- */

static unsigned hash(const char *name)
{
    unsigned h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % N_BUCKETS;
}

static const binding *find(const scope *s, const char *name)
{
    for (const binding *b = s->buckets[hash(name)]; b; b = b->same_bucket)
        if (!strcmp(b->name, name))
            return b;
    return NULL;
}

/* A new value. */
static tg_status add_value(scope *s, const char *name, tgi_onnx_id *out)
{
    tgi_onnx_body *body = s->body;
    tgi_onnx_arena *arena = s->library->in->arena;
    if (body->n_values == s->capacity) {
        const size_t more = s->capacity ? 2 * s->capacity : 64;
        const char **names = tgi_onnx_alloc(arena, more, sizeof(*names));
        if (!names)
            return TG_ERROR_OUT_OF_MEMORY;
        if (body->n_values)
            memcpy(names, body->names, body->n_values * sizeof(*names));
        body->names = names;
        s->capacity = more;
    }
    body->names[body->n_values] = name;
    *out = (tgi_onnx_id)body->n_values++;
    return TG_OK;
}

static tg_status define(scope *s, const char *name, tg_site site,
                        tgi_onnx_id *out)
{
    const binding *old = find(s, name);
    if (old && old->depth == s->depth)
        return tg_error_set(NULL, TG_ERROR_FILE, site,
                            "the value '%s' is defined twice", name);
    const tg_status status = add_value(s, name, out);
    if (status)
        return status;
    binding *b = tgi_onnx_alloc(s->library->in->arena, 1, sizeof(*b));
    if (!b)
        return TG_ERROR_OUT_OF_MEMORY;
    binding **bucket = &s->buckets[hash(name)];
    *b = (binding){name, *out, s->depth, *bucket, s->last};
    *bucket = b;
    s->last = b;
    return TG_OK;
}

static tg_status look_up(const scope *s, const char *name, tg_site site,
                         tgi_onnx_id *out)
{
    const binding *b = find(s, name);
    if (!b)
        return tg_error_set(NULL, TG_ERROR_FILE, site,
                            "no earlier node computes '%s': it is undefined, "
                            "the nodes are not in topological order, or they "
                            "form a cycle",
                            name);
    *out = b->id;
    return TG_OK;
}

/* Removes the names that were defined after `last`. */
static void forget_after(scope *s, const binding *last)
{
    while (s->last != last) {
        s->buckets[hash(s->last->name)] = s->last->same_bucket;
        s->last = s->last->before;
    }
}

static tgi_onnx_id *alloc_ids(const scope *s, size_t n)
{
    return tgi_onnx_alloc(s->library->in->arena, n + 1, sizeof(tgi_onnx_id));
}

/* -- Nodes ----------------------------------------------------------------- */

const Onnx__AttributeProto *
tgi_onnx_node_attribute(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (!strcmp(text(node->attribute[i]->name), name))
            return node->attribute[i];
    return NULL;
}

static bool is_default_domain(const char *domain)
{
    return !*domain || !strcmp(domain, "ai.onnx");
}

static bool is_same_domain(const char *a, const char *b)
{
    return !strcmp(a, b) || (is_default_domain(a) && is_default_domain(b));
}

/* The version of the domain; 0 if the model does not import it. */
static int64_t opset_of(const scope *s, const char *domain)
{
    for (size_t i = 0; i < s->n_opsets; i++)
        if (is_same_domain(text(s->opsets[i]->domain), domain))
            return s->opsets[i]->version;
    return 0;
}

static local *find_local(library *l, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < l->n_locals; i++)
        if (!strcmp(text(l->locals[i].proto->name), text(node->op_type)) &&
            is_same_domain(text(l->locals[i].proto->domain),
                           text(node->domain)))
            return &l->locals[i];
    return NULL;
}

#define FAIL(status, ...) \
    return tg_error_set(NULL, status, node->site, __VA_ARGS__)

/* Chooses the operator or the function of a node. */
static tg_status choose_operator(scope *s, tgi_onnx_node *node)
{
    const char *type = text(node->proto->op_type);
    const char *domain = text(node->proto->domain);
    local *f = find_local(s->library, node->proto);
    node->opset = opset_of(s, domain);
    if (f) {
        if (f->is_open)
            FAIL(TG_ERROR_RECURSION, "the function calls itself");
        const tg_status status = f->body ? TG_OK
                                         : resolve_function(s->library, f);
        node->function = f->body;
        return status;
    }
    if (!is_default_domain(domain))
        FAIL(TG_ERROR_UNSUPPORTED,
             "operator %s of domain %s is unsupported, and the model has no "
             "function of that name",
             type, domain);
    if (!node->opset)
        FAIL(TG_ERROR_FILE, "the model imports no opset of the domain ai.onnx");
    bool is_known = false;
    node->op = tgi_onnx_op_find(type, node->opset, &is_known);
    if (!node->op)
        FAIL(TG_ERROR_UNSUPPORTED, "operator %s %s %lld is unsupported", type,
             is_known ? "at opset" : "of opset", (long long)node->opset);
    return TG_OK;
}

static tg_status check_counts(const tgi_onnx_node *node)
{
    const tgi_onnx_op *op = node->op;
    if (!op) {
        const Onnx__FunctionProto *f = node->function->function;
        if (node->n_inputs > f->n_input || node->n_outputs > f->n_output)
            FAIL(TG_ERROR_FILE, "%zu inputs and %zu outputs; the function has "
                 "%zu and %zu", node->n_inputs, node->n_outputs, f->n_input,
                 f->n_output);
        return TG_OK;
    }
    size_t n_required = 0;
    for (size_t i = 0; i < node->n_inputs && i < op->min_inputs; i++)
        n_required += node->inputs[i] != TGI_ONNX_ABSENT;
    if (n_required < op->min_inputs || (op->max_inputs != TGI_ONNX_ANY_COUNT &&
                                        node->n_inputs > op->max_inputs))
        FAIL(TG_ERROR_FILE, "%zu inputs; %s has %d to %d", node->n_inputs,
             op->name, op->min_inputs, op->max_inputs);
    if (op->max_outputs != TGI_ONNX_ANY_COUNT &&
        node->n_outputs > op->max_outputs)
        FAIL(TG_ERROR_FILE, "%zu outputs; %s has at most %d", node->n_outputs,
             op->name, op->max_outputs);
    return TG_OK;
}

static tg_status check_attributes(const tgi_onnx_node *node)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const char *name = text(node->proto->attribute[i]->name);
        if (tgi_onnx_node_attribute(node->proto, name) !=
            node->proto->attribute[i])
            FAIL(TG_ERROR_FILE, "attribute '%s' is given twice", name);
    }
    return TG_OK;
}

static tg_status read_node_graphs(scope *s, tgi_onnx_node *node)
{
    const Onnx__NodeProto *proto = node->proto;
    node->graphs = tgi_onnx_alloc(s->library->in->arena, proto->n_attribute + 1,
                                  sizeof(*node->graphs));
    if (!node->graphs)
        return TG_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < proto->n_attribute; i++) {
        if (!proto->attribute[i]->g)
            continue;
        tgi_onnx_graph *graph = &node->graphs[node->n_graphs++];
        graph->attribute = text(proto->attribute[i]->name);
        if (s->depth == MAX_NESTING)
            FAIL(TG_ERROR_LIMIT, "more than %d levels of graphs", MAX_NESTING);
        const binding *last = s->last;
        s->depth++;
        const tg_status status = read_graph(s, proto->attribute[i]->g, graph);
        s->depth--;
        forget_after(s, last);
        if (status)
            return status;
    }
    return TG_OK;
}

static tg_status read_node(scope *s, const Onnx__NodeProto *proto,
                           size_t number, tgi_onnx_node *node)
{
    const char *type = text(proto->op_type);
    node->proto = proto;
    node->n_inputs = proto->n_input;
    node->n_outputs = proto->n_output;
    node->inputs = alloc_ids(s, node->n_inputs);
    node->outputs = alloc_ids(s, node->n_outputs);
    const char *name = proto->name && *proto->name ? proto->name
                       : proto->n_output           ? proto->output[0]
                                                   : "";
    char *file = tgi_onnx_text(s->library->in->arena, "%s: %s%s%.60s '%.60s'",
                               s->library->in->path,
                               s->function ? s->function : "",
                               s->function ? ": " : "", type, name);
    if (!node->inputs || !node->outputs || !file)
        return TG_ERROR_OUT_OF_MEMORY;
    node->site = (tg_site){file, (int)number};
    tg_status status = choose_operator(s, node);
    for (size_t i = 0; !status && i < node->n_inputs; i++)
        if (!*proto->input[i])
            node->inputs[i] = TGI_ONNX_ABSENT;
        else
            status = look_up(s, proto->input[i], node->site, &node->inputs[i]);
    if (!status)
        status = check_counts(node);
    if (!status)
        status = check_attributes(node);
    if (!status)
        status = read_node_graphs(s, node);
    for (size_t i = 0; !status && i < node->n_outputs; i++)
        if (!*proto->output[i])
            node->outputs[i] = TGI_ONNX_ABSENT;
        else
            status = define(s, proto->output[i], node->site, &node->outputs[i]);
    return status;
}

static tg_status read_nodes(scope *s, size_t n, Onnx__NodeProto **protos,
                            tgi_onnx_graph *graph)
{
    graph->nodes = tgi_onnx_alloc(s->library->in->arena, n + 1,
                                  sizeof(*graph->nodes));
    if (!graph->nodes)
        return TG_ERROR_OUT_OF_MEMORY;
    for (; graph->n_nodes < n; graph->n_nodes++) {
        const tg_status status =
            read_node(s, protos[graph->n_nodes], graph->n_nodes,
                      &graph->nodes[graph->n_nodes]);
        if (status)
            return status;
    }
    return TG_OK;
}

#undef FAIL

/* -- Graphs ---------------------------------------------------------------- */

/* Initial values; one that has the name of an input replaces the input. */
static tg_status read_initials(scope *s, const Onnx__GraphProto *proto,
                               tgi_onnx_graph *graph)
{
    const tgi_onnx_reader *in = s->library->in;
    if (proto->n_sparse_initializer)
        return tg_error_set(NULL, TG_ERROR_UNSUPPORTED, model_site(s),
                            "sparse initializers are unsupported");
    graph->initials = tgi_onnx_alloc(in->arena, proto->n_initializer + 1,
                                     sizeof(*graph->initials));
    if (!graph->initials)
        return TG_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < proto->n_initializer; i++) {
        tgi_onnx_initial *initial = &graph->initials[graph->n_initials++];
        const Onnx__TensorProto *tensor = proto->initializer[i];
        tg_status status = define(s, text(tensor->name), model_site(s),
                                  &initial->id);
        if (!status)
            status = tgi_onnx_array_read(
                in->arena, tensor, &in->origin, model_site(s), &initial->array,
                graph == &s->body->graph ? &initial->offset : NULL);
        if (status)
            return status;
    }
    return TG_OK;
}

static tg_status read_inputs(scope *s, const Onnx__GraphProto *proto,
                             tgi_onnx_graph *graph)
{
    graph->inputs = alloc_ids(s, proto->n_input);
    if (!graph->inputs)
        return TG_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = text(proto->input[i]->name);
        const binding *known = find(s, name);
        bool is_initial = false;
        for (size_t k = 0; known && k < graph->n_initials; k++)
            is_initial |= graph->initials[k].id == known->id;
        if (is_initial)
            continue;
        const tg_status status = define(s, name, model_site(s),
                                        &graph->inputs[graph->n_inputs++]);
        if (status)
            return status;
    }
    return TG_OK;
}

static tg_status read_graph(scope *s, const Onnx__GraphProto *proto,
                            tgi_onnx_graph *graph)
{
    tg_status status = read_initials(s, proto, graph);
    if (!status)
        status = read_inputs(s, proto, graph);
    if (!status)
        status = read_nodes(s, proto->n_node, proto->node, graph);
    graph->outputs = alloc_ids(s, proto->n_output);
    if (!status && !graph->outputs)
        status = TG_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; !status && i < proto->n_output; i++, graph->n_outputs++)
        status = look_up(s, text(proto->output[i]->name), model_site(s),
                         &graph->outputs[i]);
    return status;
}

/* -- Bodies ---------------------------------------------------------------- */

static tg_status finish_body(scope *s)
{
    s->body->facts = tgi_onnx_alloc(s->library->in->arena,
                                    s->body->n_values + 1, 1);
    return s->body->facts ? TG_OK : TG_ERROR_OUT_OF_MEMORY;
}

/* Default values of attributes are in a field that older versions of
   onnx.proto do not have. */
static tg_status read_defaults(library *l, tgi_onnx_body *body)
{
    const ProtobufCMessage *base = &body->function->base;
    const Onnx__AttributeProto **defaults =
        tgi_onnx_alloc(l->in->arena, base->n_unknown_fields + 1,
                       sizeof(*defaults));
    if (!defaults)
        return TG_ERROR_OUT_OF_MEMORY;
    body->defaults = defaults;
    for (unsigned i = 0; i < base->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &base->unknown_fields[i];
        const unsigned char *data = field->data, *end = data + field->len;
        ProtobufCMessage *message;
        if (field->tag != FIELD_ATTRIBUTE_PROTO ||
            field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
            continue;
        while (data < end && *data++ >= 128)
            ; /* the length */
        tgi_onnx_source source = tgi_onnx_source_memory(l->in->path, data,
                                                        (size_t)(end - data));
        const tg_status status =
            tgi_onnx_unpack(l->in->arena, &onnx__attribute_proto__descriptor,
                            &source, &message);
        if (status)
            return status;
        defaults[body->n_defaults++] = (const Onnx__AttributeProto *)message;
    }
    return TG_OK;
}

static tg_status read_function(scope *s, const Onnx__FunctionProto *proto)
{
    const tg_site site = model_site(s);
    tgi_onnx_graph *graph = &s->body->graph;
    graph->inputs = alloc_ids(s, proto->n_input);
    graph->outputs = alloc_ids(s, proto->n_output);
    if (!graph->inputs || !graph->outputs)
        return TG_ERROR_OUT_OF_MEMORY;
    tg_status status = read_defaults(s->library, s->body);
    for (; !status && graph->n_inputs < proto->n_input; graph->n_inputs++)
        status = define(s, proto->input[graph->n_inputs], site,
                        &graph->inputs[graph->n_inputs]);
    if (!status)
        status = read_nodes(s, proto->n_node, proto->node, graph);
    for (; !status && graph->n_outputs < proto->n_output; graph->n_outputs++)
        status = look_up(s, proto->output[graph->n_outputs], site,
                         &graph->outputs[graph->n_outputs]);
    return status ? status : finish_body(s);
}

/* A scope is large: it lives in the arena. */
static scope *create_scope(library *l, tgi_onnx_body *body)
{
    scope *s = tgi_onnx_alloc(l->in->arena, 1, sizeof(*s));
    if (s) {
        s->library = l;
        s->body = body;
    }
    return s;
}

static tg_status resolve_function(library *l, local *f)
{
    f->body = tgi_onnx_alloc(l->in->arena, 1, sizeof(*f->body));
    scope *s = f->body ? create_scope(l, f->body) : NULL;
    if (!s)
        return TG_ERROR_OUT_OF_MEMORY;
    s->opsets = (const Onnx__OperatorSetIdProto *const *)f->proto->opset_import;
    s->n_opsets = f->proto->n_opset_import;
    s->function = text(f->proto->name);
    f->body->function = f->proto;
    if (l->depth == MAX_NESTING)
        return tg_error_set(NULL, TG_ERROR_LIMIT, model_site(s),
                            "more than %d levels of functions", MAX_NESTING);
    f->is_open = true;
    l->depth++;
    const tg_status status = read_function(s, f->proto);
    l->depth--;
    f->is_open = false;
    return status;
}

tg_status tgi_onnx_read(const tgi_onnx_reader *reader,
                        tgi_onnx_body **out_main)
{
    const Onnx__ModelProto *proto = reader->proto;
    const tg_site site = {reader->path, 0};
    library *l = tgi_onnx_alloc(reader->arena, 1, sizeof(*l));
    tgi_onnx_body *body = tgi_onnx_alloc(reader->arena, 1, sizeof(*body));
    if (!l || !body)
        return TG_ERROR_OUT_OF_MEMORY;
    l->in = reader;
    l->n_locals = proto->n_functions;
    l->locals = tgi_onnx_alloc(reader->arena, l->n_locals + 1,
                               sizeof(*l->locals));
    scope *s = create_scope(l, body);
    if (!l->locals || !s)
        return TG_ERROR_OUT_OF_MEMORY;
    if (!proto->graph)
        return tg_error_set(NULL, TG_ERROR_FILE, site, "there is no graph");
    for (size_t i = 0; i < l->n_locals; i++)
        l->locals[i].proto = proto->functions[i];
    s->opsets = (const Onnx__OperatorSetIdProto *const *)proto->opset_import;
    s->n_opsets = proto->n_opset_import;
    tg_status status = read_graph(s, proto->graph, &body->graph);
    if (!status)
        status = finish_body(s);
    *out_main = body;
    return status;
}
