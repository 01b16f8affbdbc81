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
    ASSEMBLY_WORD = 128 /* characters of a name, or of operands */
};

/* A label or an instruction; directives and comments are left out. */
typedef struct assembly_line {
    bool is_label;
    bool is_function;         /* a label that is the name of one */
    char name[ASSEMBLY_WORD]; /* of a label or of the instruction */
    char operands[ASSEMBLY_WORD];
    int target; /* line that a jump goes to, or that a call calls; or -1 */
} assembly_line;

typedef struct assembly_loop {
    int function; /* line of its name */
    int head;     /* line where every turn begins */
    int last;     /* the jump that closes it, the last one of several */
    bool is_innermost;
    bool has[ASSEMBLY_LINES]; /* by line: it is in the loop */
} assembly_loop;

typedef struct assembly {
    const char *fault; /* why it could not be read; NULL: it was */
    int n_lines, n_loops;
    assembly_line lines[ASSEMBLY_LINES];
    assembly_loop loops[ASSEMBLY_LOOPS];
} assembly;

/* Reads a text; false, with a fault, if there is too much of it. */
bool assembly_read(assembly *a, const char *text);

/* What an instruction is; false for labels. */
typedef bool assembly_is(const assembly_line *line);

/* On whole registers of 256 bits. */
assembly_is assembly_is_packed;
/* Arithmetic, comparison or conversion of single floats. */
assembly_is assembly_is_scalar_float;
/* Takes single elements from a vector, or puts such of a general register
   into one. */
assembly_is assembly_is_lane;
assembly_is assembly_is_fma;
assembly_is assembly_is_call;
/*
 * Goes to or comes from a fixed place on the stack: a value for which there
 * was no register. Arrays that the code generator has there (what strips leave
 * for each other, lanes of a reduction, tiles) are walked through, so their
 * elements have an index register, or an address in another register than
 * those of the stack.
 */
assembly_is assembly_is_spill;

/* How many instructions of a loop are of a kind; NULL: all. */
int assembly_count(const assembly *a, const assembly_loop *loop,
                   assembly_is *is);

/* What the counter of a loop grows by in a turn: that register which the
   comparison before the closing jump looks at. 0: not found. */
int assembly_step(const assembly *a, const assembly_loop *loop);

/* Writes the lines of a loop into `out`, to be shown. */
void assembly_show(const assembly *a, const assembly_loop *loop, char *out,
                   size_t n);

#endif /* TGI_TEST_ASSEMBLY_H */
