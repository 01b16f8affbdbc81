/* SPDX-License-Identifier: MIT */
/*
 * onnx_messages.h - writes small ONNX models in protobuf's wire format. Lists of
 * names are separated by commas. Numbers of fields are those of onnx.proto.
 */
#ifndef TGI_TEST_ONNX_MESSAGES_H
#define TGI_TEST_ONNX_MESSAGES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 4000 };

typedef struct proto {
    unsigned char data[MESSAGE_BYTES];
    size_t n;
} proto;

/* -- Fields ---------------------------------------------------------------- */

static inline void put_byte(proto *m, unsigned byte)
{
    if (m->n == MESSAGE_BYTES)
        abort();
    m->data[m->n++] = (unsigned char)byte;
}

static inline void put_varint(proto *m, uint64_t number)
{
    for (; number > 127; number >>= 7)
        put_byte(m, (unsigned)(number & 127) | 128);
    put_byte(m, (unsigned)number);
}

static inline void put_int(proto *m, int field, int64_t number)
{
    put_varint(m, (uint64_t)field << 3);
    put_varint(m, (uint64_t)number);
}

static inline void put_float(proto *m, int field, float number)
{
    unsigned char bytes[sizeof(number)];
    memcpy(bytes, &number, sizeof(number));
    put_varint(m, (uint64_t)field << 3 | 5);
    for (size_t i = 0; i < sizeof(number); i++)
        put_byte(m, bytes[i]);
}

static inline void put_bytes(proto *m, int field, const void *data, size_t n)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, n);
    for (size_t i = 0; i < n; i++)
        put_byte(m, ((const unsigned char *)data)[i]);
}

static inline void put_text(proto *m, int field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

static inline void put_message(proto *m, int field, const proto *inner)
{
    put_bytes(m, field, inner->data, inner->n);
}

/* A field for every name of a list; "" is an empty list. */
static inline void put_names(proto *m, int field, const char *names)
{
    while (*names) {
        const size_t n = strcspn(names, ",");
        put_bytes(m, field, names, n);
        names += n + (names[n] == ',');
    }
}

/* -- Nodes ----------------------------------------------------------------- */

static inline proto node(const char *op, const char *in, const char *out)
{
    proto m = {.n = 0};
    put_names(&m, 1, in);
    put_names(&m, 2, out);
    put_text(&m, 3, "n");
    put_text(&m, 4, op);
    return m;
}

static inline proto *set_int(proto *n, const char *name, int64_t number)
{
    proto a = {.n = 0};
    put_text(&a, 1, name);
    put_int(&a, 3, number);
    put_int(&a, 20, 2);
    put_message(n, 5, &a);
    return n;
}

static inline proto *set_float(proto *n, const char *name, float number)
{
    proto a = {.n = 0};
    put_text(&a, 1, name);
    put_float(&a, 2, number);
    put_int(&a, 20, 1);
    put_message(n, 5, &a);
    return n;
}

static inline proto *set_ints(proto *n, const char *name, size_t n_numbers,
                              const int64_t *numbers)
{
    proto a = {.n = 0};
    put_text(&a, 1, name);
    for (size_t i = 0; i < n_numbers; i++)
        put_int(&a, 8, numbers[i]);
    put_int(&a, 20, 7);
    put_message(n, 5, &a);
    return n;
}

/* The attribute of the function that the node is in. */
static inline proto *set_reference(proto *n, const char *name,
                                     const char *of_function)
{
    proto a = {.n = 0};
    put_text(&a, 1, name);
    put_text(&a, 21, of_function);
    put_int(&a, 20, 1);
    put_message(n, 5, &a);
    return n;
}

static inline proto *set_graph(proto *n, const char *name,
                                 const proto *graph)
{
    proto a = {.n = 0};
    put_text(&a, 1, name);
    put_message(&a, 6, graph);
    put_int(&a, 20, 5);
    put_message(n, 5, &a);
    return n;
}

/* -- Graphs ---------------------------------------------------------------- */

/* Codes of element types. */
enum {
    MESSAGE_F32 = 1,
    MESSAGE_U8 = 2,
    MESSAGE_I8 = 3,
    MESSAGE_I64 = 7,
    MESSAGE_STRING = 8,
    MESSAGE_BOOL = 9
};

static inline void add_node(proto *graph, const proto *n)
{
    put_message(graph, 1, n);
}

/* An input (field 11) or output (12). A negative dim is unknown, and called
   "n". */
static inline void add_value(proto *graph, int field, const char *name,
                             int type, int rank, const int64_t *dims)
{
    proto shape = {.n = 0}, tensor = {.n = 0}, of = {.n = 0}, m = {.n = 0};
    for (int i = 0; i < rank; i++) {
        proto dim = {.n = 0};
        if (dims[i] < 0)
            put_text(&dim, 2, "n");
        else
            put_int(&dim, 1, dims[i]);
        put_message(&shape, 1, &dim);
    }
    put_int(&tensor, 1, type);
    put_message(&tensor, 2, &shape);
    put_message(&of, 1, &tensor);
    put_text(&m, 1, name);
    put_message(&m, 2, &of);
    put_message(graph, field, &m);
}

static inline void add_in(proto *graph, const char *name, int type, int rank,
                          const int64_t *dims)
{
    add_value(graph, 11, name, type, rank, dims);
}

/* An output, whose type may be left out. */
static inline void add_out(proto *graph, const char *name)
{
    proto m = {.n = 0};
    put_text(&m, 1, name);
    put_message(graph, 12, &m);
}

static inline proto tensor(const char *name, int type, int rank,
                             const int64_t *dims, const void *data,
                             size_t bytes)
{
    proto m = {.n = 0};
    for (int i = 0; i < rank; i++)
        put_int(&m, 1, dims[i]);
    put_int(&m, 2, type);
    put_text(&m, 8, name);
    put_bytes(&m, 9, data, bytes);
    return m;
}

static inline void add_initial(proto *graph, const proto *x)
{
    put_message(graph, 5, x);
}

/* A vector of integers. */
static inline void add_ints(proto *graph, const char *name, int64_t n,
                            const int64_t *ints)
{
    const proto x = tensor(name, MESSAGE_I64, 1, &n, ints,
                             (size_t)n * sizeof(*ints));
    add_initial(graph, &x);
}

/* A model of a graph; functions are added with field 25. */
static inline proto model(const proto *graph, int64_t opset)
{
    proto m = {.n = 0}, import = {.n = 0};
    put_int(&m, 1, 8);
    put_text(&import, 1, "");
    put_int(&import, 2, opset);
    put_message(&m, 8, &import);
    put_message(&m, 7, graph);
    return m;
}

static inline proto function(const char *name, const char *in,
                               const char *out, int64_t opset)
{
    proto m = {.n = 0}, import = {.n = 0};
    put_text(&m, 1, name);
    put_names(&m, 4, in);
    put_names(&m, 5, out);
    put_text(&m, 10, "local");
    put_text(&import, 1, "");
    put_int(&import, 2, opset);
    put_message(&m, 9, &import);
    return m;
}

#endif /* TGI_TEST_ONNX_MESSAGES_H */
