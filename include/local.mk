# SPDX-License-Identifier: MIT
#
# include/ - the public headers; all are installed.

include_HEADERS += include/tgjit.h

topicincludedir = $(includedir)/tgjit
topicinclude_HEADERS = \
	include/tgjit/base.h \
	include/tgjit/bundle.h \
	include/tgjit/cache.h \
	include/tgjit/calibration.h \
	include/tgjit/cancel.h \
	include/tgjit/context.h \
	include/tgjit/control.h \
	include/tgjit/dataset.h \
	include/tgjit/dlpack.h \
	include/tgjit/export.h \
	include/tgjit/extend.h \
	include/tgjit/file.h \
	include/tgjit/function.h \
	include/tgjit/gradient.h \
	include/tgjit/half.h \
	include/tgjit/host.h \
	include/tgjit/initial.h \
	include/tgjit/layers.h \
	include/tgjit/loss_scale.h \
	include/tgjit/losses.h \
	include/tgjit/map.h \
	include/tgjit/ops.h \
	include/tgjit/ops_activation.h \
	include/tgjit/ops_arrange.h \
	include/tgjit/ops_macros.h \
	include/tgjit/ops_conv.h \
	include/tgjit/ops_cumulative.h \
	include/tgjit/ops_detection.h \
	include/tgjit/ops_index.h \
	include/tgjit/ops_nn.h \
	include/tgjit/ops_norm.h \
	include/tgjit/ops_order.h \
	include/tgjit/ops_quantize.h \
	include/tgjit/ops_random.h \
	include/tgjit/ops_reduce.h \
	include/tgjit/ops_resize.h \
	include/tgjit/ops_shape.h \
	include/tgjit/ops_signal.h \
	include/tgjit/ops_statistics.h \
	include/tgjit/optimiser.h \
	include/tgjit/profile.h \
	include/tgjit/result.h \
	include/tgjit/schedules.h \
	include/tgjit/scope.h \
	include/tgjit/tensor.h \
	include/tgjit/trace.h \
	include/tgjit/value.h \
	include/tgjit/variable.h \
	include/tgjit/vmap.h

# Of the libraries of operations.
if HAVE_LAPACK
topicinclude_HEADERS += include/tgjit/lapack.h
endif
if HAVE_FFTW
topicinclude_HEADERS += include/tgjit/fftw.h
endif

# Of libtgjit-mpi.
if HAVE_MPI_LIBRARY
topicinclude_HEADERS += include/tgjit/mpi.h
endif
EXTRA_DIST += include/tgjit/mpi.h
# Of libtgjit-onnx.
if HAVE_ONNX
topicinclude_HEADERS += include/tgjit/onnx.h
endif
