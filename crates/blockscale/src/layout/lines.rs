//! Scales into layouts that keep words of four bytes together, a word at a time.
//!
//! Such a layout holds lines: a word of each of some rows side by side, and the next words of these
//! rows a fixed number of bytes further on. It says which rows a line is made of; the loops then need
//! no arithmetic for each scale. [`scales`](super::scales) has the definition, by place, which also
//! finds what is wrong where something is.

use super::place::Placement;
use super::rows::{gate_up_eights_source, w13_source};
use super::{ScaleLayout, Stack};
use crate::arch::ByteKernels;
use crate::{ScaleElement, Shape};

/// Rows of a line at most.
const LINE: usize = 16;

/// Words of a row that are prepared at a time where they cannot be taken as they are.
const PART: usize = 64;

const CACHE_LINE: usize = 64;

/// Rows that are asked for before they are needed: those of a row of tiles.
const AHEAD: usize = 128;

/// Bytes of a row up to which they are asked for. The hardware sees by itself where longer ones go.
const SHORT_ROW: usize = 1024;

/// Bytes of all matrices from which on tiles, and columns, are written around the caches. Columns do
/// not stay in them even where they fit, since their lines lie a power of two apart.
const STREAM_TILES_FROM: usize = 8 << 20;
const STREAM_COLUMNS_FROM: usize = 512 << 10;

/// Words of [`PART`] for each row of a line.
type Scratch = [u8; LINE * PART * 4];

/// The lines of one matrix in a layout.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    layout: ScaleLayout,
    shape: Shape,
    stored: Stored,
    /// Rows of a line.
    rows: usize,
    /// Rows with their padding.
    padded_rows: usize,
    /// Bytes from a word of a row to the next.
    pitch: usize,
    /// Bytes from a row of tiles to the next.
    tile_pitch: usize,
    /// Bytes of a row as it is stored, without padding.
    row_bytes: usize,
    writing: Writing,
    kernels: ByteKernels,
}

/// How lines are written.
#[derive(Clone, Copy, PartialEq)]
enum Writing {
    Cached,
    /// Around the caches.
    Streaming,
}

/// What is stored of a scale.
#[derive(Clone, Copy, PartialEq)]
enum Stored {
    /// All of it.
    Same,
    /// The exponent of an F32.
    Exponent,
}

impl Lines {
    /// `None` where the layout is not made of lines. That what it lays out fits in memory was checked.
    pub(super) fn new(
        layout: ScaleLayout,
        stack: Stack,
        element: ScaleElement,
        place: &Placement,
        kernels: ByteKernels,
    ) -> Option<Self> {
        let Shape { rows, cols } = stack.shape;
        if cols == 0 {
            return None;
        }
        let stored = match (layout, element) {
            (ScaleLayout::DeepGemmF32, _) => Stored::Same,
            (_, ScaleElement::F32) => Stored::Exponent,
            _ => Stored::Same,
        };
        let column = rows.next_multiple_of(4) * 4;
        let (line, padded_rows, pitch) = match layout {
            ScaleLayout::Tiles128x4
            | ScaleLayout::TrtllmMoeW13(_)
            | ScaleLayout::TrtllmMoeW2(_)
            | ScaleLayout::TrtllmLinear(_) => (LINE, rows.next_multiple_of(128), 512),
            ScaleLayout::Tiles8x4 => (8, rows.next_multiple_of(8), 32),
            ScaleLayout::DeepGemmF32
            | ScaleLayout::DeepGemmPacked
            | ScaleLayout::MegaMoeL1
            | ScaleLayout::MegaMoeL2 => (LINE, rows.next_multiple_of(4), column),
            ScaleLayout::Linear
            | ScaleLayout::DeepGemmPackedBlocks
            | ScaleLayout::MarlinNvfp4
            | ScaleLayout::MarlinMxfp4 => return None,
        };
        let stored_bytes = match layout {
            ScaleLayout::DeepGemmF32 => 4,
            _ => 1,
        };
        let stream_from = match is_tiled(layout) {
            true => STREAM_TILES_FROM,
            false => STREAM_COLUMNS_FROM,
        };
        let writing = match place.len * stack.matrices >= stream_from {
            true => Writing::Streaming,
            false => Writing::Cached,
        };
        Some(Self {
            layout,
            shape: stack.shape,
            stored,
            rows: line,
            padded_rows,
            pitch,
            tile_pitch: place.pitch,
            row_bytes: cols * stored_bytes,
            writing,
            kernels,
        })
    }

