# SPDX-License-Identifier: Apache-2.0
# The backends acc and offload as modules (motif/module.h): shared objects made by compilers of their
# own. Which are there is found here, and what is missing is left out, and said.
#
#   TG_ACC_COMPILER      GCC with OpenACC: of those that are there the first that makes code for
#   TG_OFFLOAD_COMPILER  NVIDIA (nvptx offloading), or else for the host; with OpenMP: likewise
#   TG_CLANG_OFFLOAD     Clang with libomptarget, for NVIDIA (needs CUDA 12's ptxas and nvlink) and, as a
#                        check that it compiles, for AMD
#
# The module acc has the loops of the floors above, too: eigen/acc/, ci/acc/.
#
# plain/ holds the same sources compiled without any directive, for the tests.

option(TG_MODULES "The backends acc and offload, where a compiler for them is found" ON)
set(TG_MODULE_BUILD_DIR ${PROJECT_BINARY_DIR}/modules)
include(GNUInstallDirs)
set_property(SOURCE motif/module.c APPEND PROPERTY COMPILE_DEFINITIONS
  TG_MODULE_BUILD_DIR="${TG_MODULE_BUILD_DIR}"
  TG_MODULE_INSTALL_DIR="${CMAKE_INSTALL_FULL_LIBDIR}/throng")
target_link_libraries(throng PUBLIC ${CMAKE_DL_LIBS})
set(TG_MODULES_MADE "" CACHE INTERNAL "Modules that the tests expect to load")
set(TG_NVPTX_BY "" CACHE INTERNAL "Of acc and offload, those whose compiler makes code for NVIDIA")
if(NOT TG_MODULES OR TG_SANITIZE) # their run-time libraries are not instrumented
  return()
endif()

set(TG_MODULE_FLAGS -std=c17 -O3 -g -fPIC -fvisibility=hidden -ffp-contract=off -Wall -Wextra
  -D_GNU_SOURCE -DTG_VERSION="${PROJECT_VERSION}" -I${PROJECT_SOURCE_DIR}/src
  -I${PROJECT_SOURCE_DIR}/include)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND TG_MODULE_FLAGS -march=x86-64-v3) # popcnt; modules ask the processor (module/services.c)
endif()

