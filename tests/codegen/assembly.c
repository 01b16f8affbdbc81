/* SPDX-License-Identifier: MIT */
/* assembly.c - see assembly.h. Nodes of the control-flow graph are lines. */
#include "codegen/assembly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *with)
{
    const size_t n = strlen(text), n_with = strlen(with);
    return n >= n_with && !strcmp(text + n - n_with, with);
}

/* -- Lines ----------------------------------------------------------------- */

/* Copies n characters without trailing blanks. */
static void copy_word(char *out, const char *from, size_t n)
{
    n = n < ASSEMBLY_WORD ? n : ASSEMBLY_WORD - 1;
    while (n > 0 && strchr(" \t", from[n - 1]))
        n--;
    memcpy(out, from, n);
    out[n] = '\0';
}

/* A label starts at the beginning of a line, an instruction after a tab. */
static bool read_line(assembly_line *line, const char *text, size_t n)
{
    *line = (assembly_line){.target = -1};
    const char *comment = memchr(text, '#', n);
    if (comment)
        n = (size_t)(comment - text);
    const char *colon = memchr(text, ':', n);
    if (n > 0 && text[0] != '\t' && colon) {
        line->is_label = true;
        line->is_function = text[0] != '.';
        copy_word(line->name, text, (size_t)(colon - text));
        return true;
    }
    if (n < 2 || text[0] != '\t' || text[1] == '.' || text[1] == ' ')
        return false;
    text++, n--;
    const char *tab = memchr(text, '\t', n);
    const size_t length = tab ? (size_t)(tab - text) : n;
    copy_word(line->name, text, length);
    if (tab)
        copy_word(line->operands, tab + 1, n - length - 1);
    return *line->name != '\0';
}

static bool is_jump(const assembly_line *line)
{
    return !line->is_label && line->name[0] == 'j';
}

bool assembly_is_call(const assembly_line *line)
{
    return !line->is_label && begins(line->name, "call");
}

static int find_label(const assembly *a, const char *name)
{
    for (int i = 0; i < a->n_lines; i++)
        if (a->lines[i].is_label && !strcmp(a->lines[i].name, name))
            return i;
    return -1;
}

static bool read_lines(assembly *a, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        if (a->n_lines == ASSEMBLY_LINES) {
            a->fault = "there are too many lines";
            return false;
        }
        a->n_lines += read_line(&a->lines[a->n_lines], text, n);
        text += n + (text[n] == '\n');
    }
    for (int i = 0; i < a->n_lines; i++)
        if (is_jump(&a->lines[i]) || assembly_is_call(&a->lines[i]))
            a->lines[i].target = find_label(a, a->lines[i].operands);
    return true;
}

/* -- Loops ----------------------------------------------------------------- */

/* Successors of a line; -1: none. */
static void followers(const assembly *a, int line, int out[2])
{
    const assembly_line *l = &a->lines[line];
    const bool is_end =
        !l->is_label && (begins(l->name, "ret") || !strcmp(l->name, "jmp"));
    const bool has_next =
        line + 1 < a->n_lines && !a->lines[line + 1].is_function;
    out[0] = !is_end && has_next ? line + 1 : -1;
    out[1] = is_jump(l) ? l->target : -1;
}

/* Adds the lines that reach `from`, the source of a back edge to `head`. */
static void add_body(const assembly *a, assembly_loop *loop, int from)
{
    loop->has[loop->head] = loop->has[from] = true;
    loop->last = from > loop->last ? from : loop->last;
    for (bool is_changed = from != loop->head; is_changed;) {
        is_changed = false;
        for (int i = a->n_lines - 1; i >= 0; i--) {
            int next[2];
            followers(a, i, next);
            for (int j = 0; j < 2 && !loop->has[i]; j++)
                if (next[j] >= 0 && next[j] != loop->head && loop->has[next[j]])
                    is_changed = loop->has[i] = true;
        }
    }
}

static bool add_loop(assembly *a, int function, int from, int head)
{
    int i = 0;
    while (i < a->n_loops && a->loops[i].head != head)
        i++;
    if (i == ASSEMBLY_LOOPS) {
        a->fault = "there are too many loops";
        return false;
    }
    assembly_loop *loop = &a->loops[i];
    if (i == a->n_loops) {
        *loop = (assembly_loop){.function = function, .head = head};
        a->n_loops++;
    }
    add_body(a, loop, from);
    return true;
}

/* Depth-first search of a function: an edge to a line on the current path is
   a back edge. */
static bool find_loops(assembly *a, int function)
{
    enum { NEW, UNDER_WAY, DONE };
    static char state[ASSEMBLY_LINES], n_taken[ASSEMBLY_LINES];
    static int path[ASSEMBLY_LINES];
    int depth = 0;
    memset(state, NEW, sizeof(state));
    memset(n_taken, 0, sizeof(n_taken));
    path[depth++] = function;
    while (depth > 0) {
        const int line = path[depth - 1];
        int next[2];
        state[line] = UNDER_WAY;
        followers(a, line, next);
        if (n_taken[line] == 2) {
            state[line] = DONE;
            depth--;
            continue;
        }
        const int to = next[(int)n_taken[line]++];
        if (to < 0)
            continue;
        if (state[to] == UNDER_WAY) {
            if (!add_loop(a, function, line, to))
                return false;
        } else if (state[to] == NEW) {
            path[depth++] = to;
        }
    }
    return true;
}

