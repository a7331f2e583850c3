//! Scales of a byte, four to a word, between rows and columns of words.

/// Copies `words` 32-bit words of each of some rows, which start at the offsets `rows` of `from`, to
/// columns `pitch` bytes apart in `to`: word `w` of the row of number `i` to `w * pitch + 4 * i`.
///
/// There are 8 or 16 rows.
pub(crate) fn gather_words(from: &[u8], rows: &[usize], words: usize, to: &mut [u8], pitch: usize) {
    for (i, &row) in rows.iter().enumerate() {
        let (words, _) = from[row..][..words * 4].as_chunks::<4>();
        for (w, word) in words.iter().enumerate() {
            to[w * pitch + 4 * i..][..4].copy_from_slice(word);
        }
    }
}

/// Says that the cache lines at the start of `from` and then every `pitch` bytes, `lines` of them, are
/// wanted soon; some may lie outside of it.
pub(crate) fn fetch_lines(_from: &[u8], _lines: usize, _pitch: usize) {}

/// Copies columns of words back to rows: the inverse of [`gather_words`].
pub(crate) fn scatter_words(
    from: &[u8],
    pitch: usize,
    words: usize,
    to: &mut [u8],
    rows: &[usize],
) {
    for (i, &row) in rows.iter().enumerate() {
        let (words, _) = to[row..][..words * 4].as_chunks_mut::<4>();
        for (w, word) in words.iter_mut().enumerate() {
            word.copy_from_slice(&from[w * pitch + 4 * i..][..4]);
        }
    }
}

/// The exponents of F32 that are powers of two, as E8M0. `false`, and `to` of no use, where one is
/// not a normal power of two.
#[inline(always)]
pub(crate) fn narrow_powers(from: &[[u8; 4]], to: &mut [u8]) -> bool {
    let mut wrong = 0_u32;
    for (to, from) in to.iter_mut().zip(from) {
        let bits = u32::from_le_bytes(*from);
        // Below the smallest normal number and above the largest, less one leaves the range.
        wrong |= (bits & 0x807f_ffff) | u32::from((bits >> 23).wrapping_sub(1) >= 254);
        *to = (bits >> 23) as u8;
    }
    wrong == 0
}

/// E8M0 to F32.
#[inline(always)]
pub(crate) fn widen_powers(from: &[u8], to: &mut [[u8; 4]]) {
    for (to, &from) in to.iter_mut().zip(from) {
        let normal = u32::from(from) << 23;
        let bits = match from {
            0 => 1 << 22,
            255 => f32::NAN.to_bits(),
            _ => normal,
        };
        *to = bits.to_le_bytes();
    }
}
