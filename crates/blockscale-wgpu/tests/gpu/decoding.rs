//! Tiles: formats, shapes, windows and cuts.

use blockscale::{Block, Format, Shape};
use blockscale_wgpu::{RequestError, Source, Window, cpu};

use crate::common::{Random, SHAPES, Sample, assert_same, block_on, formats, gpu, gpus};

#[test]
fn every_format_decodes_to_the_cores_bits_however_it_is_cut() {
    for gpu in gpus() {
        for format in formats() {
            for shape in SHAPES {
                let sample = Sample::wild(&format, shape, 7);
                let stored = sample.stored();
                let mut expected = vec![0.0_f32; shape.len().unwrap()];
                blockscale::decode::decode_rows(&format, shape, sample.rows(), &mut expected)
                    .unwrap();
                let whole = Window::whole(shape);
                let on_cpu = cpu::tile(Source::Values(&stored), &whole).unwrap();
                let resident = block_on(gpu.upload(&stored)).unwrap();
                let on_gpu = block_on(gpu.tile(Source::Values(&resident), &whole)).unwrap();
                let what = format!("{format}, {shape:?}");
                assert_same(&on_cpu, &expected, &what);
                assert_same(&on_gpu, &expected, &what);
            }
        }
    }
}

#[test]
fn scales_are_those_of_both_levels_each_once() {
    for gpu in gpus() {
        for format in formats() {
            let shape = Shape::new(131, 135);
            let sample = Sample::wild(&format, shape, 8);
            let stored = sample.stored();
            let window = Window::whole(format.scale_shape(shape));
            let expected: Vec<f32> = sample
                .scales
                .chunks_exact(format.scale.bytes())
                .map(|scale| format.effective_scale(scale, sample.global))
                .collect();
            let on_cpu = cpu::tile(Source::Scales(&stored), &window).unwrap();
            let resident = block_on(gpu.upload(&stored)).unwrap();
            let on_gpu = block_on(gpu.tile(Source::Scales(&resident), &window)).unwrap();
            assert_same(&on_cpu, &expected, &format.to_string());
            assert_same(&on_gpu, &expected, &format.to_string());
        }
    }
}

#[test]
fn a_window_is_the_part_of_the_whole() {
    let mut random = Random(9);
    for gpu in gpus() {
        for format in [Format::NVFP4, Format::MXFP6_E3M2, Format::FP8_BLOCK] {
            let shape = Shape::new(140, 150);
            let sample = Sample::wild(&format, shape, 10);
            let stored = sample.stored();
            let resident = block_on(gpu.upload(&stored)).unwrap();
            for _ in 0..4 {
                let window = random_window(&mut random, shape);
                let expected = cpu::tile(Source::Values(&stored), &window).unwrap();
                let found = block_on(gpu.tile(Source::Values(&resident), &window)).unwrap();
                assert_same(&found, &expected, &format!("{format}, {window:?}"));
            }
        }
    }
}

fn random_window(random: &mut Random, shape: Shape) -> Window {
    let mut range = |end| {
        let start = random.below(end);
        start..start + random.below(end - start) + 1
    };
    Window::new(range(shape.rows), range(shape.cols))
}

#[test]
fn the_difference_of_formats_that_are_cut_differently_is_that_of_their_numbers() {
    for gpu in gpus() {
        let shape = Shape::new(131, 135);
        let first = Sample::wild(&Format::NVFP4, shape, 11);
        let second = Sample::wild(&Format::FP8_BLOCK, shape, 12);
        let (first, second) = (first.stored(), second.stored());
        let window = Window::new(1..130, 2..135);
        let expected = cpu::tile(Source::Difference(&first, &second), &window).unwrap();
        let resident = [&first, &second].map(|stored| block_on(gpu.upload(stored)).unwrap());
        let source = Source::Difference(&resident[0], &resident[1]);
        let found = block_on(gpu.tile(source, &window)).unwrap();
        assert_same(&found, &expected, "difference");
    }
}

