/* SPDX-License-Identifier: MIT */
/*
 * onnx_wire.c - copies a message without the data of its initializers, then
 * unpacks it.
 *
 * The copy walks over the fields of the wire format with a stack of its own. It
 * need not find every error: protobuf-c finds those that it leaves.
 */
#include "onnx_wire.h"

#include <stdlib.h>
#include <string.h>

/* PADDED_BYTES is the size of a length that is known only later. */
enum { MAX_DEPTH = 200, PADDED_BYTES = 5 };

/* Numbers of fields. */
enum { GRAPH_INITIALIZER = 5, TENSOR_RAW_DATA = 9 };

/* The wire types. */
enum { VARINT, FIXED64, LENGTH, GROUP_BEGIN, GROUP_END, FIXED32 };

/* A message that is being copied. */
typedef struct level {
    const ProtobufCMessageDescriptor *type;
    size_t end;       /* in the source */
    size_t length_at; /* where the copy has its length */
    bool is_initializer;
} level;

typedef struct copier {
    tgi_onnx_source *source;
    size_t at; /* in the source */
    unsigned char *data;
    size_t n, capacity;
    tg_status status; /* of files and memory */
    bool is_too_deep;
} copier;

/* -- Reading --------------------------------------------------------------- */

static bool read_byte(copier *c, size_t end, unsigned char *out)
{
    if (c->at >= end)
        return false;
    if (c->at < c->source->from || c->at >= c->source->to) {
        c->status = tgi_onnx_source_move(c->source, c->at);
        if (c->status)
            return false;
    }
    *out = c->source->window[c->at++ - c->source->from];
    return true;
}

static bool read_varint(copier *c, size_t end, uint64_t *out)
{
    unsigned char byte;
    *out = 0;
    for (unsigned shift = 0; shift < 64 && read_byte(c, end, &byte);
         shift += 7) {
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* -- Writing --------------------------------------------------------------- */

/* Room for `bytes` more bytes; NULL if memory is short. */
static unsigned char *extend(copier *c, size_t bytes)
{
    if (bytes > c->capacity - c->n) {
        const size_t capacity = 2 * c->capacity + bytes + 4096;
        unsigned char *data =
            capacity > bytes ? realloc(c->data, capacity) : NULL;
        if (!data) {
            c->status = tg_error_set(NULL, TG_ERROR_OUT_OF_MEMORY,
                                     (tg_site){NULL, 0}, "out of memory");
            return NULL;
        }
        c->data = data;
        c->capacity = capacity;
    }
    c->n += bytes;
    return c->data + c->n - bytes;
}

static bool write_varint(copier *c, uint64_t number)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; number > 127; number >>= 7)
        bytes[n++] = (unsigned char)(number | 128);
    bytes[n++] = (unsigned char)number;
    unsigned char *at = extend(c, n);
    if (at)
        memcpy(at, bytes, n);
    return at;
}

/* Copies the next bytes of the source. */
static bool copy_bytes(copier *c, size_t end, uint64_t n)
{
    if (n > end - c->at)
        return false;
    unsigned char *to = extend(c, (size_t)n);
    if (!to)
        return false;
    if (c->at >= c->source->from && c->at + n <= c->source->to) {
        if (n)
            memcpy(to, c->source->window + (c->at - c->source->from),
                   (size_t)n);
    } else {
        c->status = tgi_onnx_source_read(c->source, c->at, (size_t)n, to);
    }
    c->at += n;
    return !c->status;
}

/* -- Messages -------------------------------------------------------------- */

/* The type of the messages in a field; NULL if it has none. */
static const ProtobufCMessageDescriptor *
message_type(const ProtobufCMessageDescriptor *type, uint64_t number)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(type, (unsigned)number);
    return field && field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor
                                                           : NULL;
}

