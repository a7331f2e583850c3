//! What goes wrong in the field has to show in the products. Errors are relative, in the Frobenius
//! norm.

use blockscale::decode::Rows;
use blockscale::element::E8m0Fnu;
use blockscale::layout::{LayoutError, ScaleLayout, Stack};
use blockscale::runtime::{Kernel, Operand};
use blockscale::transcode::round_scales_up_to_pow2;
use blockscale::{Format, ScaleElement, Shape};

use crate::common::permute;
use crate::weights::{
    Baked, Plain, activation_format, activation_scales, plain_products, products, relative_error,
};

struct GroupedProduct {
    activations: Plain,
    activation_scales: Vec<u8>,
    weight: Plain,
}

impl GroupedProduct {
    const KERNEL: Kernel = Kernel::DeepGemmSm100;

    fn new() -> Self {
        let (groups, shape) = (2, Shape::new(512, 1024));
        let format = activation_format(Self::KERNEL);
        let activations = Plain::random(format, groups, Shape::new(3, shape.cols), 5);
        Self {
            activation_scales: activation_scales(Self::KERNEL, &activations),
            activations,
            weight: Plain::random(Self::KERNEL.format(), groups, shape, 6),
        }
    }

    /// The kernel's products of a weight whose memory may be wrong.
    fn multiply(&self, baked: &Baked) -> Vec<f64> {
        let shape = self.activations.shape;
        let a = Operand::activations(
            Self::KERNEL,
            2,
            shape,
            &self.activations.codes,
            &self.activation_scales,
            &[],
        )
        .unwrap();
        let b = baked.weight(Self::KERNEL, &self.weight);
        products(&a, &b, [2, shape.rows, self.weight.shape.rows])
    }

    fn error_of(&self, weight: &Plain) -> f64 {
        let right = plain_products(&self.activations, &self.weight);
        relative_error(&self.multiply(&weight.bake(Self::KERNEL).unwrap()), &right)
    }
}

#[test]
fn misplaced_block_scales_show() {
    let product = GroupedProduct::new();
    assert_eq!(product.error_of(&product.weight), 0.0);
    let with_scales = |scales: Vec<u8>| Plain {
        scales,
        ..product.weight.clone()
    };
    let scales = &product.weight.scales;

    let mut one_block_off = scales.clone();
    one_block_off.rotate_right(1);
    assert!(product.error_of(&with_scales(one_block_off)) > 0.5);

    let mut groups_exchanged = scales.clone();
    groups_exchanged.rotate_right(scales.len() / 2);
    assert!(product.error_of(&with_scales(groups_exchanged)) > 0.5);

    // The grid is 4 x 8; written column by column it still has the right size.
    let transposed = (0..64).map(|i| scales[i / 32 * 32 + i % 4 * 8 + i % 32 / 4]);
    assert!(product.error_of(&with_scales(transposed.collect())) > 0.5);

    let all_ones = vec![127; scales.len()];
    assert!(product.error_of(&with_scales(all_ones)) > 50.0);
}

#[test]
fn packed_bytes_in_the_other_order_show() {
    let product = GroupedProduct::new();
    let mut baked = product.weight.bake(GroupedProduct::KERNEL).unwrap();
    for word in baked.scales.as_chunks_mut::<4>().0 {
        word.reverse();
    }
    let right = plain_products(&product.activations, &product.weight);
    assert!(relative_error(&product.multiply(&baked), &right) > 0.5);
}

/// F32 scales become powers of two by requantising; rounding the scales alone leaves each block up
/// to twice too large.
#[test]
fn scales_rounded_up_over_codes_that_were_kept_show() {
    let mut product = GroupedProduct::new();
    let shape = product.weight.shape;
    let source = Plain::random(Format::FP8_BLOCK, 2, shape, 7);
    let (code_bytes, scale_count) = (shape.len().unwrap(), 32);
    let mut requantised = Plain {
        format: Format::FP8_BLOCK_UE8M0,
        codes: vec![0; source.codes.len()],
        scales: vec![0; 64],
        ..source.clone()
    };
    for i in 0..2 {
        let rows = Rows {
            codes: &source.codes[i * code_bytes..][..code_bytes],
            scales: &source.scales[i * scale_count * 4..][..scale_count * 4],
            global: 1.0,
        };
        round_scales_up_to_pow2(
            &Format::FP8_BLOCK,
            &Format::FP8_BLOCK_UE8M0,
            shape,
            rows,
            &mut requantised.codes[i * code_bytes..][..code_bytes],
            &mut requantised.scales[i * scale_count..][..scale_count],
        )
        .unwrap();
    }
    let codes_kept = Plain {
        codes: source.codes.clone(),
        ..requantised.clone()
    };
    product.weight = source;
    assert!(product.error_of(&requantised) < 0.05);
    assert!(product.error_of(&codes_kept) > 0.2);
}

#[test]
fn f32_scales_with_mantissa_bits_never_reach_packed_words() {
    let plain = Plain::random(Format::FP8_BLOCK, 1, Shape::new(128, 128), 8);
    let error = plain.bake(Kernel::DeepGemmSm100).map(|_| ()).unwrap_err();
    assert!(matches!(error, LayoutError::NotPowerOfTwo { index: 0, .. }));
    // Powers of two do, and mean the same.
    let powers = Plain {
        scales: 0.25_f32.to_le_bytes().to_vec(),
        ..plain
    };
    let baked = powers.bake(Kernel::DeepGemmSm100).unwrap();
    assert_eq!(E8m0Fnu::from_bits(baked.scales[0]).to_f32(), 0.25);
}

#[test]
fn nvfp4_in_the_wrong_order_shows() {
    let kernel = Kernel::TrtllmMoeW13;
    let shape = Shape::new(256, 64);
    let plain = Plain::random(Format::NVFP4, 1, shape, 9);
    let right = plain_products(&plain, &plain);
    let activations = Operand::activations(
        kernel,
        1,
        shape,
        &plain.codes,
        &plain.scales,
        &plain.globals,
    )
    .unwrap();
    let error_of = |codes: &[u8], scales: &[u8]| {
        let weight = Operand::weight(kernel, 1, shape, codes, scales, &plain.globals).unwrap();
        relative_error(&products(&activations, &weight, [1, 256, 256]), &right)
    };
    let baked = plain.bake(kernel).unwrap();
    assert_eq!(error_of(&baked.codes, &baked.scales), 0.0);

    // Scales as the checkpoint has them.
    assert!(error_of(&baked.codes, &plain.scales) > 0.3);
    // Scales tiled, but for rows that were never shuffled.
    let stack = Stack::single(Shape::new(256, 4));
    let tiled = permute(
        ScaleLayout::Tiles128x4,
        stack,
        ScaleElement::E4m3Fn,
        &plain.scales,
    );
    assert!(error_of(&baked.codes, &tiled.unwrap()) > 0.3);
    // The order of the second weight: no halves exchanged, none in turn.
    let w2 = plain.bake(Kernel::TrtllmMoeW2).unwrap();
    assert!(error_of(&w2.codes, &w2.scales) > 0.5);
    // Tiled a second time by a loader that does not know.
    let twice = permute(
        ScaleLayout::Tiles128x4,
        stack,
        ScaleElement::E4m3Fn,
        &baked.scales,
    );
    assert!(error_of(&baked.codes, &twice.unwrap()) > 0.3);
}