    /// One matrix into its lines, padding included. `false`, and `out` of no use, where a scale has
    /// no exponent that says all of it.
    pub(super) fn permute(&self, linear: &[u8], out: &mut [u8]) -> bool {
        let mut scratch: Scratch = [0; LINE * PART * 4];
        self.all(|first, sources| self.fill_lines(first, sources, linear, &mut scratch, out))
    }

    /// One matrix out of its lines.
    pub(super) fn unpermute(&self, laid_out: &[u8], out: &mut [u8]) {
        let mut scratch: Scratch = [0; LINE * PART * 4];
        self.all(|first, sources| {
            self.empty_lines(first, sources, laid_out, &mut scratch, out);
            true
        });
    }

    /// Calls `visit` with the place of the first row of each group of lines, and the rows of a line in
    /// their order; a row that is not there is padding. Stops where it returns `false`.
    fn all(&self, mut visit: impl FnMut(usize, &[usize]) -> bool) -> bool {
        (0..self.padded_rows).step_by(self.rows).all(|first| {
            let mut sources = [0; LINE];
            let count = self.rows.min(self.padded_rows - first);
            for (i, source) in sources[..count].iter_mut().enumerate() {
                *source = self.source(first + i);
            }
            visit(first, &sources[..count])
        })
    }

    /// Bytes from the start of a matrix to the first word of the lines that begin at place `first`.
    fn offset(&self, first: usize) -> usize {
        if !is_tiled(self.layout) {
            return first * 4;
        }
        let tile = self.pitch / 4;
        first / tile * self.tile_pitch + first % tile * 4
    }

    /// The row whose word is at place `place`, counted along the lines.
    fn source(&self, place: usize) -> usize {
        // Quarters of 128 rows lie side by side, a word of each.
        let quartered = place / 128 * 128 + place % 4 * 32 + place % 128 / 4;
        match self.layout {
            ScaleLayout::Tiles128x4 | ScaleLayout::MegaMoeL2 => quartered,
            ScaleLayout::TrtllmMoeW13(shuffle) => w13_source(shuffle, self.shape.rows, quartered),
            ScaleLayout::TrtllmMoeW2(shuffle) | ScaleLayout::TrtllmLinear(shuffle) => {
                shuffle.source(quartered)
            }
            ScaleLayout::MegaMoeL1 => gate_up_eights_source(self.shape.rows, quartered),
            _ => place,
        }
    }

    /// Words that can be moved from one side to the other as they are, of lines of these rows.
    fn whole_words(&self, sources: &[usize]) -> usize {
        let complete = sources.iter().all(|&row| row < self.shape.rows);
        match self.stored {
            Stored::Same if complete => self.row_bytes / 4,
            _ => 0,
        }
    }

