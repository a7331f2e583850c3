//! An engine that decodes a weight on a stream of its own, while another stream copies.
//!
//! `cargo run -p blockscale-cuda --example decode_on_stream`

use blockscale::layout::Stack;
use blockscale::{Format, Shape, bf16};
use blockscale_cuda::{CudaError, Device, DeviceRows, Global};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error @ (CudaError::NoDriver | CudaError::NoDevice { .. })) => {
            println!("skipped: no CUDA device: {error}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let (format, shape) = (Format::NVFP4, Shape::new(4096, 4096));

    // The engine's buffers: every code is 0x21 (0.5 and 1), every scale 1, the global one 2.
    let copies = device.new_stream()?;
    let codes = copies.clone_htod(&vec![0x21_u8; shape.rows * shape.cols / 2])?;
    let scales = copies.clone_htod(&vec![0x38_u8; shape.rows * shape.cols / 16])?;
    let global = copies.clone_htod(&[2.0_f32])?;

    // Decoding goes to another stream, which waits for the copies by cudarc's events. Nothing waits
    // on the host.
    let decoding = device.new_stream()?;
    let mut weight = decoding.alloc_zeros::<bf16>(shape.rows * shape.cols)?;
    let rows = DeviceRows {
        codes: codes.as_view(),
        scales: scales.as_view(),
        global: Global::Shared(global.as_view()),
    };
    let (stack, out) = (Stack::single(shape), &mut weight.as_view_mut());
    device.decode_rows(&decoding, &format, stack, &rows, out)?;

    // The engine would go on with `weight` on the same stream; here it is looked at.
    let values = decoding.clone_dtoh(&weight)?;
    assert_eq!(values[..4], [1.0, 2.0, 1.0, 2.0].map(bf16::from_f32));
    println!(
        "{} decoded {}x{} {format} on {:?}",
        device.name(),
        shape.rows,
        shape.cols,
        device.capability()
    );
    Ok(())
}
