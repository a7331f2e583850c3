//! Numbers as integers in the same order, the two zeros equal: `order` of `kernels/wgsl/arith.wgsl`.

const SIGN: u32 = 1 << 31;

/// The place of a number that is not NaN.
pub(crate) fn order(number: f32) -> u32 {
    let bits = number.to_bits();
    match bits {
        0 | SIGN => SIGN,
        _ if bits & SIGN != 0 => !bits,
        _ => bits | SIGN,
    }
}

/// The number at a place.
pub(crate) fn number_at(place: u32) -> f32 {
    f32::from_bits(if place & SIGN != 0 {
        place & !SIGN
    } else {
        !place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_the_numbers() {
        let numbers = [
            f32::NEG_INFINITY,
            f32::MIN,
            -1.0,
            -f32::MIN_POSITIVE,
            -1e-45,
            0.0,
            1e-45,
            1.0,
            f32::INFINITY,
        ];
        assert!(numbers.is_sorted_by_key(|&number| order(number)));
        for number in numbers {
            assert_eq!(number_at(order(number)).to_bits(), number.to_bits());
        }
        assert_eq!(order(-0.0), order(0.0));
    }
}
