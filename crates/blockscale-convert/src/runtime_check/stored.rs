//! Bytes of an operand as the checkpoint holds them, baked, and read as a kernel reads them.

use blockscale::decode::{Rows, decode_rows};
use blockscale::layout::LayoutError;
use blockscale::runtime::{Kernel, Operand, Source};
use blockscale::{Format, LenMismatch, ScaleElement, Shape};
use rayon::prelude::*;

use crate::weights::{codes_of, has_global, scale_range};

/// A row of a band: which of its matrices, and which row of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) matrix: usize,
    pub(super) row: usize,
}

/// The bytes of a band as the checkpoint holds them: matrix by matrix, member by member.
pub(super) struct Stored {
    pub(super) kernel: Kernel,
    pub(super) format: Format,
    pub(super) matrices: usize,
    pub(super) members: usize,
    /// Rows and columns of a member in a matrix.
    pub(super) member: Shape,
    pub(super) codes: Vec<u8>,
    pub(super) scales: Vec<u8>,
    /// One for each member of each matrix.
    pub(super) globals: Vec<f32>,
}

/// The bytes of a band as a kernel is given them.
pub(super) struct Memory {
    pub(super) codes: Vec<u8>,
    pub(super) scales: Vec<u8>,
    /// One for each matrix.
    pub(super) globals: Vec<f32>,
}

/// An element that is not read as it is stored.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) place: Place,
    pub(super) col: usize,
    pub(super) stored: f32,
    pub(super) read: f32,
}

impl Stored {
    /// Rows and columns of a matrix.
    fn shape(&self) -> Shape {
        Shape::new(self.member.rows * self.members, self.member.cols)
    }

    /// What the runtime makes of it after loading.
    pub(super) fn bake(&self) -> Result<Memory, LayoutError> {
        let shape = self.shape();
        let mut memory = Memory {
            codes: vec![0; self.kernel.baked_code_bytes(self.matrices, shape)?],
            scales: vec![0; self.kernel.baked_scale_bytes(self.matrices, shape)?],
            globals: Vec::new(),
        };
        if has_global(&self.format) {
            // The kernel has one for all rows of a matrix; runtimes give it that of the gate.
            let of_first_member = self.globals.iter().step_by(self.members);
            memory.globals = of_first_member.copied().collect();
        }
        let widened: Vec<u8>;
        let (element, scales) = match (self.kernel, self.format.scale) {
            (Kernel::DeepGemmSm90, element @ ScaleElement::E8m0Fnu) => {
                let wide = |code: &u8| element.decode(&[*code]).to_le_bytes();
                widened = self.scales.iter().flat_map(wide).collect();
                (ScaleElement::F32, widened.as_slice())
            }
            (_, element) => (element, self.scales.as_slice()),
        };
        let source = Source {
            codes: &self.codes,
            element,
            scales,
        };
        let (codes, scales) = (&mut memory.codes, &mut memory.scales);
        self.kernel
            .bake(self.matrices, shape, source, codes, scales)?;
        Ok(memory)
    }

    /// The first element of `places` that the kernel does not read as stored.
    pub(super) fn first_difference(
        &self,
        memory: &Memory,
        places: &[Place],
    ) -> Result<Option<Difference>, LayoutError> {
        let operand = Operand::weight(
            self.kernel,
            self.matrices,
            self.shape(),
            &memory.codes,
            &memory.scales,
            &memory.globals,
        )?;
        let first = places
            .par_iter()
            .find_map_first(|&place| self.difference_in_row(&operand, place).transpose());
        Ok(first.transpose()?)
    }

    fn difference_in_row(
        &self,
        operand: &Operand<'_>,
        place: Place,
    ) -> Result<Option<Difference>, LenMismatch> {
        let read = |col| {
            let value = operand.value_at(place.matrix, place.row, col);
            value.unwrap_or(f32::NAN)
        };
        // NaN has many bit patterns, and arithmetic may return any of them.
        let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let stored = self.decode(place)?.into_iter().enumerate();
        Ok(stored
            .map(|(col, stored)| (col, stored, read(col)))
            .find(|&(_, stored, read)| !same(stored, read))
            .map(|(col, stored, read)| Difference {
                place,
                col,
                stored,
                read,
            }))
    }

