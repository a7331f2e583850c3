//! Grids, as `kernels/cuda/README.md` has them: any number of blocks is right, and these are enough
//! to do each item once.

use cudarc::driver::LaunchConfig;

/// Threads of a block, for every kernel.
const THREADS: u32 = 256;

/// How many items a matrix has, and what does one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Items {
    /// A thread.
    Threads(usize),
    /// A warp.
    Warps(usize),
    /// A block.
    Blocks(usize),
}

/// The grid for so many items a matrix.
pub(crate) fn grid(items: Items, matrices: usize) -> LaunchConfig {
    let blocks = match items {
        Items::Threads(items) => items.div_ceil(THREADS as usize),
        Items::Warps(items) => items.div_ceil(THREADS as usize / 32),
        Items::Blocks(items) => items,
    };
    let clamp = |n: usize, most: u32| u32::try_from(n).unwrap_or(most).clamp(1, most);
    LaunchConfig {
        grid_dim: (clamp(blocks, i32::MAX as u32), clamp(matrices, 65_535), 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_need_not_be_full() {
        assert_eq!(grid(Items::Threads(257), 1).grid_dim, (2, 1, 1));
        assert_eq!(grid(Items::Warps(9), 1).grid_dim, (2, 1, 1));
        assert_eq!(grid(Items::Blocks(3), 2).grid_dim, (3, 2, 1));
    }

    #[test]
    fn no_grid_is_empty_or_above_cudas_limits() {
        assert_eq!(grid(Items::Threads(0), 0).grid_dim, (1, 1, 1));
        let most = grid(Items::Blocks(usize::MAX), usize::MAX);
        assert_eq!(most.grid_dim, (i32::MAX as u32, 65_535, 1));
    }
}
