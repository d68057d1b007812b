# SPDX-License-Identifier: Apache-2.0
# Tests of the device code: tests/<floor>/gpu_<name>.cu, programs of their own that need no test library, so
# that they build on machines with little more than a compiler. They exit with 77 where there is no GPU.

foreach(floor device motif comm halo md)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${floor}/gpu_*.cu)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${floor}_${name} ${source})
    target_link_libraries(${floor}_${name} PRIVATE throng)
    if(TG_TESTS)
      add_test(NAME ${floor}.${name} COMMAND ${floor}_${name})
      set_tests_properties(${floor}.${name} PROPERTIES LABELS "${floor};gpu" SKIP_RETURN_CODE 77 TIMEOUT 600)
    endif()
  endforeach()
endforeach()
