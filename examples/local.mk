# SPDX-License-Identifier: MIT
#
# examples/ - complete programs that link the installed library. `make' builds
# them; `make check' runs each and compares its output with NAME.expected.

examples = \
	examples/checkpoint \
	examples/dataset_batches \
	examples/digits_cnn \
	examples/digits_mlp \
	examples/epoch \
	examples/errors \
	examples/gru_recall \
	examples/hot_loop \
	examples/linear_regression \
	examples/lorenz \
	examples/mandelbrot \
	examples/mlp_train \
	examples/newton \
	examples/newton_batch \
	examples/ode_fit \
	examples/power_iteration \
	examples/profile_kmeans \
	examples/reaction_diffusion \
	examples/readme \
	examples/recognise \
	examples/retrace \
	examples/running_stats \
	examples/tour \
	examples/training_plot \
	examples/transformer_bytes
example_ldadd = libtgjit.la $(LIBM)

# Each needs a line: examples_NAME_LDADD = $(example_ldadd)
examples_checkpoint_LDADD = $(example_ldadd)
examples_dataset_batches_LDADD = $(example_ldadd)
examples_digits_cnn_LDADD = $(example_ldadd)
examples_digits_mlp_LDADD = $(example_ldadd)
examples_epoch_LDADD = $(example_ldadd)
examples_errors_LDADD = $(example_ldadd)
examples_gru_recall_LDADD = $(example_ldadd)
examples_hot_loop_LDADD = $(example_ldadd)
examples_linear_regression_LDADD = $(example_ldadd)
examples_lorenz_LDADD = $(example_ldadd)
examples_mandelbrot_LDADD = $(example_ldadd)
examples_mlp_train_LDADD = $(example_ldadd)
examples_newton_LDADD = $(example_ldadd)
examples_newton_batch_LDADD = $(example_ldadd)
examples_ode_fit_LDADD = $(example_ldadd)
examples_power_iteration_LDADD = $(example_ldadd)
examples_profile_kmeans_LDADD = $(example_ldadd)
examples_reaction_diffusion_LDADD = $(example_ldadd)
examples_readme_LDADD = $(example_ldadd)
examples_recognise_LDADD = $(example_ldadd)
examples_retrace_LDADD = $(example_ldadd)
examples_running_stats_LDADD = $(example_ldadd)
examples_tour_LDADD = $(example_ldadd)
examples_training_plot_LDADD = $(example_ldadd)
examples_transformer_bytes_LDADD = $(example_ldadd)

# Those that read files find them in the source tree.
example_data = -DEXAMPLE_DATA='"$(abs_top_srcdir)/examples/data"'
examples_digits_cnn_CPPFLAGS = $(AM_CPPFLAGS) $(example_data)
examples_digits_mlp_CPPFLAGS = $(AM_CPPFLAGS) $(example_data)
examples_recognise_CPPFLAGS = $(AM_CPPFLAGS) $(example_data)
examples_transformer_bytes_CPPFLAGS = $(AM_CPPFLAGS) $(example_data)
EXTRA_DIST += \
	examples/data/README.md \
	examples/data/digits.csv

if HAVE_CXX17
examples += examples/cxx_tour
endif
examples_cxx_tour_SOURCES = examples/cxx_tour.cpp
examples_cxx_tour_LDADD = $(example_ldadd)
EXTRA_DIST += examples/cxx_tour.expected

# Small TensorFlow programs in C, in the order of docs/FROM_TENSORFLOW.md.
examples += \
	examples/from_tensorflow/01_shared_counter \
	examples/from_tensorflow/02_bundle_signature \
	examples/from_tensorflow/03_batches \
	examples/from_tensorflow/04_scope_constant \
	examples/from_tensorflow/05_shared_first_layer \
	examples/from_tensorflow/06_shared_convolution \
	examples/from_tensorflow/07_scalar_signature \
	examples/from_tensorflow/08_vector_and_scalar \
	examples/from_tensorflow/09_model_struct \
	examples/from_tensorflow/10_runtime_arguments \
	examples/from_tensorflow/11_host_function \
	examples/from_tensorflow/12_dataset_pairs \
	examples/from_tensorflow/13_gradient_inside \
	examples/from_tensorflow/14_wrong_way \
	examples/from_tensorflow/15_variable_argument
