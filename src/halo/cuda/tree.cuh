/* SPDX-License-Identifier: Apache-2.0 */
/* Forces of direct exchange, added as forwarding would add them, so that all schedules give the
 * same bits.
 *
 * Staged, the copies of an atom form a tree: the parent of the copy at offset (ox, oy, oz) is one
 * hop nearer in the last dimension travelled, x before y before z, and adds to its own force those
 * of its children along x, then y, then z. With T(o) for such a sum and f(o) for a copy's own
 * force:
 *
 *   T(ox, oy, oz) = f + T(ox + 1, oy, oz)
 *   T(0, oy, oz)  = (f + T(1, oy, oz)) + T(0, oy + 1, oz)
 *   T(0, 0, oz)   = ((f + T(1, 0, oz)) + T(0, 1, oz)) + T(0, 0, oz + 1)
 *
 * Taken with oz descending, in it oy, in it ox, a copy's children are done before it and one sum of
 * each kind is open at a time: no stack is needed. A missing child adds nothing (not a zero, which
 * would change the sign of -0). Where a child is there its parent is, too: a copy that was
 * forwarded had arrived. */
#ifndef TG_HALO_CUDA_TREE_CUH
#define TG_HALO_CUDA_TREE_CUH

/* Kinds of copies: what hops it has made last. */
enum { TG_HALO_ALONG_X, TG_HALO_ALONG_Y, TG_HALO_ALONG_Z };

/* The open sums, D components each. */
template <typename T, int D>
struct tg_halo_tree {
  T x[D], y[D], z[D];
  bool has_x, has_y, has_z;
};

/* The next copy in the order above; zeroed has_x, has_y, has_z to begin with. */
template <typename T, int D>
static __device__ __forceinline__ void tg_halo_tree_add(tg_halo_tree<T, D>* tree, int kind,
                                                        const T f[D]) {
  const bool with_y = tree->has_y && kind >= TG_HALO_ALONG_Y;
  const bool with_z = tree->has_z && kind == TG_HALO_ALONG_Z;
#pragma unroll
  for (int d = 0; d < D; d++) {
    T sum = f[d];
    if (tree->has_x) sum += tree->x[d];
    if (with_y) sum += tree->y[d];
    if (with_z) sum += tree->z[d];
    if (kind == TG_HALO_ALONG_X) tree->x[d] = sum;
    if (kind == TG_HALO_ALONG_Y) tree->y[d] = sum;
    if (kind == TG_HALO_ALONG_Z) tree->z[d] = sum;
  }
  tree->has_x = kind == TG_HALO_ALONG_X;
  tree->has_y = kind == TG_HALO_ALONG_Y || (tree->has_y && kind == TG_HALO_ALONG_X);
  tree->has_z = kind == TG_HALO_ALONG_Z || tree->has_z;
}

/* The home atom's own force, with all that is open. */
template <typename T, int D>
static __device__ __forceinline__ void tg_halo_tree_end(const tg_halo_tree<T, D>* tree, T f[D]) {
#pragma unroll
  for (int d = 0; d < D; d++) {
    if (tree->has_x) f[d] += tree->x[d];
    if (tree->has_y) f[d] += tree->y[d];
    if (tree->has_z) f[d] += tree->z[d];
  }
}

#endif
