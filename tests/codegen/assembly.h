/* SPDX-License-Identifier: MIT */
/*
 * assembly.h - for tests of compiled code: parses the assembly of the code
 * generator (AT&T syntax) and finds its innermost loops, whatever the order of
 * the blocks.
 *
 * A loop is a natural loop of the control-flow graph: the target of a back
 * edge, and all lines that reach that edge. It is innermost if no other loop
 * starts inside it and it calls no function that has loops.
 */
#ifndef TGI_TEST_ASSEMBLY_H
#define TGI_TEST_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>

enum {
    ASSEMBLY_LINES = 4096,
    ASSEMBLY_LOOPS = 64,
    ASSEMBLY_WORD = 128 /* maximum length of a name or of operands */
};

/* A label or an instruction; directives and comments are omitted. */
typedef struct assembly_line {
    bool is_label;
    bool is_function;         /* a label that names a function */
    char name[ASSEMBLY_WORD]; /* of the label or instruction */
    char operands[ASSEMBLY_WORD];
    int target; /* target line of a jump or call; -1: none */
} assembly_line;

typedef struct assembly_loop {
    int function; /* line of its label */
    int head;     /* line of the loop header */
    int last;     /* the last of the jumps back to the header */
    bool is_innermost;
    bool has[ASSEMBLY_LINES]; /* by line: true if it is in the loop */
} assembly_loop;

typedef struct assembly {
    const char *fault; /* why the text could not be parsed; NULL if it was */
    int n_lines, n_loops;
    assembly_line lines[ASSEMBLY_LINES];
    assembly_loop loops[ASSEMBLY_LOOPS];
} assembly;

/* Parses a text; false, with a fault, if it is too long. */
bool assembly_read(assembly *a, const char *text);

/* Predicates of instructions; false for labels. */
typedef bool assembly_is(const assembly_line *line);

/* Operates on full 256-bit registers. */
assembly_is assembly_is_packed;
/* Arithmetic, comparison or conversion of scalar floats. */
assembly_is assembly_is_scalar_float;
/* Extracts elements from a vector, or inserts elements of general registers. */
assembly_is assembly_is_lane;
assembly_is assembly_is_fma;
assembly_is assembly_is_call;
/*
 * Accesses a fixed position on the stack: a spilled value. Arrays of the code
 * generator on the stack (between fissioned loops, lanes of a reduction, tiles)
 * are indexed, so their accesses have an index register or a base register
 * other than those of the stack.
 */
assembly_is assembly_is_spill;

/* Number of instructions of a loop that satisfy the predicate; NULL: all. */
int assembly_count(const assembly *a, const assembly_loop *loop,
                   assembly_is *is);

/* The step of the loop counter, which is the register that the comparison
   before the closing jump reads. 0: not found. */
int assembly_step(const assembly *a, const assembly_loop *loop);

/* Writes the lines of a loop to `out`, for messages. */
void assembly_show(const assembly *a, const assembly_loop *loop, char *out,
                   size_t n);

#endif /* TGI_TEST_ASSEMBLY_H */
