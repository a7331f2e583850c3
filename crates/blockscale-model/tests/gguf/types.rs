//! The table of types.

use blockscale_model::gguf::GgmlType;

#[test]
fn every_type_keeps_its_id_and_its_size() {
    // Blocks by their parts, as ggml's `ggml-common.h` lays them out.
    let sizes: [(u32, &str, usize, usize); 35] = [
        (0, "F32", 1, 4),
        (1, "F16", 1, 2),
        (2, "Q4_0", 32, 2 + 16),
        (3, "Q4_1", 32, 2 + 2 + 16),
        (6, "Q5_0", 32, 2 + 4 + 16),
        (7, "Q5_1", 32, 2 + 2 + 4 + 16),
        (8, "Q8_0", 32, 2 + 32),
        (9, "Q8_1", 32, 2 + 2 + 32),
        (10, "Q2_K", 256, 16 + 64 + 2 + 2),
        (11, "Q3_K", 256, 32 + 64 + 12 + 2),
        (12, "Q4_K", 256, 2 + 2 + 12 + 128),
        (13, "Q5_K", 256, 2 + 2 + 12 + 32 + 128),
        (14, "Q6_K", 256, 128 + 64 + 16 + 2),
        (15, "Q8_K", 256, 4 + 256 + 2 * 16),
        (16, "IQ2_XXS", 256, 2 + 2 * 32),
        (17, "IQ2_XS", 256, 2 + 2 * 32 + 8),
        (18, "IQ3_XXS", 256, 2 + 64 + 32),
        (19, "IQ1_S", 256, 2 + 32 + 2 * 8),
        (20, "IQ4_NL", 32, 2 + 16),
        (21, "IQ3_S", 256, 2 + 64 + 8 + 32 + 4),
        (22, "IQ2_S", 256, 2 + 64 + 8 + 8),
        (23, "IQ4_XS", 256, 2 + 2 + 4 + 128),
        (24, "I8", 1, 1),
        (25, "I16", 1, 2),
        (26, "I32", 1, 4),
        (27, "I64", 1, 8),
        (28, "F64", 1, 8),
        (29, "IQ1_M", 256, 32 + 16 + 8),
        (30, "BF16", 1, 2),
        (34, "TQ1_0", 256, 48 + 4 + 2),
        (35, "TQ2_0", 256, 64 + 2),
        (39, "MXFP4", 32, 1 + 16),
        (40, "NVFP4", 64, 4 + 32),
        (41, "Q1_0", 128, 2 + 16),
        (42, "Q2_0", 64, 2 + 16),
    ];
    let found: Vec<_> = GgmlType::ALL
        .iter()
        .map(|kind| {
            (
                kind.id(),
                kind.name(),
                kind.block_elements(),
                kind.block_bytes(),
            )
        })
        .collect();
    assert_eq!(found, sizes);
    for id in 0..1000 {
        let known = sizes.iter().any(|size| size.0 == id);
        assert_eq!(GgmlType::from_id(id).map(GgmlType::id), known.then_some(id));
    }
}
