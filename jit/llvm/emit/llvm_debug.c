/* SPDX-License-Identifier: MIT */
/*
 * llvm_debug.c - see llvm_debug.h.
 *
 * A function of the module is a DISubprogram with its symbol as name. A function
 * of the user that was inlined is one without code; locations in it are inlined
 * at its call. A function has code of several files: a location in another file
 * than that of its function is in a lexical block of that file.
 *
 * LLVM makes metadata unique, except for subprograms; these are in lists here.
 */
#include "llvm/emit/llvm_debug.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

/* DWARF 4 is understood by all versions of gdb, perf and valgrind in use. */
enum { DWARF_VERSION = 4 };

/* A function of the user that was inlined. */
typedef struct inlined_function {
    struct inlined_function *next;
    const char *name;
    LLVMMetadataRef file, subprogram;
} inlined_function;

/* A site in such a function. */
typedef struct inlined_site {
    struct inlined_site *next;
    const tgi_site_chain *site;
    unsigned number; /* from 1 */
} inlined_site;

/* A function that kernels share. */
typedef struct shared_function {
    struct shared_function *next;
    LLVMValueRef function;
    const tgi_site_chain *site; /* of its first call */
    bool is_ambiguous;          /* it is called for several lines */
} shared_function;

struct tgi_llvm_debug {
    LLVMDIBuilderRef builder;
    const char *directory;
    LLVMMetadataRef type;  /* of all functions */
    LLVMMetadataRef scope; /* of the function under construction */
    inlined_function *inlined;
    inlined_site *inlined_sites;
    shared_function *shared;
};

/* -- Files and locations --------------------------------------------------- */

static LLVMMetadataRef file_of(const tgi_llvm_debug *d,
                               const tgi_site_chain *site)
{
    return LLVMDIBuilderCreateFile(d->builder, site->file, strlen(site->file),
                                   d->directory, strlen(d->directory));
}

static LLVMMetadataRef create_subprogram(const tgi_llvm_debug *d,
                                         const char *name, size_t n,
                                         LLVMMetadataRef file, unsigned line)
{
    return LLVMDIBuilderCreateFunction(d->builder, file, name, n, NULL, 0, file,
                                       line, d->type, true, true, line,
                                       LLVMDIFlagZero, true);
}

/* NULL when out of memory (recorded). */
static LLVMMetadataRef inlined_subprogram(tgi_llvm_program *program,
                                          const tgi_site_chain *site)
{
    tgi_llvm_debug *d = program->debug;
    LLVMMetadataRef file = file_of(d, site);
    for (inlined_function *i = d->inlined; i; i = i->next)
        if (i->file == file && strcmp(i->name, site->function) == 0)
            return i->subprogram;
    inlined_function *added = program->alloc(sizeof(*added));
    if (!added) {
        tgi_llvm_fail_memory(program);
        return NULL;
    }
    *added = (inlined_function){.next = d->inlined,
                                .name = site->function,
                                .file = file,
                                .subprogram = create_subprogram(
                                    d, site->function, strlen(site->function),
                                    file, (unsigned)site->line)};
    d->inlined = added;
    return added->subprogram;
}

/*
 * The number of a site that was reached through calls; 0: another one, or out
 * of memory (recorded). It becomes the DWARF discriminator, which tells blocks
 * of the same line apart, so that dumps of assembly can name the calls.
 */
static unsigned inlined_number(tgi_llvm_program *program,
                               const tgi_site_chain *site)
{
    tgi_llvm_debug *d = program->debug;
    if (!site->caller)
        return 0;
    for (const inlined_site *i = d->inlined_sites; i; i = i->next)
        if (i->site == site)
            return i->number;
    inlined_site *added = program->alloc(sizeof(*added));
    if (!added) {
        tgi_llvm_fail_memory(program);
        return 0;
    }
    *added = (inlined_site){
        .next = d->inlined_sites,
        .site = site,
        .number = d->inlined_sites ? d->inlined_sites->number + 1 : 1};
    d->inlined_sites = added;
    return added->number;
}