    /// A row as the checkpoint has it.
    fn decode(&self, place: Place) -> Result<Vec<f32>, LenMismatch> {
        let Shape { rows, cols } = self.member;
        let run = place.matrix * self.members + place.row / rows;
        let row = place.row % rows;
        let codes = run * rows + row;
        let rows = Rows {
            codes: &self.codes[codes_of(&self.format, cols, &(codes..codes + 1))],
            scales: &self.scales[scale_range(&self.format, self.member, run, &(row..row + 1))],
            global: self.globals[run],
        };
        let mut values = vec![0.0; cols];
        decode_rows(&self.format, Shape::new(1, cols), rows, &mut values)?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrices without a zero code or scale, of a shape that has no padding in the layout.
    fn stored(kernel: Kernel, matrices: usize) -> Stored {
        let format = kernel.format();
        let cols = if has_global(&format) { 64 } else { 512 };
        let member = Shape::new(128, cols);
        let mut state = 1_u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as u8
        };
        let codes = format.code_bytes(member).unwrap() * matrices;
        let scales = format.scale_shape(member).len().unwrap() * matrices;
        let mut scale = |_| match format.scale {
            ScaleElement::F32 => f32::from(random() | 1).to_le_bytes().to_vec(),
            _ => vec![0x40 | random() & 0x3f],
        };
        let scales = (0..scales).flat_map(&mut scale).collect();
        Stored {
            kernel,
            format,
            matrices,
            members: 1,
            member,
            codes: (0..codes).map(|i| (i * 37 % 101) as u8 | 0x11).collect(),
            scales,
            globals: vec![0.5; matrices],
        }
    }

    fn every_place(stored: &Stored) -> Vec<Place> {
        let rows = |matrix| (0..stored.shape().rows).map(move |row| Place { matrix, row });
        (0..stored.matrices).flat_map(rows).collect()
    }

    fn is_found(stored: &Stored, memory: &Memory) -> bool {
        let found = stored.first_difference(memory, &every_place(stored));
        found.unwrap().is_some()
    }

    #[test]
    fn damage_to_any_scale_byte_in_the_memory_of_a_kernel_is_found() {
        for kernel in Kernel::ALL {
            let stored = stored(kernel, 1);
            let mut memory = stored.bake().unwrap();
            assert!(!is_found(&stored, &memory), "{kernel:?}");
            for i in 0..memory.scales.len() {
                memory.scales[i] ^= 1;
                assert!(is_found(&stored, &memory), "{kernel:?} byte {i}");
                memory.scales[i] ^= 1;
            }
        }
    }

    #[test]
    fn the_first_difference_names_row_column_and_both_values() {
        let stored = stored(Kernel::DeepGemmSm90, 2);
        let mut memory = stored.bake().unwrap();
        let at = 128 * 512 + 5 * 512 + 300;
        memory.codes[at] ^= 0x80;
        let found = stored
            .first_difference(&memory, &every_place(&stored))
            .unwrap()
            .unwrap();
        assert_eq!((found.place, found.col), (Place { matrix: 1, row: 5 }, 300));
        assert_eq!(found.read, -found.stored);
        assert!(found.stored != 0.0);
    }

    #[test]
    fn scales_left_in_the_order_of_the_checkpoint_are_found() {
        for kernel in Kernel::ALL
            .into_iter()
            .filter(|kernel| kernel.format() == Format::NVFP4)
        {
            let stored = stored(kernel, 2);
            let mut memory = stored.bake().unwrap();
            memory.scales.copy_from_slice(&stored.scales);
            assert!(is_found(&stored, &memory), "{kernel:?}");
        }
    }

    #[test]
    fn exchanged_matrices_are_found() {
        for kernel in Kernel::ALL {
            let stored = stored(kernel, 2);
            let mut memory = stored.bake().unwrap();
            let half = memory.scales.len() / 2;
            memory.scales.rotate_left(half);
            assert!(is_found(&stored, &memory), "{kernel:?}");
        }
    }
}
