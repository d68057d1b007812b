# SPDX-License-Identifier: Apache-2.0
# The backend offload-clang: for NVIDIA where CUDA's tools of release 12 are there, for AMD as a check.
# (An image of CUDA 13's tools has an ELF header that libomptarget 19 does not take for its own.)

execute_process(COMMAND ${TG_CLANG_OFFLOAD} -print-resource-dir OUTPUT_VARIABLE resources
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
get_filename_component(TG_LLVM_LIB ${resources}/../.. ABSOLUTE)
set(TG_CLANG_CUDA ${PROJECT_SOURCE_DIR}/build/deps/cuda12 CACHE PATH
  "CUDA 12's bin/ptxas, bin/nvlink and nvvm/, for Clang (./dev deps cuda12)")
set(TG_CLANG_ARCH sm_90 CACHE STRING "Compute capability of the code that Clang makes")
set(TG_CLANG_HOST -fopenmp -Wno-pass-failed)
# A unit that calls functions of another is compiled for threads that may do anything, and all its
# kernels carry the bookkeeping (docs/compilers.md). Compiled when it is linked, together with the
# run-time library's, the code for the device is up to 1.5 times as fast; that takes a minute or two.
option(TG_CLANG_LTO "Compile Clang's code for GPUs at the link: slow to build, fast to run" ON)
set(how --libomptarget-nvptx-bc-path=${TG_LLVM_LIB}/libomptarget-nvptx-${TG_CLANG_ARCH}.bc)
if(TG_CLANG_LTO)
  set(how -foffload-lto)
endif()
set(TG_CLANG_NVIDIA ${TG_CLANG_HOST} ${how} -fopenmp-targets=nvptx64-nvidia-cuda
  -Xopenmp-target -march=${TG_CLANG_ARCH} --cuda-path=${TG_CLANG_CUDA})

# What keeps it from being for NVIDIA is said here, and by `throng info`.
set(nvidia OFF)
set(TG_CLANG_WITHOUT "./dev deps cuda12 fetches what code for NVIDIA takes")
if(EXISTS ${TG_CLANG_CUDA}/bin/nvlink)
  set(release 0)
  execute_process(COMMAND ${TG_CLANG_CUDA}/bin/ptxas --version OUTPUT_VARIABLE ptxas ERROR_QUIET)
  if(ptxas MATCHES "release ([0-9]+)")
    set(release ${CMAKE_MATCH_1})
  endif()
  if(release GREATER 12)
    set(TG_CLANG_WITHOUT
      "its libomptarget takes code by CUDA 12, not ${release}: ./dev deps cuda12, TG_CLANG_CUDA")
  else()
    tg_try_module(${TG_CLANG_OFFLOAD} offload.c nvidia ${TG_CLANG_NVIDIA})
    set(TG_CLANG_WITHOUT "its compiler could not link for NVIDIA with ${TG_CLANG_CUDA}")
  endif()
endif()
set(TG_CLANG_FOR_NVIDIA "" CACHE INTERNAL "What makes code for NVIDIA, for the tests")
if(nvidia)
  set(TG_CLANG_FOR_NVIDIA ${TG_CLANG_OFFLOAD} ${TG_CLANG_NVIDIA} CACHE INTERNAL "")
endif()
tg_try_module(${TG_CLANG_OFFLOAD} offload.c host ${TG_CLANG_HOST})
if(nvidia)
  tg_add_module(${TG_MODULE_BUILD_DIR} offload-clang offload ${TG_CLANG_OFFLOAD}
    FLAGS ${TG_CLANG_NVIDIA} -DTG_MODULE_GPU="${TG_CLANG_ARCH}" LINK -Wl,-rpath,${TG_LLVM_LIB})
  list(APPEND said "offload-clang (host, NVIDIA)")
elseif(host)
  tg_add_module(${TG_MODULE_BUILD_DIR} offload-clang offload ${TG_CLANG_OFFLOAD}
    FLAGS ${TG_CLANG_HOST} -DTG_MODULE_WITHOUT="${TG_CLANG_WITHOUT}" LINK -Wl,-rpath,${TG_LLVM_LIB})
  list(APPEND said "offload-clang (host: ${TG_CLANG_WITHOUT})")
endif()

# AMD: the device's half of each file, to LLVM's language and on to machine code of gfx90a, without
# what debuggers take and with few passes, which is quick. Linking would take ROCm's libraries.
set(TG_CLANG_AMD ${TG_CLANG_HOST} -g0 -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target -march=gfx90a
  -nogpulib --offload-device-only -emit-llvm)
set(TG_CLANG_AMD_CODE -w -x ir --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O1)
set(probe ${PROJECT_BINARY_DIR}/modules/probe/amd)
execute_process(COMMAND ${TG_CLANG_OFFLOAD} ${TG_CLANG_AMD} -O1 -c
    -x c ${CMAKE_CURRENT_LIST_DIR}/probe/offload.c.in -o ${probe}.bc
  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
if(failed EQUAL 0)
  execute_process(COMMAND ${TG_CLANG_OFFLOAD} ${TG_CLANG_AMD_CODE} -c ${probe}.bc -o ${probe}.o
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
endif()
if(failed EQUAL 0)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/motif/offload/*.c)
  set(objects)
  foreach(source ${sources})
    get_filename_component(stem ${source} NAME_WE)
    set(object ${TG_MODULE_BUILD_DIR}/objects/amd/${stem}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${TG_CLANG_OFFLOAD} ${TG_MODULE_FLAGS} -DTG_MODULE_NAME="offload-clang" ${TG_CLANG_AMD}
        -MMD -MF ${object}.d -MT ${object} -c ${source} -o ${object}.bc
      COMMAND ${TG_CLANG_OFFLOAD} ${TG_CLANG_AMD_CODE} -c ${object}.bc -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "AMD gfx90a: offload/${stem}.c" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  file(MAKE_DIRECTORY ${TG_MODULE_BUILD_DIR}/objects/amd)
  add_custom_target(module_amd ALL DEPENDS ${objects})
  list(APPEND said "offload-clang for AMD gfx90a (compiled only)")
endif()
