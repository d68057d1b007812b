# SPDX-License-Identifier: Apache-2.0
# The inner loops of the factorised product, compiled once per instruction set; the fastest that runs
# is chosen at run time. Adds the objects to the target throng.

set(TG_CI_portable "")
set(TG_CI_SETS portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(TG_CI_avx2 -mavx2 -mfma)
  set(TG_CI_avx512 -mavx512f -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512)
  list(APPEND TG_CI_SETS avx2 avx512)
  target_compile_definitions(throng PRIVATE TG_CI_X86=1)
endif()

# By source, as these come last and so win over tg_flags: a * b + c may be fused. -Wno-psabi: vectors
# are passed between inlined functions only.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/simd/kernels.c PROPERTIES
  COMPILE_OPTIONS "-ffp-contract=fast;-Wno-psabi")

foreach(isa ${TG_CI_SETS})
  set(target throng_ci_${isa})
  add_library(${target} OBJECT ${CMAKE_CURRENT_LIST_DIR}/simd/kernels.c)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE tg_flags)
  target_compile_options(${target} PRIVATE ${TG_CI_${isa}})
  target_compile_definitions(${target} PRIVATE TG_VARIANT=${isa})
  target_sources(throng PRIVATE $<TARGET_OBJECTS:${target}>)
endforeach()
