//! Codes of 1 to 8 bits in a stream of bytes, the first code in the lowest bits.

/// Code `index` of those that lie `width` bits apart.
pub(crate) fn get(stream: &[u8], width: usize, index: usize) -> u8 {
    let (byte, shift) = place(width, index);
    let next = stream.get(byte + 1).copied().unwrap_or(0);
    let window = u16::from_le_bytes([stream[byte], next]);
    (window >> shift) as u8 & (u8::MAX >> (8 - width))
}

/// Writes code `index`, of at most `width` bits, where zeros are.
pub(crate) fn put(stream: &mut [u8], width: usize, index: usize, code: u8) {
    let (byte, shift) = place(width, index);
    let [low, high] = (u16::from(code) << shift).to_le_bytes();
    stream[byte] |= low;
    if high != 0 {
        stream[byte + 1] |= high;
    }
}

/// Byte and bit where code `index` starts. Eight codes at a time, lest the number of bits overflow.
fn place(width: usize, index: usize) -> (usize, usize) {
    let bit = index % 8 * width;
    (index / 8 * width + bit / 8, bit % 8)
}
