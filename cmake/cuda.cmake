# SPDX-License-Identifier: Apache-2.0
# The CUDA compiler, and NVSHMEM where it is asked for.

if(TG_NVSHMEM AND NOT TG_CUDA)
  message(FATAL_ERROR "TG_NVSHMEM=ON needs TG_CUDA=ON; use the preset nvshmem")
endif()
if(NOT TG_CUDA)
  return()
endif()

# machine code for the two families in use, and PTX of the newer for those to come
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "Compute capabilities of the kernels")
endif()
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(TG_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin
    PATHS /usr/local/cuda)
  if(TG_NVCC)
    set(CMAKE_CUDA_COMPILER ${TG_NVCC})
  endif()
endif()
enable_language(CXX CUDA)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3 -g -lineinfo")
target_compile_options(tg_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-ffp-contract=off>)

if(TG_NVSHMEM)
  # TG_NVSHMEM_ROOT, $NVSHMEM_HOME, or what `./dev deps nvshmem` unpacked; the wheel has the host library only under its
  # versioned name
  set(TG_NVSHMEM_PLACES ${TG_NVSHMEM_ROOT} $ENV{NVSHMEM_HOME} ${PROJECT_SOURCE_DIR}/build/deps/nvshmem
    ${PROJECT_SOURCE_DIR}/build/deps/nvshmem/nvidia/nvshmem)
  find_path(TG_NVSHMEM_INCLUDE nvshmem.h HINTS ${TG_NVSHMEM_PLACES} PATH_SUFFIXES include)
  find_file(TG_NVSHMEM_HOST NAMES libnvshmem_host.so libnvshmem_host.so.3
    HINTS ${TG_NVSHMEM_PLACES} PATH_SUFFIXES lib)
  find_file(TG_NVSHMEM_DEVICE libnvshmem_device.a HINTS ${TG_NVSHMEM_PLACES} PATH_SUFFIXES lib)
  if(NOT TG_NVSHMEM_INCLUDE OR NOT TG_NVSHMEM_HOST OR NOT TG_NVSHMEM_DEVICE)
    message(FATAL_ERROR "NVSHMEM was not found (nvshmem.h, libnvshmem_host.so.3, "
      "libnvshmem_device.a); run ./dev deps nvshmem, or set NVSHMEM_HOME to its folder")
  endif()
  add_library(tg_nvshmem_host SHARED IMPORTED)
  set_target_properties(tg_nvshmem_host PROPERTIES IMPORTED_LOCATION ${TG_NVSHMEM_HOST}
    INTERFACE_INCLUDE_DIRECTORIES ${TG_NVSHMEM_INCLUDE})
  add_library(tg_nvshmem_device STATIC IMPORTED)
  set_target_properties(tg_nvshmem_device PROPERTIES IMPORTED_LOCATION ${TG_NVSHMEM_DEVICE}
    IMPORTED_LINK_INTERFACE_LANGUAGES CUDA)
endif()
