/* SPDX-License-Identifier: Apache-2.0 */
/* All of it is in nvshmem.h. */
