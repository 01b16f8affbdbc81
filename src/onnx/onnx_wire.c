/* SPDX-License-Identifier: MIT */
/*
 * onnx_wire.c - checks how deeply messages nest, then unpacks them.
 *
 * The check walks over the fields of the wire format with a stack of its own. It
 * need not find every error: protobuf-c finds those that it leaves.
 */
#include "onnx_wire.h"

enum { MAX_DEPTH = 200 };

/* The wire types. */
enum { VARINT, FIXED64, LENGTH, GROUP_BEGIN, GROUP_END, FIXED32 };

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

static bool read_varint(cursor *c, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        const unsigned char byte = *c->at++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool skip(cursor *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->at))
        return false;
    c->at += n;
    return true;
}

/* The type of the messages in a field; NULL if it has none. */
static const ProtobufCMessageDescriptor *
message_type(const ProtobufCMessageDescriptor *type, uint64_t number)
{
    const ProtobufCFieldDescriptor *field =
        number <= UINT32_MAX
            ? protobuf_c_message_descriptor_get_field(type, (unsigned)number)
            : NULL;
    return field && field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor
                                                           : NULL;
}

/* Whether the bytes are well-formed, with at most MAX_DEPTH levels. */
static bool is_shallow(const ProtobufCMessageDescriptor *type,
                       const unsigned char *data, size_t bytes,
                       bool *out_too_deep)
{
    const ProtobufCMessageDescriptor *types[MAX_DEPTH] = {type};
    const unsigned char *ends[MAX_DEPTH] = {data + bytes};
    cursor c = {data, data + bytes};
    for (int depth = 0; depth >= 0;) {
        uint64_t key, n;
        if (c.at == ends[depth]) {
            depth--;
            continue;
        }
        c.end = ends[depth];
        if (!read_varint(&c, &key))
            return false;
        switch (key & 7) {
        case VARINT:
            if (!read_varint(&c, &n))
                return false;
            break;
        case FIXED64:
            if (!skip(&c, 8))
                return false;
            break;
        case FIXED32:
            if (!skip(&c, 4))
                return false;
            break;
        case LENGTH:
            if (!read_varint(&c, &n) || n > (uint64_t)(c.end - c.at))
                return false;
            type = message_type(types[depth], key >> 3);
            if (!type) {
                c.at += n;
                break;
            }
            if (++depth == MAX_DEPTH) {
                *out_too_deep = true;
                return false;
            }
            types[depth] = type;
            ends[depth] = c.at + n;
            break;
        default:
            return false;
        }
    }
    return true;
}

static void *allocate(void *arena, size_t bytes)
{
    return tgi_onnx_alloc(arena, 1, bytes);
}

/* The arena is released as a whole. */
static void release(void *arena, void *memory)
{
    (void)arena;
    (void)memory;
}

tg_status tgi_onnx_unpack(tgi_onnx_arena *arena,
                          const ProtobufCMessageDescriptor *type,
                          const unsigned char *data, size_t bytes,
                          const char *path, ProtobufCMessage **out_message)
{
    ProtobufCAllocator memory = {allocate, release, arena};
    bool is_too_deep = false;
    *out_message = NULL;
    if (is_shallow(type, data, bytes, &is_too_deep)) {
        tg_error_clear();
        *out_message = protobuf_c_message_unpack(type, &memory, bytes, data);
        if (*out_message)
            return TG_OK;
        if (tg_error_last()->status == TG_ERROR_OUT_OF_MEMORY)
            return TG_ERROR_OUT_OF_MEMORY;
    }
    return tg_error_set(NULL, TG_ERROR_FILE, (tg_site){NULL, 0},
                        is_too_deep ? "%.600s: messages nest too deeply"
                                    : "%.600s is not an ONNX file, or damaged",
                        path);
}
