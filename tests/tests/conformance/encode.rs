//! Weights to the codes and scales that peers store for them, byte for byte, each under the scheme
//! that is named for the peer.

mod fp8;
mod mx;
mod nvfp4;

use blockscale::encode::{Scheme, amax, encode_codes_with, encode_rows_with, global_scale_with};
use blockscale::{Format, Real, Shape, bf16};
use blockscale_tests::{Dtype, Tensor};

use crate::vectors::{Fields, Matrix, Stored, Vectors, stack};

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

    fn amax(&self) -> f32 {
        match self {
            Self::F32(values) => amax(values),
            Self::Bf16(values) => amax(values),
        }
    }

    fn encode(&self, format: &Format, scheme: &Scheme, shape: Shape, global: f32) -> Encoded {
        match self {
            Self::F32(values) => Encoded::new(format, scheme, shape, values, global),
            Self::Bf16(values) => Encoded::new(format, scheme, shape, values, global),
        }
    }

    /// Codes under the scales that are stored.
    fn codes(
        &self,
        format: &Format,
        scheme: &Scheme,
        shape: Shape,
        stored: &Matrix<'_>,
    ) -> Vec<u8> {
        let mut codes = vec![0; format.code_bytes(shape).unwrap()];
        let (scales, global) = (stored.scales, stored.global);
        match self {
            Self::F32(values) => {
                encode_codes_with(format, scheme, shape, values, scales, global, &mut codes)
            }
            Self::Bf16(values) => {
                encode_codes_with(format, scheme, shape, values, scales, global, &mut codes)
            }
        }
        .unwrap();
        codes
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
    fn check(&self, takes: impl Fn(&str, Dtype) -> bool) -> usize {
        let mut compared = 0;
        self.each_matrix(takes, |what, input, shape, stored| {
            let Self { format, scheme, .. } = self;
            if self.global == Global::OfWeight {
                let global = global_scale_with(format, scheme, input.amax());
                assert_eq!(global, stored.global, "{what} global");
            }
            let encoded = input.encode(format, scheme, shape, stored.global);
            assert_same(&encoded.scales, stored.scales, &format!("{what} scales"));
            assert_same(&encoded.codes, stored.codes, &format!("{what} codes"));
            compared += 1;
        });
        compared
    }

    /// Calls `check` for each matrix of each case that `takes`.
    fn each_matrix(
        &self,
        takes: impl Fn(&str, Dtype) -> bool,
        mut check: impl FnMut(&str, &Input, Shape, &Matrix<'_>),
    ) {
        let (inputs, vectors) = (Vectors::read("inputs"), Vectors::read(self.file));
        for case in vectors.cases(self.peer, self.fields.codes) {
            let tensor = inputs.get(case);
            if !takes(case, tensor.dtype) {
                continue;
            }
            let (matrices, shape) = Input::of(tensor);
            let stored = Stored::new(&vectors, case, self.peer, self.fields);
            for (index, input) in matrices.iter().enumerate() {
                let what = format!("{case}.{} {index}", self.peer);
                check(
                    &what,
                    input,
                    shape,
                    &stored.matrix(&self.format, shape, index),
                );
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

/// Asserts that each code is at most one step from the peer's, and returns how many differ.
#[track_caller]
fn assert_within_a_step(format: &Format, ours: &[u8], theirs: &[u8], what: &str) -> usize {
    let split = |byte: u8| match format.element.bits() {
        4 => vec![byte & 0xf, byte >> 4],
        _ => vec![byte],
    };
    let sign = 1_u8 << (format.element.bits() - 1);
    let signed = |code: u8| {
        let magnitude = i16::from(code & (sign - 1));
        if code & sign == 0 {
            magnitude
        } else {
            -magnitude
        }
    };
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let codes = |bytes: &[u8]| bytes.iter().copied().flat_map(split).collect::<Vec<_>>();
    let mut differing = 0;
    for (at, (ours, theirs)) in codes(ours).into_iter().zip(codes(theirs)).enumerate() {
        let apart = signed(ours).abs_diff(signed(theirs));
        assert!(apart <= 1, "{what} code {at}: {ours:#04x} {theirs:#04x}");
        differing += usize::from(apart == 1);
    }
    differing
}

fn every(_: &str, _: Dtype) -> bool {
    true
}

/// A weight of zeros, for which some peers give NaN.
fn but_zeros(case: &str, _: Dtype) -> bool {
    case != "allzero"
}
