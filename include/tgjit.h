/* SPDX-License-Identifier: MIT */
/*
 * tgjit.h - the complete public interface of libtgjit.
 */
#ifndef TGJIT_H
#define TGJIT_H

#include "tgjit/base.h"
#include "tgjit/bundle.h"
#include "tgjit/cache.h"
#include "tgjit/context.h"
#include "tgjit/control.h"
#include "tgjit/dataset.h"
#include "tgjit/dlpack.h"
#include "tgjit/export.h"
#include "tgjit/file.h"
#include "tgjit/function.h"
#include "tgjit/gradient.h"
#include "tgjit/host.h"
#include "tgjit/initial.h"
#include "tgjit/layers.h"
#include "tgjit/losses.h"
#include "tgjit/ops.h"
#include "tgjit/ops_activation.h"
#include "tgjit/ops_arrange.h"
#include "tgjit/ops_conv.h"
#include "tgjit/ops_cumulative.h"
#include "tgjit/ops_index.h"
#include "tgjit/ops_nn.h"
#include "tgjit/ops_norm.h"
#include "tgjit/ops_order.h"
#include "tgjit/ops_random.h"
#include "tgjit/ops_reduce.h"
#include "tgjit/ops_resize.h"
#include "tgjit/ops_shape.h"
#include "tgjit/ops_statistics.h"
#include "tgjit/optimiser.h"
#include "tgjit/profile.h"
#include "tgjit/result.h"
#include "tgjit/schedules.h"
#include "tgjit/scope.h"
#include "tgjit/tensor.h"
#include "tgjit/trace.h"
#include "tgjit/value.h"
#include "tgjit/variable.h"

#endif /* TGJIT_H */
