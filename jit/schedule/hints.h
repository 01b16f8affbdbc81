/* SPDX-License-Identifier: MIT */
/*
 * hints.h - hints to the choosers of schedules, from measured planning
 * (jit/tune.h). A hint fixes one decision for a kernel; the choosers make all
 * others as usual, so a hinted schedule is as consistent as a chosen one. Like
 * every schedule it is verified before it is used, and it has the same bits.
 */
#ifndef TGI_HINTS_H
#define TGI_HINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "schedule/schedule.h"
#include "target/target.h"

/*
 * HINT(id, name): the decisions, in the order in which planning tries them:
 * those that the others depend on come first. The value of a hint that is not
 * given is 0. Switches are TGI_HINT_NO or TGI_HINT_YES.
 */
#define TGI_HINTS(HINT) \
    HINT(WIDTH, "width")               /* bits of registers */ \
    HINT(INTERCHANGE, "interchange")   /* switch */ \
    HINT(REGISTERS, "registers")       /* per value of a vector loop */ \
    HINT(MICRO_WIDTH, "micro-width")   /* nr in packed panels */ \
    HINT(MICRO_HEIGHT, "micro-height") /* the greatest mr */ \
    HINT(PANELS, "panels")             /* of a work item, at most */ \
    HINT(ITEM_ROWS, "item-rows")       /* of a matmul, in micro-kernels */ \
    HINT(PACKS_B, "packs-b")           /* switch */ \
    HINT(WIDE_COLUMNS, "wide-columns") /* switch: NO */ \
    HINT(PART_COST, "part-cost")       /* of loop fission, at most */ \
    HINT(TILES, "tiles")               /* switch: NO */ \
    HINT(NON_TEMPORAL, "non-temporal") /* switch */

#define TGI_HINT_NUMBER(id, name) TGI_HINT_##id,
typedef enum tgi_hint { TGI_HINTS(TGI_HINT_NUMBER) TGI_N_HINTS } tgi_hint;

enum { TGI_HINT_NO = 1, TGI_HINT_YES = 2 };

/* Of one kernel. */
typedef struct tgi_schedule_hints {
    uint16_t values[TGI_N_HINTS]; /* by tgi_hint; 0: not given */
} tgi_schedule_hints;

extern const char *const tgi_hint_names[TGI_N_HINTS];

/* The most values that tgi_hint_alternatives returns. */
enum { TGI_MAX_ALTERNATIVES = 4 };

/* False if no schedule for the target has these values: of damaged plans. */
bool tgi_hints_are_valid(const tgi_schedule_hints *hints,
                         const tgi_target *target);

/*
 * Values of a hint that are worth a try for a kernel with this schedule, other
 * than what the schedule has. Returns how many.
 */
unsigned tgi_hint_alternatives(const tgi_schedule *s, const tgi_target *target,
                               tgi_hint hint,
                               uint16_t out_values[TGI_MAX_ALTERNATIVES]);

/*
 * Chooses the schedule of one kernel of scheduled loops anew, under hints, and
 * verifies it. Its memory is that of `arena`. Fails when out of memory, or
 * if the hints are illegal for the kernel; then it keeps its schedule.
 */
tg_status tgi_schedule_choose_hinted(tgi_loops *loops, size_t kernel,
                                     const tgi_target *target,
                                     const tgi_schedule_hints *hints,
                                     tgi_arena *arena);

#endif /* TGI_HINTS_H */
