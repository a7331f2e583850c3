//! The shortcuts of the kernels that keep up with memory, each against its definition.

use blockscale::encode::{ScaleRule, choose_scales};
use blockscale::{Element, Format, Shape};

use crate::inputs::Random;
use crate::shim::{assert_same, bytes_of, numbers_of, run, shim};

/// Divisors whose significands are near those that a quotient by multiplication could get wrong, and others.
fn divisors(random: &mut Random) -> Vec<f32> {
    let near = [0, 0x20_0000, 0x40_0000, 0x60_0000, 0x7f_ffff].into_iter();
    let near = near.flat_map(|at: u32| {
        (0..4).flat_map(move |step| [at.saturating_sub(step), (at + step) & 0x7f_ffff])
    });
    let some = (0..3_000).map(|_| random.next() as u32 & 0x7f_ffff);
    let significands: Vec<u32> = near.chain(some).collect();
    let exponents = [47, 90, 127, 140, 227];
    significands
        .iter()
        .enumerate()
        .map(|(i, bits)| f32::from_bits(exponents[i % exponents.len()] << 23 | bits))
        .chain([
            1.0,
            6.0,
            448.0,
            0.0,
            f32::NAN,
            f32::MIN_POSITIVE / 4.0,
            1e38,
        ])
        .collect()
}

#[test]
fn quick_quotients_round_to_the_codes_of_true_ones() {
    let Some(shim) = shim() else { return };
    let mut random = Random::new(3);
    let mut pairs = Vec::new();
    for by in divisors(&mut random) {
        // What divides to a value or a midpoint of either element, which have five significant bits at most, and neighbours.
        for boundary in 16..32_u8 {
            let exponent = [-10, -3, 0, 1, 4][random.below(5) as usize];
            let x = f32::from(boundary) * 2_f32.powi(exponent) * by;
            pairs
                .extend((-2..=2).flat_map(|step| {
                    [f32::from_bits(x.to_bits().saturating_add_signed(step)), by]
                }));
        }
        pairs.extend([-0.0, by, 0.0, by, random.weight(), by]);
    }
    let quotients = numbers_of(&run(shim, "divide", &[], &bytes_of(&pairs)));
    for (pair, quotients) in pairs.chunks_exact(2).zip(quotients.chunks_exact(2)) {
        let expected = pair[0] / pair[1];
        assert_eq!(quotients[0].to_bits(), expected.to_bits(), "{pair:?}");
        for element in [Element::E2m1, Element::E4m3Fn] {
            assert_eq!(
                element.encode(quotients[1]),
                element.encode(expected),
                "{pair:?}"
            );
        }
    }
}

#[test]
fn eight_e2m1_codes_a_word_are_their_values_maxima_and_themselves() {
    let Some(shim) = shim() else { return };
    let mut random = Random::new(5);
    let pairs =
        (0..=u16::MAX).map(|low| u32::from(low) << 16 | u32::from(low).rotate_left(5) & 0xffff);
    let words: Vec<u32> = pairs
        .chain((0..50_000).map(|_| random.next() as u32))
        .collect();
    let input: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let found = run(shim, "words-of-e2m1", &[], &input);
    let code = |word: u32, i: u32| (word >> (4 * i) & 0xf) as u8;
    let mut expected = Vec::new();
    for (i, &word) in words.iter().enumerate() {
        let next = words[(i + 1) % words.len()];
        expected.extend((0..8).map(|k| Element::E2m1.decode(code(word, k)).to_bits()));
        let largest = (0..8)
            .flat_map(|k| [code(word, k), code(next, k)])
            .map(|code| code & 7)
            .max();
        expected.push(u32::from(largest.unwrap_or(0)));
        expected.push(word);
    }
    let expected: Vec<u8> = expected
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    assert_same("words", &found, &expected);
}

#[test]
fn every_scale_of_nvfp4_combines_with_that_of_the_tensor_as_the_definition_has_it() {
    let Some(shim) = shim() else { return };
    let mut random = Random::new(13);
    let codes: Vec<u8> = (0..=255).collect();
    let mut globals = vec![
        1.0,
        0.0,
        -0.5,
        f32::NAN,
        f32::INFINITY,
        1e-30,
        3e38,
        f32::from_bits(5),
        1.999_999_9,
    ];
    globals.extend((0..50).map(|_| f32::from_bits(random.next() as u32 & 0x7fff_ffff)));
    globals.extend((0..50).map(|_| random.weight().abs() * 1e-3));
    for kind in 0..3 {
        for global in &globals {
            let found = run(
                shim,
                "two-levels",
                &[kind, u64::from(global.to_bits())],
                &codes,
            );
            for (scales, code) in numbers_of(&found).chunks_exact(2).zip(&codes) {
                let scale = Element::E4m3Fn.decode(*code);
                let expected = [scale, scale * global, scale / global][kind as usize];
                let same =
                    |x: f32| x.to_bits() == expected.to_bits() || (x.is_nan() && expected.is_nan());
                assert!(
                    scales.iter().all(|x| same(*x)),
                    "{kind} {code} {global}: {scales:?}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn e2m1_under_one_scale_becomes_e4m3_under_a_power_of_two() {
    let Some(shim) = shim() else { return };
    let mut random = Random::new(17);
    let mut pairs = Vec::new();
    for _ in 0..20_000 {
        let power = 2_f32.powi(random.below(60) as i32 - 40);
        let near = f32::from_bits(random.next() as u32 & 0x007f_ffff | 0x3f80_0000);
        let scale = near * power * 2_f32.powi(random.below(30) as i32 - 15);
        pairs.extend([if random.below(4) == 0 { -scale } else { scale }, power]);
    }
    let found = run(shim, "e2m1-as-e4m3", &[], &bytes_of(&pairs));
    let expected: Vec<u8> = pairs
        .chunks_exact(2)
        .flat_map(|pair| {
            (0..16)
                .map(|code| Element::E4m3Fn.encode(Element::E2m1.decode(code) * pair[0] / pair[1]))
        })
        .collect();
    assert_same("codes", &found, &expected);
}

#[test]
fn the_carry_into_the_exponent_is_the_smallest_power_of_two_that_clips_nothing() {
    let Some(shim) = shim() else { return };
    let exponents = (0..255_u32).flat_map(|exponent| {
        let edges = [
            0, 1, 2, 0x3f_ffff, 0x40_0000, 0x40_0001, 0x5f_ffff, 0x60_0000, 0x60_0001, 0x7f_ffff,
        ];
        edges.map(|fraction| f32::from_bits(exponent << 23 | fraction))
    });
    let amaxes: Vec<f32> = exponents.collect();
    for (format, element) in [(Format::MXFP4, 0), (Format::MXFP8_E4M3, 3)] {
        let found = run(shim, "amax-to-power", &[element], &bytes_of(&amaxes));
        let mut scales = vec![0; amaxes.len()];
        // A row of one number each.
        let shape = Shape::new(amaxes.len(), 1);
        choose_scales(&format, ScaleRule::Rceil, shape, &amaxes, 1.0, &mut scales).unwrap();
        let expected: Vec<u8> = scales.iter().flat_map(|scale| [*scale, 1]).collect();
        assert_same(&format.to_string(), &found, &expected);
    }
}