# tg_add_module(folder name source_folder compiler FLAGS ... LINK ...): FOLDER/throng-NAME.so of
# motif/SOURCE_FOLDER, by a compiler driver with flags of its own for compiling and linking.
function(tg_add_module folder name source_folder compiler)
  cmake_parse_arguments(PARSE_ARGV 4 module "" "" "FLAGS;LINK")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/motif/${source_folder}/*.c
    ${CMAKE_CURRENT_SOURCE_DIR}/motif/module/*.c ${CMAKE_CURRENT_SOURCE_DIR}/eigen/${source_folder}/*.c
    ${CMAKE_CURRENT_SOURCE_DIR}/ci/${source_folder}/*.c)
  list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/motif/pairs.c)
  set(objects)
  foreach(source ${sources})
    get_filename_component(parent ${source} DIRECTORY)
    get_filename_component(parent ${parent} NAME)
    get_filename_component(stem ${source} NAME_WE)
    set(object ${folder}/objects/${name}/${parent}-${stem}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${compiler} ${TG_MODULE_FLAGS} -DTG_MODULE_NAME="${name}" ${module_FLAGS}
        -MMD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "Module ${name}: ${parent}/${stem}.c" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  file(MAKE_DIRECTORY ${folder}/objects/${name})
  add_custom_command(OUTPUT ${folder}/throng-${name}.so
    COMMAND ${compiler} -shared -O3 -g -fPIC ${module_FLAGS} ${module_LINK} ${objects}
      -o ${folder}/throng-${name}.so
    DEPENDS ${objects} COMMENT "Module ${name}" VERBATIM)
  string(REPLACE "${PROJECT_BINARY_DIR}/" "" target ${folder}/${name})
  string(REPLACE "/" "_" target module_${target})
  add_custom_target(${target} ALL DEPENDS ${folder}/throng-${name}.so)
  if(folder STREQUAL TG_MODULE_BUILD_DIR)
    set_property(GLOBAL APPEND PROPERTY TG_MODULES_MADE ${name})
    install(FILES ${folder}/throng-${name}.so DESTINATION ${CMAKE_INSTALL_LIBDIR}/throng)
  endif()
endfunction()

# Does a compiler driver make a shared object of a source with these flags?
function(tg_try_module compiler source result)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/modules/probe)
  execute_process(COMMAND ${compiler} -shared -fPIC -O1 ${ARGN}
      -x c ${CMAKE_CURRENT_SOURCE_DIR}/motif/module/probe/${source}.in -x none
      -o ${PROJECT_BINARY_DIR}/modules/probe/probe.so
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  set(${result} OFF PARENT_SCOPE)
  if(failed EQUAL 0)
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

# The newest GCC may be there without its nvptx offloading, and an older one with it: each is asked for a
# GPU's code first, then each for the host's. What the user chose or was found before stays.
function(tg_find_offloading variable source flag)
  if(DEFINED ${variable} AND NOT "${${variable}}" MATCHES "NOTFOUND$")
    return()
  endif()
  set(there)
  foreach(name gcc-14 gcc-13 gcc-12 gcc)
    find_program(found ${name} NO_CACHE)
    if(found)
      list(APPEND there ${found})
    endif()
    unset(found)
  endforeach()
  foreach(kind nvptx host)
    foreach(compiler ${there})
      set(how -foffload=disable)
      if(kind STREQUAL "nvptx")
        set(how ${TG_NVPTX})
      endif()
      tg_try_module(${compiler} ${source} works ${flag} ${how})
      if(works)
        set(${variable} ${compiler} CACHE FILEPATH "Compiler of a backend made of directives" FORCE)
        return()
      endif()
    endforeach()
  endforeach()
endfunction()

set(TG_NVPTX -foffload=nvptx-none "-foffload-options=nvptx-none=-misa=sm_80 -latomic -lm")
tg_find_offloading(TG_ACC_COMPILER acc.c -fopenacc)
tg_find_offloading(TG_OFFLOAD_COMPILER offload.c -fopenmp)
find_program(TG_CLANG_OFFLOAD NAMES clang-20 clang-19 DOC "Compiler of the backend offload-clang")
set(said)
set(nvptx_by)

if(TG_ACC_COMPILER)
  tg_try_module(${TG_ACC_COMPILER} acc.c works -fopenacc ${TG_NVPTX})
  tg_try_module(${TG_ACC_COMPILER} acc.c host -fopenacc -foffload=disable)
  if(works)
    list(APPEND nvptx_by acc)
    tg_add_module(${TG_MODULE_BUILD_DIR} acc acc ${TG_ACC_COMPILER}
      FLAGS -fopenacc ${TG_NVPTX} -DTG_MODULE_FOR="code for NVIDIA sm_80 and later"
      LINK -Wl,-z,notext)
    list(APPEND said "acc (host, NVIDIA)")
  elseif(host)
    tg_add_module(${TG_MODULE_BUILD_DIR} acc acc ${TG_ACC_COMPILER}
      FLAGS -fopenacc -foffload=disable -DTG_MODULE_FOR="no code for a GPU")
    list(APPEND said "acc (host)")
  endif()
endif()

if(TG_OFFLOAD_COMPILER)
  tg_try_module(${TG_OFFLOAD_COMPILER} offload.c works -fopenmp ${TG_NVPTX})
  tg_try_module(${TG_OFFLOAD_COMPILER} offload.c host -fopenmp -foffload=disable)
  if(works)
    list(APPEND nvptx_by offload)
    tg_add_module(${TG_MODULE_BUILD_DIR} offload offload ${TG_OFFLOAD_COMPILER}
      FLAGS -fopenmp ${TG_NVPTX} -DTG_MODULE_FOR="code for NVIDIA sm_80 and later" LINK -Wl,-z,notext)
    list(APPEND said "offload (host, NVIDIA)")
  elseif(host)
    tg_add_module(${TG_MODULE_BUILD_DIR} offload offload ${TG_OFFLOAD_COMPILER}
      FLAGS -fopenmp -foffload=disable -DTG_MODULE_FOR="no code for a GPU")
    list(APPEND said "offload (host)")
  endif()
endif()

if(TG_CLANG_OFFLOAD)
  include(${CMAKE_CURRENT_LIST_DIR}/clang.cmake)
endif()

tg_add_module(${TG_MODULE_BUILD_DIR}/plain acc acc ${CMAKE_C_COMPILER} FLAGS -Wno-unknown-pragmas)
tg_add_module(${TG_MODULE_BUILD_DIR}/plain offload offload ${CMAKE_C_COMPILER}
  FLAGS -Wno-unknown-pragmas)
get_property(made GLOBAL PROPERTY TG_MODULES_MADE)
list(JOIN made " " made)
set(TG_MODULES_MADE "${made}" CACHE INTERNAL "Modules that the tests expect to load")
set(TG_NVPTX_BY "${nvptx_by}" CACHE INTERNAL "Of acc and offload, those whose compiler makes code for NVIDIA")
list(JOIN said ", " said)
message(STATUS "Modules: ${said}")
