//! Weights to the codes and scales that peers store for them, byte for byte, each under the scheme
//! that is named for the peer.

mod fp8;
mod mx;
mod nvfp4;

use std::ops::Range;

use blockscale::encode::{Scheme, amax, encode_rows_with, global_scale_with};
use blockscale::{Format, Real, Shape, bf16};
use blockscale_tests::{Dtype, Tensor};

use crate::coverage;
use crate::vectors::{Fields, Matrix, Stored, Vectors, stack};

/// All tests of this module.
pub(crate) fn tests() -> impl Iterator<Item = &'static fn()> {
    fp8::TESTS.iter().chain(&mx::TESTS).chain(&nvfp4::TESTS)
}

/// The matrices of an input, each of its own type.
enum Input {
    F32(Vec<f32>),
    Bf16(Vec<bf16>),
}

impl Input {
    fn of(tensor: &Tensor) -> (Vec<Self>, Shape) {
        let (matrices, shape) = stack(tensor);
        let len = shape.len().unwrap();
        let matrix = |index: usize| match tensor.dtype {
            Dtype::BF16 => {
                let bits = &tensor.bf16_bits()[index * len..][..len];
                Self::Bf16(bits.iter().copied().map(bf16::from_bits).collect())
            }
            _ => Self::F32(tensor.f32s()[index * len..][..len].to_vec()),
        };
        ((0..matrices).map(matrix).collect(), shape)
    }

    /// The same numbers in F32, as peers were given them whose name ends so.
    fn widened(self) -> Self {
        match self {
            Self::Bf16(values) => Self::F32(values.into_iter().map(bf16::to_f32).collect()),
            wide @ Self::F32(_) => wide,
        }
    }

    /// The largest magnitude of some of the numbers.
    fn amax_of(&self, range: Range<usize>) -> f32 {
        match self {
            Self::F32(values) => amax(&values[range]),
            Self::Bf16(values) => amax(&values[range]),
        }
    }

    /// The scale of the tensor that a scheme gives these numbers.
    fn global(&self, format: &Format, scheme: &Scheme) -> f32 {
        match self {
            Self::F32(values) => global_scale_with(format, scheme, amax(values)),
            Self::Bf16(values) => global_scale_with(format, scheme, bf16::from_f32(amax(values))),
        }
    }

    fn encode(&self, format: &Format, scheme: &Scheme, shape: Shape, global: f32) -> Encoded {
        match self {
            Self::F32(values) => Encoded::new(format, scheme, shape, values, global),
            Self::Bf16(values) => Encoded::new(format, scheme, shape, values, global),
        }
    }
}

struct Encoded {
    codes: Vec<u8>,
    scales: Vec<u8>,
}

impl Encoded {
    fn new<T: Real>(
        format: &Format,
        scheme: &Scheme,
        shape: Shape,
        values: &[T],
        global: f32,
    ) -> Self {
        let mut codes = vec![0; format.code_bytes(shape).unwrap()];
        let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
        encode_rows_with(
            format,
            scheme,
            shape,
            values,
            global,
            &mut codes,
            &mut scales,
        )
        .unwrap();
        Self { codes, scales }
    }
}

/// What one peer stores, and how to come to the same.
struct Peer<'a> {
    file: &'a str,
    peer: &'a str,
    format: Format,
    scheme: Scheme,
    fields: &'a Fields,
    /// Where the global scale comes from.
    global: Global,
}

#[derive(Clone, Copy, PartialEq)]
enum Global {
    /// From the weight, as the scheme has it.
    OfWeight,
    /// It is stored and was given to the peer, or there is none.
    Given,
}

impl Peer<'_> {
    /// Compares everything in every case that `takes`, and returns how many matrices that were.
    fn check(&self, takes: impl Fn(&str) -> bool) -> usize {
        let mut compared = 0;
        self.each_matrix(takes, |what, format, input, shape, stored| {
            if self.global == Global::OfWeight {
                let global = input.global(format, &self.scheme);
                assert_eq!(global, stored.global, "{what} global");
            }
            let encoded = input.encode(format, &self.scheme, shape, stored.global);
            assert_same(&encoded.scales, stored.scales, &format!("{what} scales"));
            assert_same(&encoded.codes, stored.codes, &format!("{what} codes"));
            compared += 1;
        });
        compared
    }

    /// Calls `check` for each matrix of each case that `takes`, with the format that has the type of
    /// scale that is stored.
    fn each_matrix(
        &self,
        takes: impl Fn(&str) -> bool,
        mut check: impl FnMut(&str, &Format, Input, Shape, &Matrix<'_>),
    ) {
        let (inputs, vectors) = (Vectors::read("inputs"), Vectors::read(self.file));
        for case in vectors.cases(self.peer, self.fields.codes) {
            if !takes(case) {
                continue;
            }
            coverage::encoded(self.file, case, self.peer);
            let (matrices, shape) = Input::of(inputs.get(case));
            let stored = Stored::new(&vectors, case, self.peer, self.fields);
            let format = stored.format(self.format);
            for (index, input) in matrices.into_iter().enumerate() {
                let what = format!("{case}.{} {index}", self.peer);
                let input = match self.peer.ends_with("_f32") {
                    true => input.widened(),
                    false => input,
                };
                let matrix = stored.matrix(&format, shape, index);
                check(&what, &format, input, shape, &matrix);
            }
        }
    }
}

#[track_caller]
fn assert_same(ours: &[u8], theirs: &[u8], what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    if let Some(at) = ours
        .iter()
        .zip(theirs)
        .position(|(ours, theirs)| ours != theirs)
    {
        panic!(
            "{what}: byte {at} is {:#04x}, expected {:#04x}",
            ours[at], theirs[at]
        );
    }
}

fn every(_: &str) -> bool {
    true
}

/// A weight of zeros, for which some peers give NaN.
fn but_zeros(case: &str) -> bool {
    case != "allzero"
}
