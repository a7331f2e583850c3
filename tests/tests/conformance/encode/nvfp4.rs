use blockscale::element::E4m3Fn;
use blockscale::encode::Scheme;
use blockscale::layout::{ScaleLayout, Scales, Stack, permute_scales};
use blockscale::{Format, ScaleElement};

use super::{Global, Input, Peer, assert_same, but_zeros, every};
use crate::vectors::{COMPRESSED_TENSORS, MODELOPT, PACKED, Stored, TORCHAO, Vectors, stack};

pub(super) const TESTS: [fn(); 7] = [
    of_modelopt,
    of_modelopt_with_a_shared_global_scale,
    of_modelopt_with_four_over_six,
    of_compressed_tensors,
    of_torchao,
    scales_of_torchao_in_tiles,
    a_weight_of_zeros_has_nan_for_scales_in_modelopt_and_torchao,
];

const MODELOPT_PEER: Peer<'_> = Peer {
    file: "nvfp4_modelopt",
    peer: "modelopt",
    format: Format::NVFP4,
    scheme: Scheme::MODELOPT_NVFP4,
    fields: &MODELOPT,
    global: Global::OfWeight,
};

const COMPRESSED_TENSORS_PEER: Peer<'_> = Peer {
    file: "nvfp4_compressed_tensors",
    peer: "ct_f32",
    format: Format::NVFP4_DIVISOR,
    scheme: Scheme::COMPRESSED_TENSORS_NVFP4,
    fields: &COMPRESSED_TENSORS,
    global: Global::OfWeight,
};

#[test]
fn of_modelopt() {
    assert_eq!(MODELOPT_PEER.check(but_zeros), 14);
}

/// The global scale is that of a fused weight.
#[test]
fn of_modelopt_with_a_shared_global_scale() {
    let peer = Peer {
        peer: "modelopt_shared",
        global: Global::Given,
        ..MODELOPT_PEER
    };
    assert_eq!(peer.check(but_zeros), 11);
}

/// In F32 and in BF16, where it rounds what its scales are made of to that.
#[test]
fn of_compressed_tensors() {
    assert_eq!(COMPRESSED_TENSORS_PEER.check(every), 10);
    let in_its_own_type = Peer {
        peer: "ct",
        ..COMPRESSED_TENSORS_PEER
    };
    assert_eq!(in_its_own_type.check(every), 15);
}

#[test]
fn of_torchao() {
    let peer = Peer {
        file: "nvfp4_torchao",
        peer: "ao",
        format: Format::NVFP4,
        scheme: Scheme::TORCHAO_NVFP4,
        fields: &TORCHAO,
        global: Global::OfWeight,
    };
    assert_eq!(peer.check(but_zeros), 14);
    let one_level = Peer {
        peer: "ao_single",
        format: Format::NVFP4_ONE_LEVEL,
        fields: &PACKED,
        global: Global::Given,
        ..peer
    };
    assert_eq!(one_level.check(every), 15);
}

/// With `is_swizzled_scales` it stores the same scales in tiles.
#[test]
fn scales_of_torchao_in_tiles() {
    let vectors = Vectors::read("nvfp4_torchao");
    let cases = vectors.cases("ao_swizzled", "scale");
    assert_eq!(cases.len(), 12);
    for case in cases {
        let linear = vectors.get(&format!("{case}.ao.scale"));
        let (_, shape) = stack(linear);
        let (layout, stack) = (ScaleLayout::Tiles128x4, Stack::single(shape));
        let element = ScaleElement::E4m3Fn;
        let scales = Scales {
            layout: ScaleLayout::Linear,
            element,
            bytes: &linear.data,
        };
        let mut tiles = vec![0xaa; layout.scale_bytes(stack, element).unwrap()];
        permute_scales(layout, stack, scales, &mut tiles).unwrap();
        let expected = &vectors.get(&format!("{case}.ao_swizzled.scale")).data;
        assert_same(&tiles, expected, case);
    }
}

/// 0 / 0, which no scheme reproduces: here the scales are 1.
#[test]
fn a_weight_of_zeros_has_nan_for_scales_in_modelopt_and_torchao() {
    let peers = [
        ("nvfp4_modelopt", "modelopt", &MODELOPT),
        ("nvfp4_modelopt", "modelopt_shared", &MODELOPT),
        ("nvfp4_torchao", "ao", &TORCHAO),
    ];
    let (matrices, shape) = Input::of(Vectors::read("inputs").get("allzero"));
    for (file, peer, fields) in peers {
        let vectors = Vectors::read(file);
        let stored = Stored::new(&vectors, "allzero", peer, fields);
        let stored = stored.matrix(&Format::NVFP4, shape, 0);
        assert_eq!(stored.global, 0.0, "{peer}");
        let is_nan = |&scale: &u8| E4m3Fn::from_bits(scale).to_f32().is_nan();
        assert!(stored.scales.iter().all(is_nan), "{peer}");

        let scheme = Scheme::MODELOPT_NVFP4;
        assert_eq!(matrices[0].global(&Format::NVFP4, &scheme), 1.0);
        let encoded = matrices[0].encode(&Format::NVFP4, &scheme, shape, 1.0);
        assert!(encoded.scales.iter().all(|&scale| scale == 0x38));
        assert!(encoded.codes.iter().all(|&codes| codes == 0));
    }
}

/// The choice between two scales for each block, by the squared error of ModelOpt's own kernel.
#[test]
fn of_modelopt_with_four_over_six() {
    let peer = Peer {
        file: "nvfp4_four_over_six",
        scheme: Scheme::MODELOPT_FOUR_OVER_SIX,
        ..MODELOPT_PEER
    };
    assert_eq!(peer.check(every), 6);
}
