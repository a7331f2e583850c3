//! Products through the memory of a kernel, against products through the checkpoint.

use blockscale::layout::LayoutError;
use blockscale::runtime::{Kernel, Operand, Part, Runtime, Source, product_at};
use blockscale::{Format, ScaleElement, Shape};

use crate::weights::{
    Plain, activation_format, activation_scales, plain_products, products, weight_shape,
};

#[test]
fn each_element_that_a_kernel_reads_is_the_checkpoints() {
    for kernel in Kernel::ALL {
        let shape = weight_shape(kernel);
        let plain = Plain::random(kernel.format(), 3, shape, 1);
        let baked = plain.bake(kernel).unwrap();
        let weight = baked.weight(kernel, &plain);
        for (matrix, values) in plain.decode().iter().enumerate() {
            for (i, value) in values.iter().enumerate() {
                let (row, col) = (i / shape.cols, i % shape.cols);
                let found = weight.value_at(matrix, row, col).map(f32::to_bits);
                assert_eq!(
                    found,
                    Some(value.to_bits()),
                    "{kernel:?} {matrix} {row} {col}"
                );
            }
        }
    }
}

/// The grouped `bhr,hdr->bhd` with F32 and with packed scales; NVFP4 with tiles and shuffled rows.
#[test]
fn products_through_the_baked_memory_equal_products_through_the_checkpoint() {
    for kernel in Kernel::ALL {
        let shape = weight_shape(kernel);
        let (groups, tokens) = (2, 5);
        let weight = Plain::random(kernel.format(), groups, shape, 2);
        let token_shape = Shape::new(tokens, shape.cols);
        let activations = Plain::random(activation_format(kernel), groups, token_shape, 3);

        let scales = activation_scales(kernel, &activations);
        let a = Operand::activations(
            kernel,
            groups,
            token_shape,
            &activations.codes,
            &scales,
            &activations.globals,
        )
        .unwrap();
        let baked = weight.bake(kernel).unwrap();
        let b = baked.weight(kernel, &weight);
        let found = products(&a, &b, [groups, tokens, shape.rows]);
        assert_eq!(found, plain_products(&activations, &weight), "{kernel:?}");
    }
}

#[test]
fn gate_and_up_of_a_baked_w13_lie_in_one_block_of_32() {
    let shape = Shape::new(256, 16);
    let kernel = Kernel::TrtllmMoeW13;
    let mut plain = Plain::random(Format::NVFP4, 1, shape, 4);
    // Row r has code 2 (1.0) everywhere and a scale of its own: bytes 0x08 + r / 4.
    plain.codes.fill(0x22);
    plain.scales = (0..=255).map(|row| 0x08 + row / 4).collect();
    let baked = plain.bake(kernel).unwrap();
    // Places 0..8 hold rows 0, 2, .. 14 of w3, places 8..16 the same of w1.
    let scale_of_place = |place: usize| baked.scales[place % 32 * 16 + place % 128 / 32 * 4];
    for i in 0..8 {
        let row = 2 * i as u8;
        assert_eq!(scale_of_place(i), 0x08 + (128 + row) / 4);
        assert_eq!(scale_of_place(8 + i), 0x08 + row / 4);
    }
}

#[test]
fn operands_check_lengths_and_bounds() {
    let shape = Shape::new(128, 32);
    let plain = Plain::random(Format::NVFP4, 2, shape, 10);
    let kernel = Kernel::TrtllmLinear;
    let baked = plain.bake(kernel).unwrap();
    let weight = |codes: &[u8], scales: &[u8], globals: &[f32]| {
        Operand::weight(kernel, 2, shape, codes, scales, globals)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let (codes, scales) = (&baked.codes[..], &baked.scales[..]);
    assert_eq!(weight(codes, scales, &plain.globals), Ok(()));
    assert_eq!(
        weight(&codes[1..], scales, &plain.globals),
        Err("`codes` has length 4095, expected 4096".into())
    );
    assert_eq!(
        weight(codes, &scales[1..], &plain.globals),
        Err("`scales` has length 1023, expected 1024".into())
    );
    assert_eq!(
        weight(codes, scales, &[1.0]),
        Err("`global scales` has length 1, expected 2".into())
    );

    let weight = baked.weight(kernel, &plain);
    assert!(weight.value_at(1, 127, 31).is_some());
    for (matrix, row, col) in [(2, 0, 0), (0, 128, 0), (0, 0, 32)] {
        assert_eq!(weight.value_at(matrix, row, col), None);
    }
    let narrow = Shape::new(1, 16);
    let activations = Operand::activations(kernel, 1, narrow, &[0; 8], &[0], &[1.0]).unwrap();
    assert_eq!(product_at(&activations, &weight, 0, 0, 0), None);
}

#[test]
fn scales_of_another_type_are_refused() {
    for kernel in Kernel::ALL {
        let element = ScaleElement::Bf16;
        let source = Source {
            codes: &[],
            element,
            scales: &[],
        };
        let error = LayoutError::Element {
            layout: kernel.layout(),
            found: element,
        };
        let result = kernel.bake(1, Shape::new(0, 0), source, &mut [], &mut []);
        assert_eq!(result, Err(error));
    }
}

#[test]
fn runtimes_have_distinct_names_and_a_kernel_for_each_part() {
    for (i, runtime) in Runtime::ALL.into_iter().enumerate() {
        assert_eq!(Runtime::from_name(runtime.name()), Some(runtime));
        assert!(!Runtime::ALL[..i].contains(&runtime));
    }
    let trtllm = |part| Runtime::TrtllmMoe.kernel(part);
    assert_eq!(trtllm(Part::MoeGateUp), Kernel::TrtllmMoeW13);
    assert_eq!(trtllm(Part::MoeDown), Kernel::TrtllmMoeW2);
    assert_eq!(trtllm(Part::Linear), Kernel::TrtllmLinear);
    assert_eq!(Runtime::Cutlass.kernel(Part::MoeDown), Kernel::Cutlass);
}
