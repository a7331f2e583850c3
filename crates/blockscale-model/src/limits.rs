//! How much of anything is read. Files of today's largest models stay far below.

/// The most tensors of one file, and the most lines of an index. The largest models have 150,000.
pub const MAX_TENSORS: usize = 1 << 20;

/// The longest name of a tensor, in bytes. Names are repeated in messages, indexes and manifests.
pub const MAX_NAME_BYTES: usize = 4096;

/// The most axes of a tensor, as many as PyTorch and NumPy have.
pub const MAX_AXES: usize = 64;
