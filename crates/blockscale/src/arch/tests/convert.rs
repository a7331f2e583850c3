//! Numbers of one type to another.

use std::vec::Vec;

use super::body::{Placed, Random, same_on_every_level};
use crate::arch::Kernels;
use crate::{Real, bf16, f16};

fn widens<T: Real>(case: &str, values: &[T], offset: usize) {
    let values = Placed::new(values, offset, T::from_f32(0.0));
    same_on_every_level((case, values.get().len(), offset), |level| {
        let mut out = Placed::filled(values.get().len(), offset, 0.25);
        Kernels::<T>::of(level).widen(values.get(), out.get_mut());
        out.into_vec().into_iter().map(f32::to_bits).collect()
    });
}

fn narrows<T: Real>(values: &[f32], offset: usize) {
    let values = Placed::new(values, offset, 0.0);
    same_on_every_level((size_of::<T>(), values.get().len(), offset), |level| {
        let mut out = Placed::filled(values.get().len(), offset, T::from_f32(0.25));
        Kernels::<T>::of(level).narrow(values.get(), out.get_mut());
        bytemuck::cast_slice::<T, u8>(&out.into_vec()).to_vec()
    });
}

#[test]
fn every_number_of_sixteen_bits_is_widened() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    widens("bf16", bytemuck::cast_slice::<u16, bf16>(&all), 0);
    widens("f16", bytemuck::cast_slice::<u16, f16>(&all), 0);
}

#[test]
fn numbers_are_rounded_on_both_sides_of_every_midpoint() {
    let around = |bits: u32| [bits.wrapping_sub(1), bits, bits.wrapping_add(1)].map(f32::from_bits);
    // Halves of the last place of BF16, and of F16, which has three more bits.
    let bf16s = (0..=u16::MAX).flat_map(|upper| around((u32::from(upper) << 16) | 0x8000));
    let f16s = (0..1 << 19)
        .flat_map(|upper| around((upper << 13) | 0x1000))
        .step_by(7);
    let values: Vec<f32> = bf16s.chain(f16s).collect();
    narrows::<bf16>(&values, 0);
    narrows::<f16>(&values, 0);
    narrows::<f32>(&values, 0);
}

#[test]
fn every_length_and_alignment() {
    let mut random = Random(3);
    for len in 0..100 {
        let values: Vec<f32> = (0..len)
            .map(|_| f32::from_bits(random.bits() as u32))
            .collect();
        let offset = random.below(33);
        narrows::<bf16>(&values, offset);
        narrows::<f16>(&values, offset);
        narrows::<f32>(&values, offset);
        widens("f32", &values, offset);
        let words: Vec<u16> = (0..len).map(|_| random.bits() as u16).collect();
        widens("bf16", bytemuck::cast_slice::<u16, bf16>(&words), offset);
        widens("f16", bytemuck::cast_slice::<u16, f16>(&words), offset);
    }
}
