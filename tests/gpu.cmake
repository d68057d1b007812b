# SPDX-License-Identifier: Apache-2.0
# Tests of the device code: tests/<floor>/gpu_<name>.cu, programs of their own that need no test library, so
# that they build on machines with little more than a compiler. They exit with 77 where there is no GPU.
# Those whose first comment says MULTI-PROCESS are run under mpirun too, with two processes; and with the words
# stopped (under mpirun), socket and killed.

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

foreach(floor device motif comm halo md)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${floor}/gpu_*.cu)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${floor}_${name} ${source})
    target_link_libraries(${floor}_${name} PRIVATE throng)
    target_include_directories(${floor}_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(EXISTS ${PROJECT_SOURCE_DIR}/tests/${floor}/${name}_headers) # in place of a library's
      target_include_directories(${floor}_${name} BEFORE PRIVATE
        ${PROJECT_SOURCE_DIR}/tests/${floor}/${name}_headers)
    endif()
    if(TG_TESTS)
      add_test(NAME ${floor}.${name} COMMAND ${floor}_${name})
      set_tests_properties(${floor}.${name} PROPERTIES LABELS "${floor};gpu" SKIP_RETURN_CODE 77 TIMEOUT 600)
      file(STRINGS ${source} processes REGEX "MULTI-PROCESS")
      if(processes)
        tg_add_gpu_test_mpi(${floor}_${name} ${floor}.${name}_mpi_2)
        tg_add_gpu_test_mpi(${floor}_${name} ${floor}.${name}_stopped stopped)
        foreach(word socket killed) # two processes that the program starts itself
          add_test(NAME ${floor}.${name}_${word} COMMAND ${floor}_${name} ${word})
          set_tests_properties(${floor}.${name}_${word} PROPERTIES LABELS "${floor};gpu" SKIP_RETURN_CODE 77
            TIMEOUT 300)
        endforeach()
      endif()
    endif()
  endforeach()
endforeach()