static LLVMMetadataRef scope_in_file(tgi_llvm_program *program,
                                     LLVMMetadataRef scope,
                                     const tgi_site_chain *site)
{
    const tgi_llvm_debug *d = program->debug;
    LLVMMetadataRef file = file_of(d, site);
    const unsigned number = inlined_number(program, site);
    return LLVMDIScopeGetFile(scope) == file && !number
               ? scope
               : LLVMDIBuilderCreateLexicalBlockFile(d->builder, scope, file,
                                                     number);
}

/* NULL when out of memory (recorded). */
static LLVMMetadataRef location_of(tgi_llvm_program *program,
                                   const tgi_site_chain *site)
{
    tgi_llvm_debug *d = program->debug;
    LLVMContextRef context = program->emitter.context;
    LLVMMetadataRef scope = d->scope, call = NULL;
    if (site->caller) {
        call = location_of(program, site->caller);
        scope = inlined_subprogram(program, site);
        if (!call || !scope)
            return NULL;
    }
    return LLVMDIBuilderCreateDebugLocation(context, (unsigned)site->line, 0,
                                            scope_in_file(program, scope, site),
                                            call);
}

LLVMMetadataRef tgi_llvm_debug_set(tgi_llvm_program *program,
                                   const tgi_site_chain *site)
{
    if (!program->debug || !program->debug->scope)
        return NULL;
    LLVMBuilderRef b = program->emitter.builder;
    LLVMMetadataRef before = LLVMGetCurrentDebugLocation2(b);
    LLVMMetadataRef location = site ? location_of(program, site) : NULL;
    if (location)
        LLVMSetCurrentDebugLocation2(b, location);
    return before;
}

void tgi_llvm_debug_restore(tgi_llvm_program *program, LLVMMetadataRef before)
{
    if (program->debug)
        LLVMSetCurrentDebugLocation2(program->emitter.builder, before);
}

/* -- Insts, stores, reductions --------------------------------------------- */

static const tgi_site_chain *node_site(const tgi_llvm_kernel *k, tgi_ref node)
{
    return tgi_loops_site(k->loops->graph, node);
}

/* True if an inst computes its node; else it only provides an operand. */
static bool computes(const tgi_inst *inst)
{
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_OP:
    case TGI_INST_CAST:
    case TGI_INST_RANDOM:
    case TGI_INST_INDEX:
    case TGI_INST_IN_RANGE:
    case TGI_INST_CARRIED:
        return true;
    case TGI_INST_CONSTANT:
    case TGI_INST_EXTENT:
    case TGI_INST_POSITION:
    case TGI_INST_LOAD:
    case TGI_INST_OFFSET:
    case TGI_INST_REDUCED:
        break;
    }
    return false;
}

/* `inst` provides an operand to code of this site. */
static void set_operand_site(tgi_llvm_kernel *k, uint32_t inst,
                             const tgi_site_chain *site)
{
    if (inst && site)
        k->sites[inst] = site;
}

void tgi_llvm_debug_find_sites(tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->loops;
    for (size_t i = loops->stores.n; i-- > 0;)
        set_operand_site(k, loops->stores.data[i].value,
                         node_site(k, loops->stores.data[i].node));
    for (size_t i = loops->reductions.n; i-- > 0;) {
        const tgi_reduction *r = &loops->reductions.data[i];
        set_operand_site(k, r->value, node_site(k, r->node));
        set_operand_site(k, r->other, node_site(k, r->node));
    }
    /* Users follow their operands, so the first one sets its site last. An inst
       that computes something replaces it. */
    for (uint32_t i = (uint32_t)loops->insts.n; i-- > 1;) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (computes(inst) || !k->sites[i])
            k->sites[i] = node_site(k, inst->node);
        for (int j = 0; j < inst->n_operands; j++)
            set_operand_site(k, inst->operands[j], k->sites[i]);
        if (inst->kind != TGI_INST_LOAD)
            continue;
        const tgi_access *access = &loops->accesses.data[inst->number];
        set_operand_site(k, access->index, k->sites[i]);
        set_operand_site(k, access->shift, k->sites[i]);
    }
}

