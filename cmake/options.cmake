# SPDX-License-Identifier: Apache-2.0
# Compiler flags and the packages that floors may use.

add_library(tg_flags INTERFACE)
target_include_directories(tg_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(tg_flags INTERFACE _GNU_SOURCE TG_VERSION="${PROJECT_VERSION}")
target_compile_options(tg_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wundef -Wshadow -Wstrict-prototypes
    -Werror=missing-prototypes -Werror=vla -fno-math-errno -ffp-contract=off>)
if(TG_SANITIZE)
  target_compile_options(tg_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-fsanitize=${TG_SANITIZE} -fno-omit-frame-pointer>)
  target_link_options(tg_flags INTERFACE -fsanitize=${TG_SANITIZE})
endif()

find_package(Threads REQUIRED)
target_link_libraries(tg_flags INTERFACE Threads::Threads m)

if(NOT TG_OPENMP)
  target_compile_options(tg_flags INTERFACE -Wno-unknown-pragmas) # a pragma removed is still right
else()
  find_package(OpenMP COMPONENTS C)
  if(OpenMP_C_FOUND)
    target_link_libraries(tg_flags INTERFACE OpenMP::OpenMP_C)
  endif()
endif()
if(TG_MPI)
  find_package(MPI COMPONENTS C)
  if(MPI_C_FOUND)
    target_link_libraries(tg_flags INTERFACE MPI::MPI_C)
    target_compile_definitions(tg_flags INTERFACE TG_HAVE_MPI=1)
  endif()
endif()

# The C interface of LAPACK, for the small dense problems of the eigen-solver: Debian's liblapacke, or an
# OpenBLAS that has it built in.
if(TG_LAPACK)
  find_path(TG_LAPACKE_INCLUDE lapacke.h PATH_SUFFIXES lapacke openblas)
  find_library(TG_LAPACKE_LIBRARY NAMES lapacke openblas)
  mark_as_advanced(TG_LAPACKE_INCLUDE TG_LAPACKE_LIBRARY)
  if(TG_LAPACKE_INCLUDE AND TG_LAPACKE_LIBRARY)
    target_include_directories(tg_flags SYSTEM INTERFACE ${TG_LAPACKE_INCLUDE})
    target_link_libraries(tg_flags INTERFACE ${TG_LAPACKE_LIBRARY})
    target_compile_definitions(tg_flags INTERFACE TG_HAVE_LAPACK=1)
  endif()
endif()
