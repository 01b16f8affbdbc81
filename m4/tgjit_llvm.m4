# SPDX-License-Identifier: MIT
#
# TGJIT_CHECK_LLVM - finds an LLVM that suits libtgjit-llvm.
#
# A plain llvm-config often belongs to another version than the one wanted, so
# each candidate is asked for its version. 19 is the tested one and is tried
# first. From its answers only -I/-D, -L and -l words are taken: the rest
# (optimisation, -fno-exceptions, ...) is about how LLVM itself was built.
#
# Sets with_llvm (yes or no), LLVM_CONFIG, LLVM_VERSION, LLVM_CPPFLAGS,
# LLVM_LDFLAGS, LLVM_LIBS and the conditional HAVE_LLVM; defines
# TGJIT_HAVE_LLVM.

# TGJIT_LLVM_WORDS(VARIABLE, SED-SCRIPT, QUESTION): the words that SED-SCRIPT
# prints of what `llvm-config QUESTION' says.
m4_define([TGJIT_LLVM_WORDS],
  [$1=`$LLVM_CONFIG $3 2>/dev/null | tr ' ' '\n' | $SED -n '$2' | tr '\n' ' '`])

AC_DEFUN([TGJIT_CHECK_LLVM], [
AC_ARG_WITH([llvm],
  [AS_HELP_STRING([--without-llvm],
     [build without the native code generator (default: use LLVM 19, 20 or 18
      if found; --with-llvm makes it an error if not)])],
  [], [with_llvm=auto])
AC_ARG_VAR([LLVM_CONFIG], [the llvm-config to use])

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
     [# A path given by the user comes here untested.
      LLVM_VERSION=`$LLVM_CONFIG --version 2>/dev/null`
      AS_CASE([$LLVM_VERSION],
        [19.*], [with_llvm=yes],
        [18.*|20.*],
          [with_llvm=yes
           AC_MSG_NOTICE([LLVM $LLVM_VERSION is accepted, 19 is tested])],
        [AC_MSG_ERROR([$LLVM_CONFIG is no LLVM 18, 19 or 20])])])])

AS_IF([test "$with_llvm" = yes],
  [TGJIT_LLVM_WORDS([LLVM_CPPFLAGS], [s/^-I/-isystem /p;/^-D/p], [--cppflags])
   TGJIT_LLVM_WORDS([LLVM_LDFLAGS], [/^-L/p], [--ldflags])
   TGJIT_LLVM_WORDS([LLVM_LIBS], [/^-l/p],
     [--libs --system-libs core native passes])

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
   CPPFLAGS=$save_CPPFLAGS LDFLAGS=$save_LDFLAGS LIBS=$save_LIBS])

AS_CASE([$wanted_llvm,$with_llvm],
  [yes,no], [AC_MSG_ERROR([no LLVM 19, 20 or 18 with its headers is found
(Debian: llvm-19-dev). Name its llvm-config by LLVM_CONFIG=, or build
--without-llvm.])],
  [auto,no], [AC_MSG_NOTICE([no LLVM 19, 20 or 18: building without])],
  [*,yes], [AC_DEFINE([TGJIT_HAVE_LLVM], [1],
     [Define to 1 if the module libtgjit-llvm is built.])])

AM_CONDITIONAL([HAVE_LLVM], [test "$with_llvm" = yes])
AC_SUBST([with_llvm])
AC_SUBST([LLVM_VERSION])
AC_SUBST([LLVM_CPPFLAGS])
AC_SUBST([LLVM_LDFLAGS])
AC_SUBST([LLVM_LIBS])
])
