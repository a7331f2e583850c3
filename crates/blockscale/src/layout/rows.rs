//! Orders that runtimes put the rows of a weight into, as index arithmetic.
//!
//! Each order comes as a pair: `*_source` says which row a place is filled from, `*_place` where a
//! row goes. They are inverses of each other.

/// How many rows a shuffle works on at a time: what one TensorRT-LLM epilogue reads together.
///
/// A block of rows, seen as a matrix of 8 columns, is transposed, so that rows which one thread
/// needs after the multiplication lie together.
///
/// ```text
/// By32: row at place  0  1  2  3  4  5  6  7 |  8  9 10 ... 15 | 16 ...
///       comes from    0  4  8 12 16 20 24 28 |  1  5  9 ... 29 |  2 ...
/// By16: comes from    0  2  4  6  8 10 12 14 |  1  3  5 ... 15 | 16 ...
/// ```
///
/// Source: FlashInfer, `get_shuffle_matrix_a_row_indices`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowShuffle {
    /// Blocks of 32, for epilogue tiles of a multiple of 128 rows.
    By32,
    /// Blocks of 16, for other epilogue tiles.
    By16,
}

impl RowShuffle {
    /// The shuffle that kernels with this epilogue tile expect.
    ///
    /// ```
    /// use blockscale::layout::RowShuffle;
    ///
    /// assert_eq!(RowShuffle::for_epilogue_tile(128), RowShuffle::By32);
    /// assert_eq!(RowShuffle::for_epilogue_tile(64), RowShuffle::By16);
    /// ```
    pub const fn for_epilogue_tile(rows: usize) -> Self {
        if rows.is_multiple_of(128) {
            Self::By32
        } else {
            Self::By16
        }
    }

    /// Rows of a block: 32 or 16.
    pub const fn block(self) -> usize {
        match self {
            Self::By32 => 32,
            Self::By16 => 16,
        }
    }

    /// The row that place `place` is filled from.
    ///
    /// ```
    /// use blockscale::layout::RowShuffle;
    ///
    /// let first: [usize; 10] = core::array::from_fn(|n| RowShuffle::By32.source(n));
    /// assert_eq!(first, [0, 4, 8, 12, 16, 20, 24, 28, 1, 5]);
    /// ```
    pub const fn source(self, place: usize) -> usize {
        let (block, within) = (place / self.block(), place % self.block());
        let step = self.block() / 8;
        block * self.block() + within % 8 * step + within / 8
    }

    /// The place that row `row` goes to.
    ///
    /// ```
    /// use blockscale::layout::RowShuffle;
    ///
    /// assert_eq!(RowShuffle::By32.place(4), 1);
    /// assert_eq!(RowShuffle::By32.source(1), 4);
    /// ```
    pub const fn place(self, row: usize) -> usize {
        let (block, within) = (row / self.block(), row % self.block());
        let step = self.block() / 8;
        block * self.block() + within % step * 8 + within / step
    }
}

/// The row of a gated first MoE weight, as checkpoints store it, that place `place` is filled from.
///
/// On disk rows `0..rows / 2` are w1 (gate) and the rest w3 (up). TensorRT-LLM kernels read w3 and
/// w1 in turn, `w3[0] w1[0] w3[1] w1[1] ...`, and that shuffled.
///
/// ```
/// use blockscale::layout::{RowShuffle, w13_source};
///
/// // 64 rows: w1 is 0..32, w3 is 32..64. First eight even rows of w3, then the same of w1.
/// let first: [usize; 16] = core::array::from_fn(|n| w13_source(RowShuffle::By32, 64, n));
/// assert_eq!(first[..8], [32, 34, 36, 38, 40, 42, 44, 46]);
/// assert_eq!(first[8..], [0, 2, 4, 6, 8, 10, 12, 14]);
/// ```
pub const fn w13_source(shuffle: RowShuffle, rows: usize, place: usize) -> usize {
    let in_turn = shuffle.source(place);
    let of_half = in_turn / 2;
    match in_turn % 2 {
        0 => rows / 2 + of_half,
        _ => of_half,
    }
}

/// The place that row `row` of a gated first MoE weight goes to: the inverse of [`w13_source`].
///
/// ```
/// use blockscale::layout::{RowShuffle, w13_place};
///
/// // Of 64 rows, the first of w3, row 32, comes first.
/// assert_eq!(w13_place(RowShuffle::By32, 64, 32), 0);
/// assert_eq!(w13_place(RowShuffle::By32, 64, 0), 8);
/// ```
pub const fn w13_place(shuffle: RowShuffle, rows: usize, row: usize) -> usize {
    let half = rows / 2;
    let in_turn = if row < half {
        2 * row + 1
    } else {
        2 * (row - half)
    };
    shuffle.place(in_turn)
}

/// The row of a gated first MoE weight that place `place` of a Mega MoE weight is filled from:
/// eight rows of gate, eight of up, in turn.
///
/// Source: DeepGEMM, `transform_weights_for_mega_moe`.
///
/// ```
/// use blockscale::layout::{gate_up_eights_place, gate_up_eights_source};
///
/// // 64 rows: gate is 0..32, up is 32..64.
/// let first = [0, 7, 8, 15, 16].map(|place| gate_up_eights_source(64, place));
/// assert_eq!(first, [0, 7, 32, 39, 8]);
/// assert_eq!(gate_up_eights_place(64, 39), 15);
/// ```
pub const fn gate_up_eights_source(rows: usize, place: usize) -> usize {
    let (pair, within) = (place / 16, place % 16);
    match within / 8 {
        0 => pair * 8 + within,
        _ => rows / 2 + pair * 8 + within - 8,
    }
}

/// The place that row `row` goes to: the inverse of [`gate_up_eights_source`].
pub const fn gate_up_eights_place(rows: usize, row: usize) -> usize {
    let half = rows / 2;
    let (row, up) = if row < half {
        (row, 0)
    } else {
        (row - half, 8)
    };
    row / 8 * 16 + up + row % 8
}

/// Where Mega MoE keeps the scale word of row `row`: within 128 rows, `32 * a + b` goes to
/// `4 * b + a`.
pub(super) const fn quarter_place(row: usize) -> usize {
    row / 128 * 128 + row % 32 * 4 + row % 128 / 32
}

/// Where Marlin keeps the scale of row `row`: within 64 rows, an 8 x 8 transposition, then the
/// middle two of every four exchanged.
pub(super) const fn marlin_place(row: usize) -> usize {
    let transposed = row % 8 * 8 + row % 64 / 8;
    let within_four = [0, 2, 1, 3][transposed % 4];
    row / 64 * 64 + transposed / 4 * 4 + within_four
}