static bool has_loops(const assembly *a, int function)
{
    for (int i = 0; i < a->n_loops; i++)
        if (a->loops[i].function == function)
            return true;
    return false;
}

static bool is_innermost(const assembly *a, const assembly_loop *loop)
{
    for (int i = 0; i < a->n_loops; i++)
        if (a->loops[i].head != loop->head && loop->has[a->loops[i].head])
            return false;
    for (int i = 0; i < a->n_lines; i++)
        if (loop->has[i] && assembly_is_call(&a->lines[i]) &&
            a->lines[i].target >= 0 && has_loops(a, a->lines[i].target))
            return false;
    return true;
}

bool assembly_read(assembly *a, const char *text)
{
    a->fault = NULL;
    a->n_lines = a->n_loops = 0;
    if (!read_lines(a, text))
        return false;
    for (int i = 0; i < a->n_lines; i++)
        if (a->lines[i].is_function && !find_loops(a, i))
            return false;
    for (int i = 0; i < a->n_loops; i++)
        a->loops[i].is_innermost = is_innermost(a, &a->loops[i]);
    return true;
}

/* -- Kinds of instructions ------------------------------------------------- */

bool assembly_is_packed(const assembly_line *line)
{
    return !line->is_label && line->name[0] == 'v' &&
           strstr(line->operands, "%ymm");
}

/* Integer vector instructions begin with vp: vpabsd is not a float
   instruction. */
bool assembly_is_scalar_float(const assembly_line *line)
{
    return !line->is_label && line->name[0] == 'v' && line->name[1] != 'p' &&
           (ends(line->name, "ss") || ends(line->name, "sd") ||
            begins(line->name, "vcvtts") || begins(line->name, "vcvts")) &&
           !begins(line->name, "vmov") && !begins(line->name, "vbroadcast");
}

bool assembly_is_lane(const assembly_line *line)
{
    static const char *const names[] = {"vpextr", "vpinsr", "vextractps"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!line->is_label && begins(line->name, names[i]))
            return true;
    return false;
}

bool assembly_is_fma(const assembly_line *line)
{
    return !line->is_label &&
           (begins(line->name, "vfmadd") || begins(line->name, "vfmsub") ||
            begins(line->name, "vfnmadd") || begins(line->name, "vfnmsub"));
}

bool assembly_is_spill(const assembly_line *line)
{
    return !line->is_label && !begins(line->name, "lea") &&
           (begins(line->name, "push") || begins(line->name, "pop") ||
            strstr(line->operands, "(%rsp)") ||
            strstr(line->operands, "(%rbp)"));
}

/* -- Facts about a loop ---------------------------------------------------- */

int assembly_count(const assembly *a, const assembly_loop *loop,
                   assembly_is *is)
{
    int n = 0;
    for (int i = 0; i < a->n_lines; i++)
        n += loop->has[i] && !a->lines[i].is_label && (!is || is(&a->lines[i]));
    return n;
}

/* The comparison before the last jump to the head of a loop, or NULL. Vector
   instructions between them keep the flags; rare code may follow the jump. */
static const assembly_line *last_comparison(const assembly *a,
                                            const assembly_loop *loop)
{
    int i = loop->last;
    while (i > 0 && !(loop->has[i] && !a->lines[i].is_label &&
                      a->lines[i].target == loop->head))
        i--;
    for (i--; i >= 0 && !a->lines[i].is_label; i--)
        if (begins(a->lines[i].name, "cmp"))
            return &a->lines[i];
        else if (a->lines[i].name[0] != 'v')
            return NULL;
    return NULL;
}

int assembly_step(const assembly *a, const assembly_loop *loop)
{
    const assembly_line *comparison = last_comparison(a, loop);
    const char *counter =
        comparison ? strrchr(comparison->operands, '%') : NULL;
    if (!counter)
        return 0;
    for (int i = loop->last - 1; i >= 0; i--) {
        const assembly_line *line = &a->lines[i];
        if (!loop->has[i] || line->is_label || !ends(line->operands, counter))
            continue;
        if (begins(line->name, "inc"))
            return 1;
        if (begins(line->name, "add") && line->operands[0] == '$')
            return atoi(line->operands + 1);
        if (begins(line->name, "sub") && line->operands[0] == '$')
            return -atoi(line->operands + 1);
    }
    return 0;
}

void assembly_show(const assembly *a, const assembly_loop *loop, char *out,
                   size_t n)
{
    size_t used =
        (size_t)snprintf(out, n, "in %s:\n", a->lines[loop->function].name);
    for (int i = 0; i < a->n_lines && used < n; i++)
        if (loop->has[i])
            used += (size_t)snprintf(out + used, n - used,
                                     a->lines[i].is_label ? "%s:%s\n"
                                                          : "\t%s\t%s\n",
                                     a->lines[i].name, a->lines[i].operands);
}
