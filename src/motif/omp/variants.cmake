# SPDX-License-Identifier: Apache-2.0
# The inner loops of filter and fill, compiled once per instruction set; the fastest that runs is chosen at
# run time. Adds the objects to the target throng.

set(TG_BLOCK_portable "")
set(TG_BLOCK_SETS portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(TG_BLOCK_avx2 -mavx2 -mpopcnt)
  set(TG_BLOCK_avx512 -mavx512f -mavx512bw -mavx512vl -mavx512vpopcntdq -mpopcnt
    -mprefer-vector-width=512)
  list(APPEND TG_BLOCK_SETS avx2 avx512)
  target_compile_definitions(throng PRIVATE TG_BLOCK_X86=1)
endif()

foreach(isa ${TG_BLOCK_SETS})
  set(target throng_block_${isa})
  add_library(${target} OBJECT ${CMAKE_CURRENT_LIST_DIR}/simd/block.c)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE tg_flags)
  # -Wno-psabi: vectors are passed between inlined functions only
  target_compile_options(${target} PRIVATE ${TG_BLOCK_${isa}} -Wno-psabi)
  target_compile_definitions(${target} PRIVATE TG_VARIANT=${isa})
  target_sources(throng PRIVATE $<TARGET_OBJECTS:${target}>)
endforeach()
