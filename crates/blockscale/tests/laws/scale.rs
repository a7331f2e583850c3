//! Scales of blocks and tensors from their largest magnitudes.

use blockscale::encode::{ScaleRule, amax, choose_scales, global_scale, tensor_scale};
use blockscale::{Block, Format, GlobalScale, Shape, bf16};
use proptest::prelude::*;

use crate::common::{NAMED, any_amax_rule, any_values};

proptest! {
    #[test]
    fn the_global_scale_is_positive_and_finite(bits in 0_u32..0x7f80_0000) {
        for format in NAMED {
            let global = global_scale(&format, f32::from_bits(bits));
            prop_assert!(global.is_finite() && global > 0.0, "{format}: {global}");
        }
    }

    #[test]
    fn the_scale_of_a_tensor_can_be_had_from_its_amax(
        (format, shape, values) in any_values(),
        rule in any_amax_rule(),
    ) {
        let format = Format { block: Block::Tensor, global: GlobalScale::None, ..format };
        let mut scales = vec![0; format.scale.bytes()];
        choose_scales(&format, rule, shape, &values, 1.0, &mut scales).unwrap();
        prop_assert_eq!(format.scale.decode(&scales), tensor_scale(&format, rule, amax(&values)));
    }
}

#[test]
fn amax_is_over_finite_values_only() {
    assert_eq!(amax(&[1.0, -3.0, f32::NAN, f32::NEG_INFINITY, 2.0]), 3.0);
    assert_eq!(amax(&[f32::NAN, f32::INFINITY]), 0.0);
    assert_eq!(amax::<f32>(&[]), 0.0);
    assert_eq!(
        amax(&[bf16::from_f32(-0.5), bf16::INFINITY, bf16::NAN]),
        0.5
    );
    assert_eq!(amax(&[f32::MAX, f32::from_bits(1)]), f32::MAX);
}

#[test]
fn rceil_of_e2m1_steps_just_above_six() {
    let byte = |amax: f32| {
        let mut scales = [0];
        let shape = Shape::new(1, 1);
        choose_scales(
            &Format::MXFP4,
            ScaleRule::Rceil,
            shape,
            &[amax],
            1.0,
            &mut scales,
        )
        .unwrap();
        scales[0]
    };
    let inputs = [
        1.0, 1.5, 1.74, 1.75, 2.0, 3.0, 3.4, 3.5, 4.0, 6.0, 6.1, 7.0, 8.0,
    ];
    let expected = [
        125, 125, 126, 126, 126, 126, 127, 127, 127, 127, 128, 128, 128,
    ];
    assert_eq!(inputs.map(byte), expected);
    assert_eq!(byte(0.0), 0);
    assert_eq!(byte(f32::MAX), 253);
}
