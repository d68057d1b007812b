# SPDX-License-Identifier: Apache-2.0
# gpu_motif runs the tests that are written over the table of backends, without cmocka.

foreach(name test_pairs test_scan_reduce)
  add_library(motif_gpu_${name} OBJECT ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
  target_compile_definitions(motif_gpu_${name} PRIVATE main=tg_${name}_main)
  target_include_directories(motif_gpu_${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/gpu_motif_headers ${CMAKE_CURRENT_LIST_DIR}/..)
  target_link_libraries(motif_gpu_${name} PRIVATE tg_flags)
  target_sources(motif_gpu_motif PRIVATE $<TARGET_OBJECTS:motif_gpu_${name}>)
endforeach()