LLVMMetadataRef tgi_llvm_debug_set_inst(tgi_llvm_kernel *k, uint32_t number)
{
    return k->program->debug ? tgi_llvm_debug_set(k->program, k->sites[number])
                             : NULL;
}

LLVMMetadataRef tgi_llvm_debug_set_store(tgi_llvm_kernel *k,
                                         const tgi_loop_store *store)
{
    if (!k->program->debug)
        return NULL;
    const tgi_site_chain *site = node_site(k, store->node);
    return tgi_llvm_debug_set(k->program, site ? site : k->sites[store->value]);
}

LLVMMetadataRef tgi_llvm_debug_set_reduction(tgi_llvm_kernel *k,
                                             uint32_t number)
{
    return k->program->debug
               ? tgi_llvm_debug_set(
                     k->program,
                     node_site(k, k->loops->reductions.data[number].node))
               : NULL;
}

LLVMMetadataRef tgi_llvm_debug_set_phase(tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_kernel_loops *loops = k->loops;
    for (uint32_t i = 0; i < loops->reductions.n; i++)
        if (loops->reductions.data[i].phase == phase)
            return tgi_llvm_debug_set_reduction(k, i);
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].phase == phase)
            return tgi_llvm_debug_set_store(k, &loops->stores.data[i]);
    return tgi_llvm_debug_set(k->program, NULL);
}

/* -- Functions ------------------------------------------------------------- */

tgi_llvm_debug_place tgi_llvm_debug_enter(tgi_llvm_program *program,
                                          LLVMValueRef function,
                                          const tgi_site_chain *site)
{
    tgi_llvm_debug *d = program->debug;
    if (!d)
        return (tgi_llvm_debug_place){0};
    LLVMBuilderRef b = program->emitter.builder;
    const tgi_llvm_debug_place before = {d->scope,
                                         LLVMGetCurrentDebugLocation2(b)};
    d->scope = NULL;
    LLVMSetCurrentDebugLocation2(b, NULL);
    if (!site)
        return before;
    size_t n;
    const char *name = LLVMGetValueName2(function, &n);
    /* The line of an inlined function is not one of its caller's. */
    const tgi_site_chain *outer = site;
    while (outer->caller)
        outer = outer->caller;
    d->scope =
        create_subprogram(d, name, n, file_of(d, outer), (unsigned)outer->line);
    LLVMSetSubprogram(function, d->scope);
    LLVMSetCurrentDebugLocation2(b, location_of(program, site));
    return before;
}

void tgi_llvm_debug_leave(tgi_llvm_program *program,
                          tgi_llvm_debug_place before)
{
    if (!program->debug)
        return;
    program->debug->scope = before.scope;
    LLVMSetCurrentDebugLocation2(program->emitter.builder, before.location);
}

tgi_llvm_debug_place tgi_llvm_debug_enter_shared(tgi_llvm_kernel *k,
                                                 LLVMValueRef function)
{
    tgi_llvm_debug *d = k->program->debug;
    const tgi_site_chain *site = k->loops->main_site;
    const tgi_llvm_debug_place before =
        tgi_llvm_debug_enter(k->program, function, site);
    if (!d)
        return before;
    shared_function *shared = k->program->alloc(sizeof(*shared));
    if (!shared) {
        tgi_llvm_fail_memory(k->program);
        return before;
    }
    *shared = (shared_function){
        .next = d->shared, .function = function, .site = site};
    d->shared = shared;
    return before;
}

static bool sites_are_equal(const tgi_site_chain *a, const tgi_site_chain *b)
{
    return a == b || (a && b && a->line == b->line && a->caller == b->caller &&
                      strcmp(a->file, b->file) == 0);
}

