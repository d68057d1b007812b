# SPDX-License-Identifier: Apache-2.0
# The cluster kernels, compiled once per instruction set and precision; the fastest that runs is
# chosen at run time. Adds the objects to the target throng.

set(TG_SIMD_SOURCES ${CMAKE_CURRENT_LIST_DIR}/simd/kernel.c ${CMAKE_CURRENT_LIST_DIR}/simd/search.c)
set(TG_SIMD_portable "")
set(TG_SIMD_SETS portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(TG_SIMD_avx2 -mavx2 -mfma)
  set(TG_SIMD_avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512)
  list(APPEND TG_SIMD_SETS avx2 avx512)
  target_compile_definitions(throng PRIVATE TG_SIMD_X86=1)
endif()

# By source, because these come last and so win over tg_flags. -ffp-contract=fast: a*b+c may be
# fused; -fno-trapping-math: lanes outside the cut-off may be computed and dropped; -Wno-psabi:
# vectors are passed between inlined functions only.
set_source_files_properties(${TG_SIMD_SOURCES} PROPERTIES
  COMPILE_OPTIONS "-ffp-contract=fast;-fno-trapping-math;-Wno-psabi")

foreach(isa ${TG_SIMD_SETS})
  foreach(precision float double)
    set(target throng_${isa}_${precision})
    add_library(${target} OBJECT ${TG_SIMD_SOURCES})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${target} PRIVATE tg_flags)
    target_compile_options(${target} PRIVATE ${TG_SIMD_${isa}})
    target_compile_definitions(${target} PRIVATE TG_VARIANT=${isa}_${precision}
      TG_SIMD_DOUBLE=$<STREQUAL:${precision},double>)
    target_sources(throng PRIVATE $<TARGET_OBJECTS:${target}>)
  endforeach()
endforeach()
