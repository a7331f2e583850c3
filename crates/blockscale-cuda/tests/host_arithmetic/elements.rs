//! Codes and scales to numbers and back.

use blockscale::{ScaleElement, bf16, f16};

use crate::inputs::{ELEMENTS, Random, all_of_16_bits, around_boundaries, number, specials};
use crate::shim::{assert_same, bytes_of, run, shim};

#[test]
fn every_code_of_every_element_is_the_same_number() {
    let Some(shim) = shim() else { return };
    for element in ELEMENTS {
        // One row of all bytes, one code a byte, under the scale 1.
        let codes: Vec<u8> = (0..=255).collect();
        let input = [&codes[..], &1.0_f32.to_le_bytes()].concat();
        let parameters = [number(element), 1, 2, 0, 1, 256, 1, 256, 0];
        let found = run(shim, "decode-f32", &parameters, &input);
        let masked = |code: u8| code & (u8::MAX >> (8 - element.bits()));
        let expected: Vec<f32> = codes
            .iter()
            .map(|code| element.decode(masked(*code)))
            .collect();
        assert_same(element.name(), &found, &bytes_of(&expected));
    }
}

#[test]
fn every_16_bit_number_and_every_boundary_rounds_to_the_same_code() {
    let Some(shim) = shim() else { return };
    for element in ELEMENTS {
        let mut random = Random::new(7);
        let mut numbers = all_of_16_bits();
        numbers.extend(around_boundaries(element));
        numbers.extend(specials());
        numbers.extend((0..100_000).map(|_| f32::from_bits(random.next() as u32)));
        let found = run(shim, "round", &[number(element)], &bytes_of(&numbers));
        // Each number's code by the definition, then by the arithmetic of the quick kernels.
        let expected: Vec<u8> = numbers
            .iter()
            .flat_map(|x| [element.encode(*x); 2])
            .collect();
        assert_same(element.name(), &found, &expected);
    }
}

#[test]
fn every_scale_of_up_to_16_bits_is_the_same_number() {
    let Some(shim) = shim() else { return };
    let bytes: Vec<u8> = (0..=255).collect();
    let words: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let kinds = [
        (ScaleElement::E4m3Fn, 0, &bytes),
        (ScaleElement::E8m0Fnu, 1, &bytes),
        (ScaleElement::Bf16, 3, &words),
        (ScaleElement::F16, 4, &words),
    ];
    for (element, kind, stored) in kinds {
        let found = run(shim, "load-scales", &[kind], stored);
        let scales = stored.chunks_exact(element.bytes());
        let expected: Vec<f32> = scales.map(|scale| element.decode(scale)).collect();
        assert_same(element.name(), &found, &bytes_of(&expected));
    }
}

#[test]
fn numbers_round_to_16_bits_as_in_the_core() {
    let Some(shim) = shim() else { return };
    let mut random = Random::new(11);
    let mut numbers = specials();
    // Both sides of each midpoint between neighbours of the type.
    for bits in (0..0x7f80_u32).step_by(7) {
        numbers.extend([0x7fff, 0x8000, 0x8001].map(|low| f32::from_bits(bits << 16 | low)));
    }
    for bits in (0..0x7c00_u16).step_by(3) {
        let (low, high) = (f16::from_bits(bits), f16::from_bits(bits + 1));
        let middle = f32::midpoint(low.to_f32(), high.to_f32().min(65_536.0)).to_bits();
        numbers.extend([middle - 1, middle, middle + 1].map(f32::from_bits));
    }
    numbers.extend((0..200_000).map(|_| f32::from_bits(random.next() as u32)));
    let to_bf16: Vec<u8> = numbers
        .iter()
        .flat_map(|x| bf16::from_f32(*x).to_le_bytes())
        .collect();
    let to_f16: Vec<u8> = numbers
        .iter()
        .flat_map(|x| f16::from_f32(*x).to_le_bytes())
        .collect();
    assert_same(
        "BF16",
        &run(shim, "narrow", &[0], &bytes_of(&numbers)),
        &to_bf16,
    );
    assert_same(
        "F16",
        &run(shim, "narrow", &[1], &bytes_of(&numbers)),
        &to_f16,
    );
}