    fn fill_lines(
        &self,
        first: usize,
        sources: &[usize],
        linear: &[u8],
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> bool {
        self.fetch_linear(first, linear);
        if is_tiled(self.layout) && self.writing == Writing::Cached {
            self.fetch_laid_out(first, out);
        }
        let first = self.offset(first);
        let whole = self.whole_words(sources);
        if whole > 0 {
            let mut offsets = [0; LINE];
            for (offset, row) in offsets.iter_mut().zip(sources) {
                *offset = row * self.row_bytes;
            }
            let offsets = &offsets[..sources.len()];
            self.gather(linear, offsets, whole, &mut out[first..]);
        }
        self.parts(whole).all(|(word, count)| {
            for (part, &row) in scratch.chunks_exact_mut(PART * 4).zip(sources) {
                let len = (self.row_bytes - word * 4).min(count * 4);
                let (stored, padding) = part[..count * 4].split_at_mut(len);
                padding.fill(0);
                if row >= self.shape.rows {
                    stored.fill(0);
                } else if !self.store(linear, row, word * 4, stored) {
                    return false;
                }
            }
            let to = &mut out[first + word * self.pitch..];
            self.gather(scratch, scratch_rows(sources.len()), count, to);
            true
        })
    }

    fn empty_lines(
        &self,
        first: usize,
        sources: &[usize],
        laid_out: &[u8],
        scratch: &mut Scratch,
        out: &mut [u8],
    ) {
        self.fetch_linear(first, out);
        self.fetch_laid_out(first, laid_out);
        let first = self.offset(first);
        let whole = self.whole_words(sources);
        if whole > 0 {
            let mut offsets = [0; LINE];
            for (offset, row) in offsets.iter_mut().zip(sources) {
                *offset = row * self.row_bytes;
            }
            let offsets = &offsets[..sources.len()];
            self.kernels
                .scatter_words(&laid_out[first..], self.pitch, whole, out, offsets);
        }
        for (word, count) in self.parts(whole) {
            let from = &laid_out[first + word * self.pitch..];
            let rows = scratch_rows(sources.len());
            self.kernels
                .scatter_words(from, self.pitch, count, scratch, rows);
            let len = (self.row_bytes - word * 4).min(count * 4);
            for (part, &row) in scratch.chunks_exact(PART * 4).zip(sources) {
                if row < self.shape.rows {
                    self.restore(&part[..len], row, word * 4, out);
                }
            }
        }
    }

    fn gather(&self, from: &[u8], rows: &[usize], words: usize, to: &mut [u8]) {
        match self.writing {
            Writing::Cached => self.kernels.gather_words(from, rows, words, to, self.pitch),
            Writing::Streaming => self.kernels.stream_words(from, rows, words, to, self.pitch),
        }
    }

    /// Asks for the rows that come a while after those of the lines at place `first`.
    fn fetch_linear(&self, first: usize, linear: &[u8]) {
        let row = match self.stored {
            Stored::Same => self.row_bytes,
            Stored::Exponent => self.row_bytes * 4,
        };
        let (start, bytes) = ((first + AHEAD) * row, self.rows * row);
        if row <= SHORT_ROW && start < linear.len() {
            self.kernels
                .fetch_lines(&linear[start..], bytes.div_ceil(CACHE_LINE), CACHE_LINE);
        }
    }

    /// The same on the other side.
    fn fetch_laid_out(&self, first: usize, laid_out: &[u8]) {
        if !is_tiled(self.layout) {
            let words = self.row_bytes.div_ceil(4).min(PART);
            let next = self.offset(first) + 2 * CACHE_LINE;
            if next < laid_out.len() {
                self.kernels
                    .fetch_lines(&laid_out[next..], words, self.pitch);
            }
            return;
        }
        let row = laid_out.len() / self.padded_rows;
        let (start, bytes) = ((first + AHEAD) * row, self.rows * row);
        if row <= SHORT_ROW && start < laid_out.len() {
            self.kernels
                .fetch_lines(&laid_out[start..], bytes.div_ceil(CACHE_LINE), CACHE_LINE);
        }
    }

    /// The words from `whole` on, in parts: the first of each and their number.
    fn parts(&self, whole: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let words = self.row_bytes.div_ceil(4);
        (whole..words)
            .step_by(PART)
            .map(move |word| (word, PART.min(words - word)))
    }

    /// What is stored of the scales of a row, from byte `first` of what is stored on.
    fn store(&self, linear: &[u8], row: usize, first: usize, stored: &mut [u8]) -> bool {
        let at = row * self.row_bytes + first;
        match self.stored {
            Stored::Same => {
                stored.copy_from_slice(&linear[at..][..stored.len()]);
                true
            }
            Stored::Exponent => {
                let (values, _) = linear[at * 4..][..stored.len() * 4].as_chunks::<4>();
                self.kernels.narrow_powers(values, stored)
            }
        }
    }

    /// The inverse of [`store`](Self::store).
    fn restore(&self, stored: &[u8], row: usize, first: usize, linear: &mut [u8]) {
        let at = row * self.row_bytes + first;
        match self.stored {
            Stored::Same => linear[at..][..stored.len()].copy_from_slice(stored),
            Stored::Exponent => {
                let (values, _) = linear[at * 4..][..stored.len() * 4].as_chunks_mut::<4>();
                self.kernels.widen_powers(stored, values);
            }
        }
    }
}

const fn is_tiled(layout: ScaleLayout) -> bool {
    !matches!(
        layout,
        ScaleLayout::DeepGemmF32
            | ScaleLayout::DeepGemmPacked
            | ScaleLayout::MegaMoeL1
            | ScaleLayout::MegaMoeL2
    )
}

/// Where the rows of a [`Scratch`] begin.
fn scratch_rows(count: usize) -> &'static [usize] {
    const ROWS: [usize; LINE] = {
        let mut rows = [0; LINE];
        let mut row = 0;
        while row < LINE {
            rows[row] = row * PART * 4;
            row += 1;
        }
        rows
    };
    &ROWS[..count]
}