/// The pattern of a weight that broke viewers by its size, cut down to what one launch can't do:
/// 65,536 workgroups.
#[test]
fn a_launch_of_more_workgroups_than_fit_one_way_is_whole() {
    let Some(gpu) = gpu() else { return };
    let shape = Shape::new(2049, 2048);
    let mut sample = Sample::wild(&Format::FP8_BLOCK, shape, 0);
    for (index, code) in sample.codes.iter_mut().enumerate() {
        let (row, col) = (index / shape.cols, index % shape.cols);
        *code = ((31 * row + 7 * col) % 127) as u8;
    }
    for (index, scale) in sample.scales.chunks_exact_mut(4).enumerate() {
        let number = (index + 1) as f32 / 16384.0;
        scale.copy_from_slice(&number.to_le_bytes());
    }
    let stored = sample.stored();
    let resident = block_on(gpu.upload(&stored)).unwrap();
    let window = Window::whole(shape);
    let expected = cpu::tile(Source::Values(&stored), &window).unwrap();
    let found = block_on(gpu.tile(Source::Values(&resident), &window)).unwrap();
    assert_same(&found, &expected, "large");
}

#[test]
fn one_row_that_no_buffer_holds_is_cut_between_bytes() {
    for gpu in gpus() {
        for format in formats() {
            let format = Format {
                block: match format.block {
                    Block::Grid { cols, .. } => Block::Grid { rows: 1, cols },
                    other => other,
                },
                ..format
            };
            let shape = Shape::new(2, 5003);
            let sample = Sample::wild(&format, shape, 13);
            let stored = sample.stored();
            let window = Window::new(1..2, 9..5003);
            let expected = cpu::tile(Source::Values(&stored), &window).unwrap();
            let resident = block_on(gpu.upload(&stored)).unwrap();
            let found = block_on(gpu.tile(Source::Values(&resident), &window)).unwrap();
            assert_same(&found, &expected, &format.to_string());
        }
    }
}

#[test]
fn what_is_not_there_is_refused_alike() {
    let shape = Shape::new(2, 3);
    let numbers = Sample::numbers(shape, &[0.0; 6]);
    let blocks = Sample::tame(&Format::FP8_CHANNEL, Shape::new(2, 4), 0);
    let (numbers, blocks) = (numbers.stored(), blocks.stored());
    let outside = Window::new(0..2, 1..4);
    let whole = Window::whole(shape);
    let errors = [
        cpu::tile(Source::Values(&numbers), &outside).unwrap_err(),
        cpu::tile(Source::Scales(&numbers), &whole).unwrap_err(),
        cpu::tile(Source::Difference(&numbers, &blocks), &whole).unwrap_err(),
        cpu::code_counts(&numbers, &whole).unwrap_err(),
        cpu::scale_code_counts(&blocks, &Window::new(0..2, 0..1)).unwrap_err(),
    ];
    let messages = errors.clone().map(|error| error.to_string());
    assert_eq!(
        messages,
        [
            "rows 0..2, columns 1..4 are not inside 2 x 3",
            "a weight of F32 has no scales",
            "2 x 3 and 2 x 4 elements can't be brought together",
            "a weight of F32 has no codes",
            "scales of FP8 per channel are no bytes to be counted; take a histogram of them",
        ]
    );

    let Some(gpu) = gpu() else { return };
    let resident = [&numbers, &blocks].map(|stored| block_on(gpu.upload(stored)).unwrap());
    let [numbers, blocks] = &resident;
    let found = [
        block_on(gpu.tile(Source::Values(numbers), &outside)).unwrap_err(),
        block_on(gpu.tile(Source::Scales(numbers), &whole)).unwrap_err(),
        block_on(gpu.tile(Source::Difference(numbers, blocks), &whole)).unwrap_err(),
        block_on(gpu.code_counts(numbers, &whole)).unwrap_err(),
        block_on(gpu.scale_code_counts(blocks, &Window::new(0..2, 0..1))).unwrap_err(),
    ];
    assert_eq!(found, errors.map(blockscale_wgpu::GpuError::Request));
    let (start, end) = (1, 0);
    let backwards = Window {
        rows: start..end,
        ..whole
    };
    let error = block_on(gpu.tile(Source::Values(numbers), &backwards)).unwrap_err();
    assert!(matches!(
        error,
        blockscale_wgpu::GpuError::Request(RequestError::Outside { .. })
    ));
}
