/* SPDX-License-Identifier: MIT */
/* guarded.c - see guarded.h. */
#include "support/guarded.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    MARKS = 128, /* in bytes */
    MARK = 0x5a
};

typedef struct slot {
    char *memory; /* after the first guard page; NULL: not mapped yet */
    size_t bytes; /* up to the second guard page */
    char *marks;
    size_t n_marks;
} slot;

static slot slots[GUARDED_SLOTS];

static void map_slot(slot *s, size_t bytes)
{
    if (s->memory)
        munmap(s->memory - PAGE, s->bytes + 2 * PAGE);
    s->bytes = (bytes + MARKS + 8 * PAGE) & ~(size_t)(PAGE - 1);
    char *memory = mmap(NULL, s->bytes + 2 * PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED ||
        mprotect(memory + PAGE, s->bytes, PROT_READ | PROT_WRITE) != 0)
        abort();
    s->memory = memory + PAGE;
}

/* At the end of the slot, at its start, or near its end. */
void *guarded_room(size_t number, size_t bytes, size_t element_bytes,
                   uint64_t random)
{
    if (number >= GUARDED_SLOTS)
        abort();
    slot *s = &slots[number];
    if (!s->memory || s->bytes < bytes + 2 * MARKS)
        map_slot(s, bytes);
    char *start = s->memory + s->bytes - bytes;
    s->marks = start - MARKS;
    s->n_marks = MARKS;
    if (random % 4 == 0) {
        start = s->memory;
        s->marks = start + bytes;
    } else if (random % 4 == 1) {
        s->n_marks = (random >> 32) % 16 * element_bytes;
        start -= s->n_marks;
        s->marks = start + bytes;
    }
    memset(s->marks, MARK, s->n_marks);
    return start;
}

bool guarded_is_intact(size_t n_slots)
{
    for (size_t i = 0; i < n_slots; i++)
        for (size_t k = 0; k < slots[i].n_marks; k++)
            if (slots[i].marks[k] != MARK)
                return false;
    return true;
}
