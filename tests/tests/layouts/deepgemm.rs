//! DeepGEMM's own kernels on a GPU.

use blockscale::layout::{
    Codes, LayoutError, ScaleLayout, Scales, Stack, k_grouped_bytes, pack_k_grouped,
    permute_scales, unpack_k_grouped, unpermute_codes,
};
use blockscale::{ScaleElement, Shape};

use crate::common::{
    Vectors, check, matrix_sizes, memory_sizes, permute, permute_code_bytes, sha256, stack_of,
    unpermute,
};

pub(crate) const TESTS: [fn(); 5] = [
    get_mn_major_tma_aligned_tensor,
    get_mn_major_tma_aligned_packed_ue8m0_tensor,
    transform_sf_into_required_layout_for_block_scales,
    get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor,
    transform_weights_for_mega_moe,
];

#[test]
fn get_mn_major_tma_aligned_tensor() {
    let vectors = Vectors::runtime("deepgemm");
    let cases = vectors.cases("mn_f32_", "input");
    assert_eq!(cases.len(), 9);
    for case in cases {
        let input = vectors.get(&format!("{case}.input"));
        let memory = vectors.get(&format!("{case}.memory"));
        let expected = &memory.data;
        let (layout, element) = (ScaleLayout::DeepGemmF32, ScaleElement::F32);
        let shape = layout.scale_memory(stack_of(input), element).unwrap();
        assert_eq!(memory_sizes(shape), matrix_sizes(memory), "{case}");
        check(
            case,
            layout,
            stack_of(input),
            element,
            &input.data,
            expected,
        );
    }
}

#[test]
fn get_mn_major_tma_aligned_packed_ue8m0_tensor() {
    let vectors = Vectors::runtime("deepgemm");
    let cases = vectors.cases("packed_", "bytes");
    assert_eq!(cases.len(), 12);
    let mut from_f32 = 0;
    for case in cases {
        let input = vectors.get(&format!("{case}.bytes"));
        let memory = vectors.get(&format!("{case}.memory"));
        let expected = &memory.data;
        let (layout, stack) = (ScaleLayout::DeepGemmPacked, stack_of(input));
        let bytes = ScaleElement::E8m0Fnu;
        let shape = layout.scale_memory(stack, bytes).unwrap();
        assert_eq!(memory_sizes(shape), matrix_sizes(memory), "{case}");
        check(case, layout, stack, bytes, &input.data, expected);

        // The library was given F32 with these exponents. Of those, it packs 0.0 and infinity as
        // bytes 0 and 255, which mean something else then; here they are refused.
        let floats: Vec<u8> = input
            .data
            .iter()
            .flat_map(|&byte| (u32::from(byte) << 23).to_le_bytes())
            .collect();
        if let Some(index) = input.data.iter().position(|byte| [0, 255].contains(byte)) {
            let scales = Scales {
                layout: ScaleLayout::Linear,
                element: ScaleElement::F32,
                bytes: &floats,
            };
            let value = f32::from_bits(u32::from(input.data[index]) << 23);
            assert_eq!(
                permute_scales(layout, stack, scales, &mut vec![0; expected.len()]),
                Err(LayoutError::NotPowerOfTwo { index, value }),
                "{case}"
            );
        } else {
            check(case, layout, stack, ScaleElement::F32, &floats, expected);
            from_f32 += 1;
        }
    }
    assert_eq!(from_f32, 5);
}

/// The steps that scales of 128 x 128 take on SM100, up to DeepSeek-V4's `wo_a` on 16 groups.
#[test]
fn transform_sf_into_required_layout_for_block_scales() {
    let vectors = Vectors::runtime("deepgemm");
    let cases = [
        (
            "broadcast_packed_0",
            256,
            "9796b19941a0966bb437102bc4ec4890bec3f7015390b56e9be6c7ad73d77157",
        ),
        (
            "broadcast_packed_1",
            384,
            "ca8f0a9184cfecf38b799914805a9b6c598a8e2a3cab1e2cceee4ca23c26b764",
        ),
        (
            "broadcast_packed_3",
            1024,
            "faa270ddcb2dd008fec73192be6e1bc4264ad276e4d42e2b247f480624993174",
        ),
        (
            "broadcast_packed_4",
            1024,
            "99173e2f64a24546d05bc70436d8889e33a4255a0eb3bd9f11f82de4afa707c8",
        ),
    ];
    assert_eq!(
        vectors.cases("broadcast_packed_", "bytes").len(),
        cases.len()
    );
    for (case, rows, hash) in cases {
        let input = vectors.get(&format!("{case}.bytes"));
        let blocks = stack_of(input);
        let stack = Stack::new(blocks.matrices, Shape::new(rows, blocks.shape.cols));
        let (layout, element) = (ScaleLayout::DeepGemmPackedBlocks, ScaleElement::E8m0Fnu);
        let memory = permute(layout, stack, element, &input.data);
        assert_eq!(sha256(&memory), hash, "{case}");
        assert_eq!(
            unpermute(layout, stack, element, &memory),
            input.data,
            "{case}"
        );
        if let Some(expected) = vectors.find(&format!("{case}.memory")) {
            assert_eq!(memory, expected.data, "{case}");
        }
    }
}

#[test]
fn get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor() {
    let vectors = Vectors::runtime("deepgemm");
    let groups: [(&str, &[usize]); 3] = [
        ("k_grouped_0", &[1, 2]),
        ("k_grouped_1", &[4, 1, 5]),
        ("k_grouped_3", &[8, 9]),
    ];
    assert_eq!(vectors.cases("k_grouped_", "bytes").len(), groups.len());
    for (case, group_cols) in groups {
        let input = vectors.get(&format!("{case}.bytes"));
        let expected = &vectors.get(&format!("{case}.out")).data;
        let rows = input.shape[1];
        let mut words = vec![0xa5; k_grouped_bytes(rows, group_cols).unwrap()];
        pack_k_grouped(rows, group_cols, &input.data, &mut words).unwrap();
        assert_eq!(words, *expected, "{case}");
        let mut back = vec![0xa5; input.data.len()];
        unpack_k_grouped(rows, group_cols, &words, &mut back).unwrap();
        assert_eq!(back, input.data, "{case}");
    }
}

#[test]
fn transform_weights_for_mega_moe() {
    let vectors = Vectors::runtime("deepgemm");
    let cases = vectors.cases("mega_moe_", "w1");
    assert_eq!(cases.len(), 2);
    for case in cases {
        for (layer, layout) in [("1", ScaleLayout::MegaMoeL1), ("2", ScaleLayout::MegaMoeL2)] {
            let get = |field: &str| vectors.get(&format!("{case}.{field}{layer}"));
            let weight = get("w");
            let stack = stack_of(weight);
            let expected = &get("out_w").data;
            assert_eq!(
                permute_code_bytes(layout, stack, &weight.data),
                *expected,
                "{case}"
            );
            let mut back = vec![0xa5; weight.data.len()];
            let bytes = expected;
            unpermute_codes(stack, Codes { layout, bytes }, &mut back).unwrap();
            assert_eq!(back, weight.data, "{case}");

            // The scales are given as packed words; a checkpoint has them row by row.
            let packed = get("s");
            let cols = packed.shape[1] * 4;
            let stack = Stack::new(stack.matrices, Shape::new(stack.shape.rows, cols));
            let element = ScaleElement::E8m0Fnu;
            let linear = unpermute(ScaleLayout::DeepGemmPacked, stack, element, &packed.data);
            check(case, layout, stack, element, &linear, &get("out_s").data);
        }
    }
}
