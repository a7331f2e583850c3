use blockscale::Format;
use blockscale::encode::Scheme;
use blockscale_tests::Dtype;

use super::{Global, Peer, assert_within_a_step, but_zeros};
use crate::vectors::{COMPRESSED_TENSORS, MODELOPT, PACKED, TORCHAO};

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

/// In F32; it takes a weight of zeros too.
#[test]
fn of_compressed_tensors() {
    assert_eq!(COMPRESSED_TENSORS_PEER.check(super::every), 10);
    let in_input_type = Peer {
        peer: "ct",
        ..COMPRESSED_TENSORS_PEER
    };
    assert_eq!(in_input_type.check(|_, dtype| dtype == Dtype::F32), 5);
}

/// Where the weight is BF16, it rounds a sixth of a block's largest magnitude to BF16.
#[test]
fn of_compressed_tensors_in_bf16_to_a_step() {
    let peer = Peer {
        peer: "ct",
        ..COMPRESSED_TENSORS_PEER
    };
    let (mut matrices, mut differing) = (0, 0);
    peer.each_matrix(
        |case, dtype| dtype == Dtype::BF16 && case != "allzero",
        |what, input, shape, stored| {
            let encoded = input.encode(&peer.format, &peer.scheme, shape, stored.global);
            for (&ours, &theirs) in encoded.scales.iter().zip(stored.scales) {
                assert!(ours.abs_diff(theirs) <= 1, "{what} scale: {ours} {theirs}");
            }
            let codes = input.codes(&peer.format, &peer.scheme, shape, stored);
            differing += assert_within_a_step(&peer.format, &codes, stored.codes, what);
            matrices += 1;
        },
    );
    assert_eq!((matrices, differing), (9, 0));
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
    assert_eq!(one_level.check(super::every), 15);
}