/* Copies field `number`, which holds n bytes; a message becomes levels[1]. */
static bool copy_field(copier *c, level *levels, uint64_t number, uint64_t n,
                       bool *out_is_message)
{
    const ProtobufCMessageDescriptor *type =
        message_type(levels->type, number);
    if (n > levels->end - c->at)
        return false;
    *out_is_message = type;
    if (type) {
        levels[1] = (level){type, c->at + (size_t)n, c->n,
                            levels->type == &onnx__graph_proto__descriptor &&
                                number == GRAPH_INITIALIZER};
        return extend(c, PADDED_BYTES);
    }
    if (!levels->is_initializer || number != TENSOR_RAW_DATA)
        return write_varint(c, n) && copy_bytes(c, levels->end, n);
    const tgi_onnx_place place = {c->at, n};
    unsigned char *to =
        write_varint(c, sizeof(place)) ? extend(c, sizeof(place)) : NULL;
    if (to)
        memcpy(to, &place, sizeof(place));
    c->at += n;
    return to;
}

/* Sets the length of a message whose copy is complete. */
static bool finish(copier *c, const level *l)
{
    const size_t n = c->n - l->length_at - PADDED_BYTES;
    for (int i = 0; i < PADDED_BYTES; i++)
        c->data[l->length_at + (size_t)i] =
            (unsigned char)((n >> 7 * i & 127) |
                            (i < PADDED_BYTES - 1 ? 128 : 0));
    return n <= UINT32_MAX;
}

/* Whether the bytes are well-formed, with at most MAX_DEPTH levels. */
static bool copy_message(copier *c, const ProtobufCMessageDescriptor *type)
{
    level levels[MAX_DEPTH + 1] = {{type, c->source->bytes, 0, false}};
    for (int depth = 0;;) {
        const size_t end = levels[depth].end;
        uint64_t key, n;
        bool is_message = false;
        if (c->at == end) {
            if (depth == 0)
                return true;
            if (!finish(c, &levels[depth--]))
                return false;
            continue;
        }
        if (!read_varint(c, end, &key) || key > UINT32_MAX ||
            !write_varint(c, key))
            return false;
        switch (key & 7) {
        case VARINT:
            if (!read_varint(c, end, &n) || !write_varint(c, n))
                return false;
            break;
        case FIXED64:
            if (!copy_bytes(c, end, 8))
                return false;
            break;
        case FIXED32:
            if (!copy_bytes(c, end, 4))
                return false;
            break;
        case LENGTH:
            if (!read_varint(c, end, &n) ||
                !copy_field(c, &levels[depth], key >> 3, n, &is_message))
                return false;
            depth += is_message;
            c->is_too_deep = depth == MAX_DEPTH;
            if (c->is_too_deep)
                return false;
            break;
        default:
            return false;
        }
    }
}

static void *allocate(void *arena, size_t bytes)
{
    return tgi_onnx_alloc_bytes(arena, bytes);
}

/* The arena is released as a whole. */
static void release(void *arena, void *memory)
{
    (void)arena;
    (void)memory;
}

tg_status tgi_onnx_unpack(tgi_onnx_arena *arena,
                          const ProtobufCMessageDescriptor *type,
                          tgi_onnx_source *source,
                          ProtobufCMessage **out_message)
{
    ProtobufCAllocator memory = {allocate, release, arena};
    copier c = {.source = source};
    *out_message = NULL;
    if (copy_message(&c, type)) {
        tg_error_clear();
        *out_message = protobuf_c_message_unpack(type, &memory, c.n, c.data);
        if (!*out_message && tg_error_last()->status == TG_ERROR_OUT_OF_MEMORY)
            c.status = TG_ERROR_OUT_OF_MEMORY;
    }
    free(c.data);
    return *out_message ? TG_OK
           : c.status
               ? c.status
               : tg_error_set(NULL, TG_ERROR_FILE, (tg_site){NULL, 0},
                              c.is_too_deep
                                  ? "%.600s: messages nest too deeply"
                                  : "%.600s is not an ONNX file, or damaged",
                              source->path);
}
