# SPDX-License-Identifier: Apache-2.0
# wgmma exists for one architecture alone, sm_90a; its file is compiled for that and nothing else, and chosen at
# run time.

add_library(throng_wgmma OBJECT motif/cuda/wgmma.cu)
set_target_properties(throng_wgmma PROPERTIES POSITION_INDEPENDENT_CODE ON CUDA_ARCHITECTURES 90a-real)
target_link_libraries(throng_wgmma PRIVATE tg_flags)
target_sources(throng PRIVATE $<TARGET_OBJECTS:throng_wgmma>)
