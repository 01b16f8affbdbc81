# SPDX-License-Identifier: MIT
#
# TGJIT_CHECK_LLVM - finds a supported LLVM for libtgjit-llvm.
#
# A plain llvm-config may belong to an unsupported version, so the version of
# each candidate is checked. LLVM 19, the tested version, is tried first, then
# 20 and 18. Of llvm-config's output only -I/-D, -L and -l options are used; the
# rest (optimisation, -fno-exceptions, ...) describes how LLVM was built.
#
# Sets with_llvm (yes or no), LLVM_CONFIG, LLVM_VERSION, LLVM_CPPFLAGS,
# LLVM_LDFLAGS, LLVM_LIBS and the conditional HAVE_LLVM; defines
# TGJIT_HAVE_LLVM, and TGJIT_LLVM_HAS_AARCH64 if LLVM can compile for it.

# TGJIT_LLVM_WORDS(VARIABLE, SED-SCRIPT, OPTIONS): sets VARIABLE to the words of
# `llvm-config OPTIONS' that SED-SCRIPT prints.
m4_define([TGJIT_LLVM_WORDS],
  [$1=`$LLVM_CONFIG $3 2>/dev/null | tr ' ' '\n' | $SED -n '$2' | tr '\n' ' '`])

AC_DEFUN([TGJIT_CHECK_LLVM], [
AC_ARG_WITH([llvm],
  [AS_HELP_STRING([--without-llvm],
     [build without the code generator; everything is interpreted (default: use
      the first found of LLVM 19, 20 and 18; --with-llvm: fail if none is
      found)])],
  [], [with_llvm=auto])
AC_ARG_VAR([LLVM_CONFIG], [path of llvm-config, for LLVM 18, 19 or 20])

AS_CASE([$with_llvm], [yes|no|auto], [],
  [AC_MSG_ERROR([--with-llvm takes no value; set LLVM_CONFIG= instead])])
wanted_llvm=$with_llvm

AS_IF([test "$with_llvm" != no],
  [AC_CACHE_CHECK([for llvm-config 19, 20 or 18], [ac_cv_path_LLVM_CONFIG],
     [AC_PATH_PROGS_FEATURE_CHECK([LLVM_CONFIG],
        [llvm-config-19 llvm-config-20 llvm-config-18 llvm-config],
        [AS_CASE([`$ac_path_LLVM_CONFIG --version 2>/dev/null`],
           [18.*|19.*|20.*],
           [ac_cv_path_LLVM_CONFIG=$ac_path_LLVM_CONFIG
            ac_path_LLVM_CONFIG_found=:])],
        [ac_cv_path_LLVM_CONFIG=no])])
   LLVM_CONFIG=$ac_cv_path_LLVM_CONFIG
   AS_IF([test "$LLVM_CONFIG" = no],
     [with_llvm=no],
     [# A path set by the user has not been checked yet.
      LLVM_VERSION=`$LLVM_CONFIG --version 2>/dev/null`
      AS_CASE([$LLVM_VERSION],
        [19.*], [with_llvm=yes],
        [18.*|20.*],
          [with_llvm=yes
           AC_MSG_NOTICE([LLVM $LLVM_VERSION is accepted; 19 is tested])],
        [AC_MSG_ERROR([$LLVM_CONFIG is not from LLVM 18, 19 or 20])])])])

AS_IF([test "$with_llvm" = yes],
  [TGJIT_LLVM_WORDS([LLVM_CPPFLAGS], [s/^-I/-isystem /p;/^-D/p], [--cppflags])
   TGJIT_LLVM_WORDS([LLVM_LDFLAGS], [/^-L/p], [--ldflags])
   # AArch64 is optional: functions can be exported for it.
   llvm_aarch64=`$LLVM_CONFIG --components 2>/dev/null | tr ' ' '\n' | \
     $SED -n '/^aarch64$/p'`
   TGJIT_LLVM_WORDS([LLVM_LIBS], [/^-l/p],
     [--libs --system-libs core native passes $llvm_aarch64])

   save_CPPFLAGS=$CPPFLAGS save_LDFLAGS=$LDFLAGS save_LIBS=$LIBS
   CPPFLAGS="$CPPFLAGS $LLVM_CPPFLAGS"
   LDFLAGS="$LDFLAGS $LLVM_LDFLAGS"
   LIBS="$LLVM_LIBS $LIBS"
   AC_MSG_CHECKING([whether LLVM $LLVM_VERSION links])
   AC_LINK_IFELSE([AC_LANG_PROGRAM(
       [[#include <llvm-c/Transforms/PassBuilder.h>]],
       [[return LLVMRunPasses(0, "", 0, 0) != 0;]])],
     [], [with_llvm=no])
   AC_MSG_RESULT([$with_llvm])
   AS_IF([test "$with_llvm,$llvm_aarch64" = yes,aarch64],
     [AC_DEFINE([TGJIT_LLVM_HAS_AARCH64], [1],
        [Define to 1 if LLVM has a code generator for AArch64.])])
   CPPFLAGS=$save_CPPFLAGS LDFLAGS=$save_LDFLAGS LIBS=$save_LIBS])

AS_CASE([$wanted_llvm,$with_llvm],
  [yes,no], [AC_MSG_ERROR([LLVM 19, 20 or 18 with its headers not found
(Debian: llvm-19-dev). Set LLVM_CONFIG, or configure --without-llvm.])],
  [auto,no], [AC_MSG_NOTICE([no code generator: LLVM 19, 20 or 18 not found])],
  [*,yes], [AC_DEFINE([TGJIT_HAVE_LLVM], [1],
     [Define to 1 if the plugin libtgjit-llvm is built.])])

AM_CONDITIONAL([HAVE_LLVM], [test "$with_llvm" = yes])
AC_SUBST([with_llvm])
AC_SUBST([LLVM_VERSION])
AC_SUBST([LLVM_CPPFLAGS])
AC_SUBST([LLVM_LDFLAGS])
AC_SUBST([LLVM_LIBS])
])
