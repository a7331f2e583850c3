//! Histograms of numbers and codes.

use blockscale::{Element, Format, Shape};
use blockscale_wgpu::{Edges, Measure, Source, Window, cpu};

use crate::common::{Sample, block_on, formats, gpus};

#[test]
fn codes_and_scale_bytes_are_counted_as_on_the_cpu() {
    for gpu in gpus() {
        for format in formats() {
            let shape = Shape::new(131, 135);
            let sample = Sample::wild(&format, shape, 21);
            let stored = sample.stored();
            let resident = block_on(gpu.upload(&stored)).unwrap();
            let window = Window::new(3..129, 1..134);
            let counts = block_on(gpu.code_counts(&resident, &window)).unwrap();
            assert_eq!(
                counts,
                cpu::code_counts(&stored, &window).unwrap(),
                "{format}"
            );
            assert_eq!(counts.len(), 1 << format.element.bits());
            assert_eq!(counts.iter().sum::<u64>(), 126 * 133);

            if format.scale.bytes() == 1 {
                let window = Window::whole(format.scale_shape(shape));
                let counts = block_on(gpu.scale_code_counts(&resident, &window)).unwrap();
                let expected = cpu::scale_code_counts(&stored, &window).unwrap();
                assert_eq!(counts, expected, "{format}");
                assert_eq!(counts.iter().sum::<u64>(), sample.scales.len() as u64);
            }
        }
    }
}

#[test]
fn every_code_is_counted_in_its_own_bin() {
    for gpu in gpus() {
        let format = Format {
            element: Element::E5m2,
            ..Format::FP8_TENSOR
        };
        let mut sample = Sample::tame(&format, Shape::new(16, 16), 0);
        sample.codes = (0..=u8::MAX).collect();
        let resident = block_on(gpu.upload(&sample.stored())).unwrap();
        let counts = block_on(gpu.code_counts(&resident, &Window::whole(sample.shape))).unwrap();
        assert_eq!(counts, [1; 256]);
    }
}

#[test]
fn numbers_are_counted_between_edges_as_on_the_cpu() {
    let shape = Shape::new(131, 135);
    let other = Sample::wild(&Format::NVFP4, shape, 22);
    let all_edges = [
        Edges::linear(-3.0, 3.0, 64).unwrap(),
        Edges::powers_of_two(-149, 127).unwrap(),
        Edges::new(vec![0.0]).unwrap(),
        Edges::linear(-1.0, 1.0, Edges::MOST - 1).unwrap(),
    ];
    for gpu in gpus() {
        let other = other.stored();
        let other_resident = block_on(gpu.upload(&other)).unwrap();
        for format in [Format::MXFP8_E5M2, Format::FP8_TOKEN, Format::NVFP4_DIVISOR] {
            let sample = Sample::wild(&format, shape, 23);
            let stored = sample.stored();
            let resident = block_on(gpu.upload(&stored)).unwrap();
            let sources = [
                (Source::Values(&stored), Source::Values(&resident)),
                (Source::Scales(&stored), Source::Scales(&resident)),
                (
                    Source::Difference(&stored, &other),
                    Source::Difference(&resident, &other_resident),
                ),
            ];
            for (on_cpu, on_gpu) in sources {
                let window = Window::whole(on_cpu.shape().unwrap());
                for (edges, measure) in all_edges.iter().zip([
                    Measure::Signed,
                    Measure::Magnitude,
                    Measure::Signed,
                    Measure::Signed,
                ]) {
                    let found = gpu.histogram(on_gpu, &window, measure, edges);
                    let expected = cpu::histogram(on_cpu, &window, measure, edges).unwrap();
                    assert_eq!(block_on(found).unwrap(), expected, "{format}");
                    let total = expected.counts.iter().sum::<u64>() + expected.nan;
                    assert_eq!(total as usize, window.shape().len().unwrap());
                }
            }
        }
    }
}
