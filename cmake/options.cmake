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

# HDF5 for files of wave functions and densities, its serial C library: Debian's libhdf5-dev, or the usual
# places. 1.10.7 is the first that lets callers do the locking.
set(TG_HAVE_HDF5 OFF)
if(TG_HDF5)
  find_path(TG_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial)
  find_library(TG_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
  mark_as_advanced(TG_HDF5_INCLUDE TG_HDF5_LIBRARY)
  if(TG_HDF5_INCLUDE AND TG_HDF5_LIBRARY)
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_INCLUDES ${TG_HDF5_INCLUDE})
    set(CMAKE_REQUIRED_LIBRARIES ${TG_HDF5_LIBRARY})
    check_c_source_compiles("#include <hdf5.h>
      int main(void) { return H5Pset_file_locking(H5Pcreate(H5P_FILE_ACCESS), 0, 1) < 0; }" TG_HDF5_WORKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
    set(TG_HAVE_HDF5 ${TG_HDF5_WORKS})
  endif()
endif()
