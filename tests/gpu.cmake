# SPDX-License-Identifier: Apache-2.0
# Tests of the device code: tests/<floor>/gpu_<name>.cu, programs of their own that need no test library, so
# that they build on machines with little more than a compiler. They exit with 77 where there is no GPU.
# A line `RUN: WORD...` in the source says with which words each a program is a test of its own, instead of once
# without any; `RUN-MPI: WORD...` the same under mpirun, with two processes.

function(tg_gpu_test_words source key out)
  file(STRINGS ${source} line REGEX " ${key}: " LIMIT_COUNT 1)
  string(REGEX REPLACE ".* ${key}: *" "" words "${line}")
  string(REGEX REPLACE " *\\*/ *$" "" words "${words}") # the comment's end
  separate_arguments(words)
  set(${out} ${words} PARENT_SCOPE)
endfunction()

function(tg_add_gpu_test_mpi target test) # ARGUMENT...
  if(NOT MPI_C_FOUND OR NOT MPIEXEC_EXECUTABLE)
    return()
  endif()
  set(flags)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(version MATCHES "Open MPI|OpenRTE")
    set(flags --oversubscribe --bind-to none)
  endif()
  add_test(NAME ${test} COMMAND ${MPIEXEC_EXECUTABLE} ${flags} ${MPIEXEC_NUMPROC_FLAG} 2
    $<TARGET_FILE:${target}> ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS "gpu;mpi" SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
endfunction()

foreach(floor device motif comm halo md eigen ci)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${floor}/gpu_*.cu)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${floor}_${name} ${source})
    target_link_libraries(${floor}_${name} PRIVATE throng)
    target_include_directories(${floor}_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${floor}_${name} PRIVATE TG_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    if(EXISTS ${PROJECT_SOURCE_DIR}/tests/${floor}/${name}_headers) # in place of a library's
      target_include_directories(${floor}_${name} BEFORE PRIVATE
        ${PROJECT_SOURCE_DIR}/tests/${floor}/${name}_headers)
    endif()
    if(TG_TESTS)
      tg_gpu_test_words(${source} RUN words)
      if(NOT words)
        add_test(NAME ${floor}.${name} COMMAND ${floor}_${name})
        set_tests_properties(${floor}.${name} PROPERTIES LABELS "${floor};gpu" SKIP_RETURN_CODE 77 TIMEOUT 600)
      endif()
      foreach(word IN LISTS words)
        add_test(NAME ${floor}.${name}_${word} COMMAND ${floor}_${name} ${word})
        set_tests_properties(${floor}.${name}_${word} PROPERTIES LABELS "${floor};gpu" SKIP_RETURN_CODE 77
          TIMEOUT 300)
      endforeach()
      tg_gpu_test_words(${source} RUN-MPI words)
      foreach(word IN LISTS words)
        tg_add_gpu_test_mpi(${floor}_${name} ${floor}.${name}_mpi_2_${word} ${word})
      endforeach()
    endif()
  endforeach()
endforeach()

# An example is a test.
add_executable(examples_gpu_stencil ${PROJECT_SOURCE_DIR}/examples/stencil-cuda/stencil.cu)
target_link_libraries(examples_gpu_stencil PRIVATE throng)
if(TG_TESTS)
  add_test(NAME examples.gpu_stencil COMMAND examples_gpu_stencil)
  set_tests_properties(examples.gpu_stencil PROPERTIES LABELS "examples;gpu" SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()

if(TARGET motif_gpu_motif)
  include(${PROJECT_SOURCE_DIR}/tests/motif/gpu.cmake)
endif()
if(TARGET ci_gpu_slices)
  include(${PROJECT_SOURCE_DIR}/tests/ci/gpu.cmake)
endif()
