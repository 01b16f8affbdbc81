/* SPDX-License-Identifier: MIT */
/* llvm_store_forwarding.h - store-to-load forwarding in straight-line code. */
#ifndef TGI_LLVM_STORE_FORWARDING_H
#define TGI_LLVM_STORE_FORWARDING_H

#include "llvm/emit/llvm_kernel_state.h"

/* An element of a buffer as an SSA value; NULL: unknown. */
typedef struct tgi_llvm_forwarded {
    LLVMValueRef value;
    unsigned lane; /* of a vector */
} tgi_llvm_forwarded;

/* A loop-invariant load in front of a loop. */
typedef struct tgi_llvm_hoisted_load {
    uint32_t buffer;
    unsigned lanes;
    int64_t first; /* element */
    LLVMValueRef value;
} tgi_llvm_hoisted_load;

enum { TGI_LLVM_MAX_HOISTED_LOADS = 64 };

struct tgi_llvm_straightline {
    tgi_llvm_program *program;
    LLVMValueRef function, frame, table, thread;
    LLVMBasicBlockRef entry;        /* addresses and hoisted loads go here */
    LLVMValueRef *buffers;          /* by buffer: its address */
    tgi_llvm_forwarded **forwarded; /* by buffer: its elements; NULL: none */
    bool *is_stored;                /* by buffer: the group stores to it */
    bool *in_registers;             /* by buffer: carried, not in memory */
    bool hoists_loads;              /* of buffers that are not stored to */
    unsigned n_hoisted;
    tgi_llvm_hoisted_load hoisted[TGI_LLVM_MAX_HOISTED_LOADS];
};

/* Lanes of a vector; 1: an element. */
unsigned tgi_llvm_vector_width(LLVMValueRef value);

/* The stored value of the current lanes; NULL: it must be loaded. */
LLVMValueRef tgi_llvm_forwarded_load(tgi_llvm_kernel *k,
                                     const tgi_access *access);
/* Records a store; true if the buffer is not in memory. */
bool tgi_llvm_forwarded_store(tgi_llvm_kernel *k, const tgi_access *access,
                              LLVMValueRef value);
/* True if the group's steps store to this buffer, so that a load must not move
   across stores. */
bool tgi_llvm_straightline_is_stored(const tgi_llvm_kernel *k, uint32_t buffer);

/* The elements of a buffer, all unknown at first; NULL: too many, or out of
   memory. */
tgi_llvm_forwarded *tgi_llvm_forwarded_elements(tgi_llvm_straightline *group,
                                                uint32_t buffer);
/* `lanes` known elements as a vector, or one as an element. */
LLVMValueRef tgi_llvm_forwarded_vector(tgi_llvm_straightline *group,
                                       const tgi_llvm_forwarded *elements,
                                       unsigned lanes);
/* The number of lanes, from k->index on, that all known operands of a phase
   have in one vector. */
unsigned tgi_llvm_forwarded_run(const tgi_llvm_kernel *k, unsigned phase);

#endif /* TGI_LLVM_STORE_FORWARDING_H */
