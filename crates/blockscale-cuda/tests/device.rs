//! On a device, where there is one: results beside the core's, and what is refused. `blockscale
//! selftest` goes much farther; this is what an engine that embeds the crate relies on.

use std::io::Write;
use std::sync::Arc;

use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{ScaleRule, encode_rows};
use blockscale::layout::{ScaleLayout, Stack};
use blockscale::transcode::TranscodeError;
use blockscale::{Format, LenMismatch, ScaleElement, Shape, bf16};
use blockscale_cuda::{
    CudaError, Device, DeviceRows, DeviceRowsMut, DeviceScales, Global, Pool, PoolOptions,
};

/// The first device; where there is none, says so past the test runner's capture of output.
fn device() -> Option<Arc<Device>> {
    match Device::open(0) {
        Ok(device) => Some(Arc::new(device)),
        Err(CudaError::NoDriver | CudaError::NoDevice { .. }) => {
            // A closed stderr is no reason to fail.
            let _ = std::io::stderr().write_all(b"skipped: no CUDA device\n");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Bytes that differ from each other.
fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

#[test]
fn a_machine_without_a_device_gets_an_error_and_no_panic() {
    match Device::count() {
        Ok(count) => {
            let error = Device::open(count).unwrap_err();
            assert_eq!(
                error,
                CudaError::NoDevice {
                    ordinal: count,
                    count
                }
            );
        }
        Err(error) => {
            assert_eq!(error, CudaError::NoDriver);
            assert_eq!(Device::open(0).unwrap_err(), CudaError::NoDriver);
            assert!(error.to_string().starts_with("no CUDA driver"));
        }
    }
}

#[test]
fn decoding_has_the_bits_of_the_core_at_any_address() {
    let Some(device) = device() else { return };
    let stream = device.new_stream().unwrap();
    let format = Format::NVFP4;
    for shape in [Shape::new(64, 128), Shape::new(3, 33)] {
        let codes = bytes(format.code_bytes(shape).unwrap());
        let scales: Vec<u8> = bytes(format.scale_bytes(shape).unwrap())
            .iter()
            .map(|scale| scale & 0x7e)
            .collect();
        let global = 0.3;
        let rows = Rows {
            codes: &codes,
            scales: &scales,
            global,
        };
        let mut expected = vec![bf16::ZERO; shape.len().unwrap()];
        decode_rows(&format, shape, rows, &mut expected).unwrap();
        for shift in [0, 1] {
            let shifted = |plane: &[u8]| [&vec![0xee; shift], plane].concat();
            let codes = stream.clone_htod(&shifted(&codes)).unwrap();
            let scales = stream.clone_htod(&shifted(&scales)).unwrap();
            let global = stream.clone_htod(&[global]).unwrap();
            let rows = DeviceRows {
                codes: codes.slice(shift..),
                scales: scales.slice(shift..),
                global: Global::Shared(global.as_view()),
            };
            let mut out = stream.alloc_zeros::<bf16>(expected.len()).unwrap();
            let (stack, to) = (Stack::single(shape), &mut out.as_view_mut());
            device
                .decode_rows(&stream, &format, stack, &rows, to)
                .unwrap();
            assert_eq!(
                stream.clone_dtoh(&out).unwrap(),
                expected,
                "{shape:?} {shift}"
            );
        }
    }
}

#[test]
fn encoding_has_the_bytes_of_the_core() {
    let Some(device) = device() else { return };
    let stream = device.new_stream().unwrap();
    let (format, rule) = (Format::FP8_BLOCK_UE8M0, ScaleRule::RceilMin1e4);
    let shape = Shape::new(200, 272);
    let values: Vec<f32> = (0..shape.len().unwrap())
        .map(|i| (i as f32 * 0.37).sin())
        .collect();
    let mut codes = vec![0; format.code_bytes(shape).unwrap()];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
    encode_rows(&format, rule, shape, &values, 1.0, &mut codes, &mut scales).unwrap();

    let on_device = stream.clone_htod(&values).unwrap();
    let mut new_codes = stream.alloc_zeros::<u8>(codes.len()).unwrap();
    let mut new_scales = stream.alloc_zeros::<u8>(scales.len()).unwrap();
    let mut out = DeviceRowsMut {
        codes: new_codes.as_view_mut(),
        scales: new_scales.as_view_mut(),
    };
    let (stack, from) = (Stack::single(shape), on_device.as_view());
    device
        .encode_rows(
            &stream,
            &format,
            rule,
            stack,
            &from,
            &Global::None,
            &mut out,
        )
        .unwrap();
    assert_eq!(stream.clone_dtoh(&new_scales).unwrap(), scales);
    assert_eq!(stream.clone_dtoh(&new_codes).unwrap(), codes);
}

#[test]
fn wrong_lengths_and_a_missing_scale_of_the_tensor_are_refused_before_a_launch() {
    let Some(device) = device() else { return };
    let stream = device.new_stream().unwrap();
    let stack = Stack::single(Shape::new(2, 32));
    let (codes, scales) = (
        stream.alloc_zeros::<u8>(32).unwrap(),
        stream.alloc_zeros::<u8>(5).unwrap(),
    );
    let mut out = stream.alloc_zeros::<f32>(64).unwrap();
    let mut decode = |scales, global| {
        let rows = DeviceRows {
            codes: codes.as_view(),
            scales,
            global,
        };
        device.decode_rows(
            &stream,
            &Format::NVFP4,
            stack,
            &rows,
            &mut out.as_view_mut(),
        )
    };
    let (what, expected, found) = ("scales", 4, 5);
    let error = decode(scales.as_view(), Global::None).unwrap_err();
    assert_eq!(
        error,
        CudaError::Len(LenMismatch {
            what,
            expected,
            found
        })
    );
    let error = decode(scales.slice(0..4), Global::None).unwrap_err();
    assert_eq!(
        error,
        CudaError::MissingGlobal {
            format: Format::NVFP4
        }
    );
}

#[test]
fn a_scale_that_no_power_of_two_stands_for_is_told_with_its_place_and_value() {
    let Some(device) = device() else { return };
    let stream = device.new_stream().unwrap();
    let codes = stream.alloc_zeros::<u8>(256 * 256).unwrap();
    let scales = [1.0_f32, 0.75, -2.0, 1.0].map(f32::to_le_bytes);
    let scales = stream.clone_htod(scales.as_flattened()).unwrap();
    let mut new_codes = stream.alloc_zeros::<u8>(256 * 256).unwrap();
    let mut new_scales = stream.alloc_zeros::<u8>(4).unwrap();
    let rows = DeviceRows {
        codes: codes.as_view(),
        scales: scales.as_view(),
        global: Global::None,
    };
    let mut out = DeviceRowsMut {
        codes: new_codes.as_view_mut(),
        scales: new_scales.as_view_mut(),
    };
    let (from, to) = (Format::FP8_BLOCK, Format::FP8_BLOCK_UE8M0);
    let stack = Stack::single(Shape::new(256, 256));
    let answer = device
        .round_scales_up_to_pow2(&stream, &from, &to, stack, &rows, &mut out)
        .unwrap()
        .wait();
    let (index, value) = (2, -2.0);
    let expected = CudaError::Transcode(TranscodeError::Scale { index, value });
    assert_eq!(answer.unwrap_err(), expected);
}

#[test]
fn a_layout_comes_back_from_the_device_as_it_went() {
    let Some(device) = device() else { return };
    let stream = device.new_stream().unwrap();
    let (layout, element) = (ScaleLayout::Tiles128x4, ScaleElement::E4m3Fn);
    let stack = Stack::new(2, Shape::new(130, 5));
    let linear = bytes(2 * 130 * 5);
    let source = stream.clone_htod(&linear).unwrap();
    let size = layout.scale_bytes(stack, element).unwrap();
    let mut tiles = stream.alloc_zeros::<u8>(size).unwrap();
    let scales = DeviceScales {
        layout: ScaleLayout::Linear,
        element,
        bytes: source.as_view(),
    };
    let to = &mut tiles.as_view_mut();
    device
        .permute_scales(&stream, layout, stack, &scales, to)
        .unwrap()
        .wait()
        .unwrap();
    let mut back = stream.alloc_zeros::<u8>(linear.len()).unwrap();
    let scales = DeviceScales {
        layout,
        element,
        bytes: tiles.as_view(),
    };
    let to = &mut back.as_view_mut();
    device
        .unpermute_scales(&stream, stack, &scales, to)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(stream.clone_dtoh(&back).unwrap(), linear);
}

#[test]
fn a_pool_brings_back_the_bytes_of_each_job_in_pieces_of_any_size() {
    let Some(device) = device() else { return };
    let options = PoolOptions {
        slots_per_device: 3,
        piece_bytes: 1000,
    };
    let pool = Pool::new(vec![device], options).unwrap();
    let lengths = [0, 1, 999, 1000, 1001, 12_345];
    let tickets = lengths.map(|len| {
        pool.run(move |slot| {
            let up = slot.upload::<u8>(&bytes(len))?;
            let mut down = vec![0xff; len];
            slot.download(&up.as_view(), &mut down)?;
            Ok::<_, CudaError>(down)
        })
    });
    for (ticket, len) in tickets.into_iter().zip(lengths) {
        assert_eq!(ticket.wait().unwrap().unwrap(), bytes(len), "{len}");
    }
}

#[test]
fn a_job_that_panics_loses_its_own_ticket_alone() {
    let Some(device) = device() else { return };
    let options = PoolOptions {
        slots_per_device: 2,
        piece_bytes: 1000,
    };
    let pool = Pool::new(vec![device], options).unwrap();
    let lost = pool.run(|_| -> u8 { panic!("a job that fails on purpose") });
    assert_eq!(lost.wait(), Err(CudaError::WorkerLost));
    assert_eq!(pool.run(|_| 7).wait(), Ok(7));
}