void tgi_llvm_debug_call(tgi_llvm_kernel *k, LLVMValueRef function)
{
    tgi_llvm_debug *d = k->program->debug;
    for (shared_function *s = d ? d->shared : NULL; s; s = s->next)
        if (s->function == function &&
            !sites_are_equal(s->site, k->loops->main_site))
            s->is_ambiguous = true;
}

/* Code without lines, rather than of line 0: gdb takes that for the line before
   it in the table. */
static void clear_lines(LLVMValueRef function)
{
    LLVMSetSubprogram(function, NULL);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef inst = LLVMGetFirstInstruction(block); inst;
             inst = LLVMGetNextInstruction(inst))
            LLVMInstructionSetDebugLoc(inst, NULL);
}

/* -- The module ------------------------------------------------------------ */

static void add_flag(tgi_llvm_program *program, const char *name,
                     unsigned value)
{
    LLVMAddModuleFlag(
        program->emitter.module, LLVMModuleFlagBehaviorWarning, name,
        strlen(name),
        LLVMValueAsMetadata(LLVMConstInt(program->i32, value, false)));
}

static const tgi_site_chain *first_site(const tgi_loops *loops)
{
    for (size_t i = 0; i < loops->kernels.n; i++)
        if (loops->kernels.data[i]->main_site)
            return loops->kernels.data[i]->main_site;
    return NULL;
}

bool tgi_llvm_debug_init(tgi_llvm_program *program, const char *directory)
{
    static const char producer[] = "libtgjit";
    tgi_llvm_debug *d = program->alloc(sizeof(*d));
    if (!d)
        return tgi_llvm_fail_memory(program);
    *d = (tgi_llvm_debug){.builder =
                              LLVMCreateDIBuilder(program->emitter.module),
                          .directory = directory};
    const tgi_site_chain *first = first_site(program->loops);
    LLVMMetadataRef file =
        file_of(d, first ? first : &(tgi_site_chain){.file = "<unknown>"});
    LLVMDIBuilderCreateCompileUnit(d->builder, LLVMDWARFSourceLanguageC11, file,
                                   producer, sizeof(producer) - 1, true, "", 0,
                                   0, "", 0, LLVMDWARFEmissionFull, 0, true,
                                   false, "", 0, "", 0);
    d->type = LLVMDIBuilderCreateSubroutineType(d->builder, file, NULL, 0,
                                                LLVMDIFlagZero);
    add_flag(program, "Debug Info Version", LLVMDebugMetadataVersion());
    add_flag(program, "Dwarf Version", DWARF_VERSION);
    program->debug = d;
    return true;
}

void tgi_llvm_debug_finish(tgi_llvm_program *program)
{
    tgi_llvm_debug *d = program->debug;
    if (!d)
        return;
    for (const shared_function *s = d->shared; s; s = s->next)
        if (s->is_ambiguous)
            clear_lines(s->function);
    LLVMDIBuilderFinalize(d->builder);
}

bool tgi_llvm_debug_inlined_sites(tgi_llvm_program *program,
                                  const tgi_site_chain ***out_sites,
                                  size_t *out_n)
{
    const inlined_site *last =
        program->debug ? program->debug->inlined_sites : NULL;
    *out_n = last ? last->number : 0;
    *out_sites = program->alloc((*out_n + 1) * sizeof(**out_sites));
    if (!*out_sites)
        return tgi_llvm_fail_memory(program);
    for (; last; last = last->next)
        (*out_sites)[last->number - 1] = last->site;
    return true;
}

void tgi_llvm_debug_deinit(tgi_llvm_program *program)
{
    tgi_llvm_debug *d = program->debug;
    if (!d)
        return;
    for (inlined_function *i = d->inlined, *next; i; i = next) {
        next = i->next;
        program->free(i);
    }
    for (inlined_site *i = d->inlined_sites, *next; i; i = next) {
        next = i->next;
        program->free(i);
    }
    for (shared_function *s = d->shared, *next; s; s = next) {
        next = s->next;
        program->free(s);
    }
    LLVMDisposeDIBuilder(d->builder);
    program->free(d);
    program->debug = NULL;
}
