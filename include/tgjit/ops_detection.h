/* SPDX-License-Identifier: MIT */
/*
 * ops_detection.h - object detection: boxes in images, composed of the
 * operations of ops.h.
 */
#ifndef TGJIT_OPS_DETECTION_H
#define TGJIT_OPS_DETECTION_H

#include "ops.h"

TG_BEGIN_DECLS

typedef enum tg_box_format {
    TG_BOX_CORNERS = 0, /* y1, x1, y2, x2 of any two opposite corners */
    TG_BOX_CENTER = 1   /* x, y of the centre, width, height */
} tg_box_format;

typedef struct tg_suppression_results {
    tg_value indices; /* i64 [max_count, 3]: batch, class and box, by batch,
                         then class, then descending score; then -1 */
    tg_value n;       /* the number of boxes selected (i64 scalar), which may
                         exceed max_count */
} tg_suppression_results;

/*
 * Non-maximum suppression of boxes [batch, n, 4] by scores [batch, classes, n],
 * for each class of each batch. Of the boxes with a score above
 * score_threshold, selects the one with the highest score, the first of equal
 * ones, and removes those whose intersection with it, divided by their union,
 * exceeds iou_threshold; and so on, up to max_per_class boxes. The thresholds
 * are scalars. A NaN is no score.
 */
TG_API tg_suppression_results tg_nonmax_suppression_at(
    tg_operand boxes, tg_operand scores, int64_t max_per_class,
    tg_operand iou_threshold, tg_operand score_threshold, tg_box_format format,
    int64_t max_count, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_nonmax_suppression(boxes, scores, max_per_class, iou_threshold, \
                              score_threshold, format, max_count) \
    tg_nonmax_suppression_at(TG_IN(boxes), TG_IN(scores), max_per_class, \
                             TG_IN(iou_threshold), TG_IN(score_threshold), \
                             format, max_count, TG_HERE)
#else
inline tg_suppression_results
tg_nonmax_suppression(tg_in boxes, tg_in scores, int64_t max_per_class,
                      tg_in iou_threshold, tg_in score_threshold,
                      tg_box_format format, int64_t max_count,
                      tg_site site = TG_HERE)
{
    return tg_nonmax_suppression_at(boxes, scores, max_per_class,
                                    iou_threshold, score_threshold, format,
                                    max_count, site);
}
#endif

#endif /* TGJIT_OPS_DETECTION_H */