examples_from_tensorflow_01_shared_counter_LDADD = $(example_ldadd)
examples_from_tensorflow_02_bundle_signature_LDADD = $(example_ldadd)
examples_from_tensorflow_03_batches_LDADD = $(example_ldadd)
examples_from_tensorflow_04_scope_constant_LDADD = $(example_ldadd)
examples_from_tensorflow_05_shared_first_layer_LDADD = $(example_ldadd)
examples_from_tensorflow_06_shared_convolution_LDADD = $(example_ldadd)
examples_from_tensorflow_07_scalar_signature_LDADD = $(example_ldadd)
examples_from_tensorflow_08_vector_and_scalar_LDADD = $(example_ldadd)
examples_from_tensorflow_09_model_struct_LDADD = $(example_ldadd)
examples_from_tensorflow_10_runtime_arguments_LDADD = $(example_ldadd)
examples_from_tensorflow_11_host_function_LDADD = $(example_ldadd)
examples_from_tensorflow_12_dataset_pairs_LDADD = $(example_ldadd)
examples_from_tensorflow_13_gradient_inside_LDADD = $(example_ldadd)
examples_from_tensorflow_14_wrong_way_LDADD = $(example_ldadd)
examples_from_tensorflow_15_variable_argument_LDADD = $(example_ldadd)

# The steps of docs/TUTORIAL.md.
examples += \
	examples/tutorial/1_compile \
	examples/tutorial/2_bind \
	examples/tutorial/3_variables \
	examples/tutorial/4_sizes \
	examples/tutorial/5_loops \
	examples/tutorial/6_gradients \
	examples/tutorial/7_training \
	examples/tutorial/8_profile
if HAVE_LLVM
examples += examples/tutorial/9_export
endif
examples_tutorial_1_compile_LDADD = $(example_ldadd)
examples_tutorial_2_bind_LDADD = $(example_ldadd)
examples_tutorial_3_variables_LDADD = $(example_ldadd)
examples_tutorial_4_sizes_LDADD = $(example_ldadd)
examples_tutorial_5_loops_LDADD = $(example_ldadd)
examples_tutorial_6_gradients_LDADD = $(example_ldadd)
examples_tutorial_7_training_LDADD = $(example_ldadd)
examples_tutorial_8_profile_LDADD = $(example_ldadd)
examples_tutorial_9_export_LDADD = $(example_ldadd)

# The programs of docs/COOKBOOK.md. Each has plain C beside it, compiled as that of
# tgjit-bench.
recipes = \
	examples/cookbook/controller \
	examples/cookbook/filters \
	examples/cookbook/heat \
	examples/cookbook/jacobi \
	examples/cookbook/kalman \
	examples/cookbook/kmeans \
	examples/cookbook/life \
	examples/cookbook/monte_carlo \
	examples/cookbook/nbody \
	examples/cookbook/ode \
	examples/cookbook/wave
examples_cookbook_controller_LDADD = $(example_ldadd)
examples_cookbook_filters_LDADD = $(example_ldadd)
examples_cookbook_heat_LDADD = $(example_ldadd)
examples_cookbook_jacobi_LDADD = $(example_ldadd)
examples_cookbook_kalman_LDADD = $(example_ldadd)
examples_cookbook_kmeans_LDADD = $(example_ldadd)
examples_cookbook_life_LDADD = $(example_ldadd)
examples_cookbook_monte_carlo_LDADD = $(example_ldadd)
examples_cookbook_nbody_LDADD = $(example_ldadd)
examples_cookbook_ode_LDADD = $(example_ldadd)
examples_cookbook_wave_LDADD = $(example_ldadd)
if HAVE_FFTW
recipes += examples/cookbook/fft_convolution
endif
examples_cookbook_fft_convolution_LDADD = libtgjit-fftw.la $(example_ldadd)
recipe_cflags = $(AM_CFLAGS) $(BENCH_PLAIN_CFLAGS)
examples_cookbook_controller_CFLAGS = $(recipe_cflags)
examples_cookbook_fft_convolution_CFLAGS = $(recipe_cflags)
examples_cookbook_filters_CFLAGS = $(recipe_cflags)
examples_cookbook_heat_CFLAGS = $(recipe_cflags)
examples_cookbook_jacobi_CFLAGS = $(recipe_cflags)
examples_cookbook_kalman_CFLAGS = $(recipe_cflags)
examples_cookbook_kmeans_CFLAGS = $(recipe_cflags)
examples_cookbook_life_CFLAGS = $(recipe_cflags)
examples_cookbook_monte_carlo_CFLAGS = $(recipe_cflags)
examples_cookbook_nbody_CFLAGS = $(recipe_cflags)
examples_cookbook_ode_CFLAGS = $(recipe_cflags)
examples_cookbook_wave_CFLAGS = $(recipe_cflags)
recipe_objects = \
	$(examples_cookbook_controller_OBJECTS) \
	$(examples_cookbook_fft_convolution_OBJECTS) \
	$(examples_cookbook_filters_OBJECTS) \
	$(examples_cookbook_heat_OBJECTS) \
	$(examples_cookbook_jacobi_OBJECTS) \
	$(examples_cookbook_kalman_OBJECTS) \
	$(examples_cookbook_kmeans_OBJECTS) \
	$(examples_cookbook_life_OBJECTS) \
	$(examples_cookbook_monte_carlo_OBJECTS) \
	$(examples_cookbook_nbody_OBJECTS) \
	$(examples_cookbook_ode_OBJECTS) \
	$(examples_cookbook_wave_OBJECTS)
