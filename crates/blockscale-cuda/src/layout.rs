//! Orders of runtimes, applied and undone on the device: [`blockscale::layout`].

mod codes;
mod moves;

use std::sync::Arc;

use blockscale::layout::{LayoutError, RowShuffle, ScaleLayout, Stack};
use blockscale::{ScaleElement, Shape};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaStream, CudaView, CudaViewMut, DevicePtr as _, DevicePtrMut as _, DeviceSlice as _,
};

use self::moves::Move;
use crate::error::check_len;
use crate::pending::{Pending, answer_words, first_bad, scale_at};
use crate::{CudaError, Device};

/// Scales in device memory, with the layout they are in.
#[derive(Debug)]
pub struct DeviceScales<'a> {
    /// The layout of `bytes`.
    pub layout: ScaleLayout,
    /// Type of the scales, as a checkpoint has them; little-endian.
    pub element: ScaleElement,
    /// The scales of all matrices of a stack.
    pub bytes: CudaView<'a, u8>,
}

/// Codes in device memory, with the layout they are in.
#[derive(Debug)]
pub struct DeviceCodes<'a> {
    /// The layout of `bytes`.
    pub layout: ScaleLayout,
    /// The codes of all matrices of a stack.
    pub bytes: CudaView<'a, u8>,
}

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Into,
    OutOf,
}

/// How kernels name the place of a row.
fn order(layout: ScaleLayout) -> Result<u32, CudaError> {
    Ok(match layout {
        ScaleLayout::TrtllmMoeW2(RowShuffle::By32)
        | ScaleLayout::TrtllmLinear(RowShuffle::By32) => 1,
        ScaleLayout::TrtllmMoeW2(RowShuffle::By16)
        | ScaleLayout::TrtllmLinear(RowShuffle::By16) => 2,
        ScaleLayout::TrtllmMoeW13(RowShuffle::By32) => 3,
        ScaleLayout::TrtllmMoeW13(RowShuffle::By16) => 4,
        ScaleLayout::Linear
        | ScaleLayout::Tiles128x4
        | ScaleLayout::Tiles8x4
        | ScaleLayout::DeepGemmF32
        | ScaleLayout::DeepGemmPacked
        | ScaleLayout::DeepGemmPackedBlocks
        | ScaleLayout::MarlinNvfp4
        | ScaleLayout::MarlinMxfp4 => 0,
        ScaleLayout::MegaMoeL1 => 6,
        ScaleLayout::MegaMoeL2 => 7,
        other => {
            return Err(CudaError::NotOnDevice {
                what: format!("layout `{other}`"),
            });
        }
    })
}

/// Begins where whole vectors or words of the layout do.
fn check_vectors(address: CUdeviceptr, bytes: u64) -> Result<(), CudaError> {
    if address.is_multiple_of(bytes) {
        return Ok(());
    }
    Err(CudaError::Misaligned {
        what: "layout",
        needed: bytes as usize,
    })
}

impl Device {
    /// Puts linear scales into `layout`, padding set to zero:
    /// [`blockscale::layout::permute_scales`].
    ///
    /// # Errors
    ///
    /// Those of the core that follow from shapes and types, in a [`CudaError::Layout`], and those of
    /// arguments. The answer may be a scale that the layout cannot hold; `out` is of no use then.
    pub fn permute_scales<'a>(
        &self,
        stream: &'a Arc<CudaStream>,
        layout: ScaleLayout,
        stack: Stack,
        scales: &'a DeviceScales<'_>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<Pending<'a, ()>, CudaError> {
        if scales.layout != ScaleLayout::Linear {
            let (found, asked) = (scales.layout, layout);
            return Err(LayoutError::AlreadyApplied { found, asked }.into());
        }
        let words = self.move_scales(stream, layout, stack, scales, out, Way::Into)?;
        let element = scales.element;
        Ok(Pending::new(stream, words, move |words| {
            let Some(index) = first_bad(words[0]) else {
                return Ok(());
            };
            let value = scale_at(stream, element, &scales.bytes, index)?;
            if element == ScaleElement::F32 {
                return Err(LayoutError::NotPowerOfTwo { index, value }.into());
            }
            let code = code_at(stream, &scales.bytes, index)?;
            Err(LayoutError::Scale {
                layout,
                index,
                code,
            }
            .into())
        }))
    }

    /// Takes scales out of their layout: [`blockscale::layout::unpermute_scales`].
    ///
    /// # Errors
    ///
    /// Those of the core that follow from shapes and types, and those of arguments. The answer may be
    /// [`LayoutError::RowsDiffer`].
    pub fn unpermute_scales<'a>(
        &self,
        stream: &'a Arc<CudaStream>,
        stack: Stack,
        scales: &DeviceScales<'_>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<Pending<'a, ()>, CudaError> {
        let words = self.move_scales(stream, scales.layout, stack, scales, out, Way::OutOf)?;
        let Shape { rows, cols } = stack.shape;
        Ok(Pending::new(stream, words, move |words| {
            let Some(index) = first_bad(words[0]) else {
                return Ok(());
            };
            Err(LayoutError::RowsDiffer {
                matrix: index / (rows * cols),
                row: index / cols % rows,
                col: index % cols,
            }
            .into())
        }))
    }

    fn move_scales(
        &self,
        stream: &Arc<CudaStream>,
        layout: ScaleLayout,
        stack: Stack,
        scales: &DeviceScales<'_>,
        out: &mut CudaViewMut<'_, u8>,
        way: Way,
    ) -> Result<cudarc::driver::CudaSlice<u64>, CudaError> {
        let element = scales.element;
        self.check_context("stream", stream)?;
        self.check_context("scales", scales.bytes.stream())?;
        self.check_context("out", out.stream())?;
        let laid_out = layout.scale_bytes(stack, element)?;
        let linear = layout
            .linear_shape(stack.shape)
            .len()
            .and_then(|scales| scales.checked_mul(stack.matrices))
            .and_then(|scales| scales.checked_mul(element.bytes()));
        let (from, to) = (scales.bytes.len(), out.len());
        let (found_linear, found) = match way {
            Way::Into => (from, to),
            Way::OutOf => (to, from),
        };
        check_len("scales", linear, found_linear)?;
        check_len("laid out scales", Some(laid_out), found)?;
        let mut words = answer_words(stream, 0)?;
        if linear == Some(0) {
            stream.memset_zeros(out)?;
            return Ok(words);
        }
        if layout == ScaleLayout::Linear {
            stream.memcpy_dtod(&scales.bytes, out)?;
            return Ok(words);
        }
        let (from, _from) = scales.bytes.device_ptr(stream);
        let (to, _to) = out.device_ptr_mut(stream);
        let (first_bad, guard) = words.device_ptr_mut(stream);
        Move {
            device: self,
            stream,
            layout,
            element,
            stack,
            way,
            from,
            to,
            first_bad,
        }
        .launch()?;
        drop(guard);
        Ok(words)
    }
}

impl Way {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Into => "",
            Self::OutOf => "un",
        }
    }
}

fn code_at(
    stream: &Arc<CudaStream>,
    plane: &CudaView<'_, u8>,
    index: usize,
) -> Result<u8, CudaError> {
    let Some(code) = plane.try_slice(index..index.saturating_add(1)) else {
        return Ok(0);
    };
    let code = stream.clone_dtoh(&code)?;
    stream.synchronize()?;
    Ok(code[0])
}
