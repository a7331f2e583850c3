//! Which kernel does an operation: the one of the format, or the one for every format.

use blockscale::encode::Scheme;
use blockscale::{Format, Shape};
use cudarc::driver::sys::CUdeviceptr;

/// What the kernels of one format need: whole vectors in each row, and all of them aligned.
pub(crate) struct Placement<'a> {
    pub(crate) shape: Shape,
    /// Of codes and numbers.
    pub(crate) addresses: &'a [CUdeviceptr],
    pub(crate) scales: CUdeviceptr,
}

const VECTOR: u64 = 16;

impl Placement<'_> {
    /// `cols` is what the number of columns has to be a multiple of.
    fn is_regular(&self, format: &Format, cols: usize) -> bool {
        let aligned = |address: &CUdeviceptr| address.is_multiple_of(VECTOR);
        self.shape.cols.is_multiple_of(cols)
            && self.addresses.iter().all(aligned)
            && self.scales.is_multiple_of(format.scale.bytes() as u64)
    }
}

/// The format's name in `decode_*_to_*`, `None` where `decode_any` does it.
pub(crate) fn decoder(format: &Format, placement: &Placement<'_>) -> Option<&'static str> {
    let name = match *format {
        Format::NVFP4 | Format::NVFP4_DIVISOR | Format::NVFP4_ONE_LEVEL => "nvfp4",
        Format::MXFP4 => "mxfp4",
        Format::MXFP8_E4M3 => "mxfp8_e4m3",
        Format::MXFP8_E5M2 => "mxfp8_e5m2",
        Format::FP8_BLOCK => "fp8_block_f32",
        Format::FP8_BLOCK_UE8M0 => "fp8_block_ue8m0",
        _ => return None,
    };
    placement.is_regular(format, 32).then_some(name)
}

/// The format's name in `encode_*_to_*`, `None` where the kernels for every format do it.
pub(crate) fn encoder(
    format: &Format,
    scheme: &Scheme,
    placement: &Placement<'_>,
) -> Option<&'static str> {
    let (name, cols) = match *format {
        Format::NVFP4 | Format::NVFP4_DIVISOR | Format::NVFP4_ONE_LEVEL => ("nvfp4", 32),
        Format::MXFP4 => ("mxfp4", 32),
        Format::MXFP8_E4M3 => ("mxfp8_e4m3", 32),
        Format::FP8_BLOCK => ("fp8_block_f32", 16),
        Format::FP8_BLOCK_UE8M0 => ("fp8_block_ue8m0", 16),
        _ => return None,
    };
    let usual = *scheme == Scheme::from(format.default_rule());
    (usual && placement.is_regular(format, cols)).then_some(name)
}

/// Whether the transcoding kernels for whole vectors apply, of which a row has a multiple of `cols`
/// codes.
pub(crate) fn is_regular(placement: &Placement<'_>, format: &Format, cols: usize) -> bool {
    placement.is_regular(format, cols)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(cols: usize, addresses: &[CUdeviceptr]) -> Placement<'_> {
        Placement {
            shape: Shape::new(3, cols),
            addresses,
            scales: 4,
        }
    }

    #[test]
    fn a_ragged_row_or_an_odd_address_takes_the_kernel_for_every_format() {
        let decoder = |cols, addresses: &[_]| decoder(&Format::NVFP4, &placement(cols, addresses));
        assert_eq!(decoder(64, &[256, 16]), Some("nvfp4"));
        assert_eq!(decoder(48, &[256, 16]), None);
        assert_eq!(decoder(64, &[256, 8]), None);
    }

    #[test]
    fn another_scheme_than_the_formats_own_takes_the_kernels_for_every_format() {
        let place = placement(64, &[]);
        let usual = Scheme::from(Format::MXFP4.default_rule());
        assert_eq!(encoder(&Format::MXFP4, &usual, &place), Some("mxfp4"));
        let floor = Scheme::TORCHAO_MX_FLOOR;
        assert_eq!(encoder(&Format::MXFP4, &floor, &place), None);
        assert_eq!(encoder(&Format::MXFP4, &Scheme::DEFAULT, &place), None);
    }

    #[test]
    fn a_format_without_kernels_of_its_own_takes_those_for_every_format() {
        let place = placement(64, &[]);
        assert_eq!(decoder(&Format::MXFP6_E2M3, &place), None);
        assert_eq!(decoder(&Format::FP8_CHANNEL, &place), None);
    }
}
