# SPDX-License-Identifier: Apache-2.0
# gpu_slices runs the tests of OpenACC's part without cmocka, by the header that the motifs' tests have for that.

foreach(test ci/test_slices eigen/test_vectors_acc)
  get_filename_component(name ${test} NAME)
  add_library(ci_gpu_${name} OBJECT ${PROJECT_SOURCE_DIR}/tests/${test}.c)
  target_compile_definitions(ci_gpu_${name} PRIVATE main=tg_${name}_main TG_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(ci_gpu_${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/tests/motif/gpu_motif_headers ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(ci_gpu_${name} PRIVATE tg_flags)
  target_sources(ci_gpu_slices PRIVATE $<TARGET_OBJECTS:ci_gpu_${name}>)
endforeach()
