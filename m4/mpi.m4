# SPDX-License-Identifier: MIT
#
# TGJIT_CHECK_MPI - finds an MPI for libtgjit-mpi: Open MPI, else MPICH, which
# may be installed side by side; on request SMPI, the simulator of SimGrid. Their
# flags come from pkg-config, not from mpicc, so that the C compiler stays that
# of the user.
#
# Sets with_mpi (openmpi, mpich, smpi or no), MPI_CFLAGS, MPI_LIBS, MPI_MODULE
# and the conditionals HAVE_MPI_LIBRARY and HAVE_MPI: it is not a simulator.
# The tests also run with the other MPI, if it is there: OTHER_MPI_CFLAGS,
# OTHER_MPI_LIBS, other_mpi and HAVE_OTHER_MPI.

# TGJIT_TRY_MPI(PREFIX, MPI): looks for one of them; sets PREFIX_CFLAGS and
# _LIBS, and tgjit_found.
AC_DEFUN([TGJIT_TRY_MPI], [
AS_CASE([$2], [openmpi], [mpi_module=ompi-c], [smpi], [mpi_module=simgrid],
  [mpi_module=mpich])
PKG_CHECK_MODULES([$1], [$mpi_module], [tgjit_found=yes], [tgjit_found=no])
AS_IF([test "$tgjit_found" = yes],
  [# As system headers: warnings about them are not ours.
   $1_CFLAGS=`echo " $[]$1_CFLAGS" | $SED 's/ -I/ -isystem /g'`
   AS_IF([test $2 = smpi],
     [smpi_include=`$PKG_CONFIG --variable=includedir simgrid`/smpi
      $1_CFLAGS="-isystem $smpi_include -DTGJIT_SMPI $[]$1_CFLAGS"])
   save_CFLAGS=$CFLAGS save_LIBS=$LIBS
   CFLAGS="$CFLAGS $[]$1_CFLAGS"
   LIBS="$[]$1_LIBS $LIBS"
   AC_MSG_CHECKING([whether $2 links])
   AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]],
       [[MPI_Request request;
         return MPI_Ibarrier(MPI_COMM_WORLD, &request);]])],
     [], [tgjit_found=no])
   AC_MSG_RESULT([$tgjit_found])
   CFLAGS=$save_CFLAGS LIBS=$save_LIBS])
])

AC_DEFUN([TGJIT_CHECK_MPI], [
AC_ARG_WITH([mpi],
  [AS_HELP_STRING([--with-mpi=openmpi|mpich|smpi],
     [build libtgjit-mpi with this MPI (default: with Open MPI or MPICH, if one
      is found; --with-mpi: fail if neither is; --without-mpi: do not); smpi:
      the simulator of SimGrid])],
  [], [with_mpi=auto])
AS_CASE([$with_mpi],
  [yes|auto], [mpi_candidates='openmpi mpich'],
  [openmpi|mpich|smpi], [mpi_candidates=$with_mpi],
  [no], [mpi_candidates=],
  [AC_MSG_ERROR([--with-mpi=$with_mpi: use openmpi, mpich or smpi])])
wanted_mpi=$with_mpi
with_mpi=no
AS_CASE([" $mpi_candidates "], [*" openmpi "*],
  [TGJIT_TRY_MPI([OPENMPI], [openmpi])
   AS_IF([test "$tgjit_found" = yes],
     [with_mpi=openmpi MPI_CFLAGS=$OPENMPI_CFLAGS MPI_LIBS=$OPENMPI_LIBS
      MPI_MODULE=ompi-c])])
AS_CASE([" $mpi_candidates "], [*" mpich "*],
  [TGJIT_TRY_MPI([MPICH], [mpich])
   AS_CASE([$tgjit_found,$with_mpi],
     [yes,no],
       [with_mpi=mpich MPI_CFLAGS=$MPICH_CFLAGS MPI_LIBS=$MPICH_LIBS
        MPI_MODULE=mpich],
     [yes,*],
       [other_mpi=mpich OTHER_MPI_CFLAGS=$MPICH_CFLAGS
        OTHER_MPI_LIBS=$MPICH_LIBS])])
AS_IF([test "$mpi_candidates" = smpi],
  [TGJIT_TRY_MPI([SMPI], [smpi])
   AS_IF([test "$tgjit_found" = yes],
     [with_mpi=smpi MPI_CFLAGS=$SMPI_CFLAGS MPI_LIBS=$SMPI_LIBS
      MPI_MODULE=simgrid],
     [AC_MSG_ERROR([SimGrid not found (Debian: libsimgrid-dev)])])])
AS_CASE([$wanted_mpi,$with_mpi],
  [no,*], [],
  [auto,no], [AC_MSG_NOTICE([no libtgjit-mpi: no MPI found])],
  [*,no], [AC_MSG_ERROR([MPI not found (Debian: libopenmpi-dev)])])
AM_CONDITIONAL([HAVE_MPI], [test "$with_mpi" != no && test "$with_mpi" != smpi])
AM_CONDITIONAL([HAVE_MPI_LIBRARY], [test "$with_mpi" != no])
AM_CONDITIONAL([HAVE_OTHER_MPI], [test -n "$other_mpi"])
AC_SUBST([with_mpi])
AC_SUBST([other_mpi])
AC_SUBST([MPI_CFLAGS])
AC_SUBST([MPI_LIBS])
AC_SUBST([MPI_MODULE])
AC_SUBST([OTHER_MPI_CFLAGS])
AC_SUBST([OTHER_MPI_LIBS])
])