$(recipe_objects): override CFLAGS += -O3
examples += $(recipes)
EXTRA_DIST += \
	examples/check.h \
	examples/cookbook/compare.h \
	examples/cookbook/fft_convolution.expected \
	examples/tutorial/9_export.expected

noinst_PROGRAMS += $(examples)

# Two programs: tests/scripts/check-export.sh runs the first, which writes an
# object file, and links the second with it.
noinst_PROGRAMS += examples/ahead_of_time/export
examples_ahead_of_time_export_LDADD = $(example_ldadd)
EXTRA_DIST += \
	examples/ahead_of_time/main.c \
	examples/ahead_of_time/main.expected

example_tests = $(examples:=.expected)
TESTS += $(example_tests)
EXTRA_DIST += $(example_tests)

# -- Installed examples ------------------------------------------------------

# All sources and data, with a Makefile that uses pkg-config.
examplesdir = $(docdir)/examples
EXTRA_DIST += \
	examples/Makefile.installed \
	examples/README.md \
	examples/build_systems/CMakeLists.txt \
	examples/build_systems/hello.c \
	examples/build_systems/hello_cxx.cpp \
	examples/build_systems/meson.build
installed_examples = \
	cd $(srcdir)/examples && \
	find . -name '*.[ch]' -o -name '*.cpp' -o -name '*.csv' -o -name '*.md' \
	    -o -name CMakeLists.txt -o -name meson.build
install-data-local: install-examples
uninstall-local: uninstall-examples
.PHONY: install-examples uninstall-examples
install-examples:
	$(installed_examples) | while read -r file; do \
	    $(MKDIR_P) "$(DESTDIR)$(examplesdir)/$${file%/*}" && \
	    $(INSTALL_DATA) "$$file" "$(DESTDIR)$(examplesdir)/$$file" || exit 1; \
	done
	$(INSTALL_DATA) $(srcdir)/examples/Makefile.installed \
	    "$(DESTDIR)$(examplesdir)/Makefile"
uninstall-examples:
	rm -rf "$(DESTDIR)$(examplesdir)"

# Programs compile against what `make install' has installed.
installcheck_module =
if HAVE_LLVM
installcheck_module += $(DESTDIR)$(pkglibdir)/libtgjit-llvm.so
endif
# What DESTDIR has staged is used there: installcheck.sh says how.
installcheck-local:
	staged="$(DESTDIR)" moduledir="$(DESTDIR)$(pkglibdir)" \
	PKG_CONFIG_PATH="$(DESTDIR)$(pkgconfigdir):$$PKG_CONFIG_PATH" \
	LD_LIBRARY_PATH="$(DESTDIR)$(libdir):$$LD_LIBRARY_PATH" \
	examples="$(DESTDIR)$(examplesdir)" docs="$(DESTDIR)$(docdir)" \
	man="$(DESTDIR)$(mandir)" \
	module="$(strip $(installcheck_module))" \
	    $(SHELL) $(top_srcdir)/tests/scripts/installcheck.sh
EXTRA_DIST += tests/scripts/installcheck.sh
