//! The table of peers: whose bytes each scheme gives, found by encoding their inputs.

use blockscale::encode::{Scheme, amax, encode_rows_with, global_scale_with};
use blockscale::format::Packing;
use blockscale::ggml::unpack_mxfp4;
use blockscale::{Element, Format, Real, ScaleElement, Shape, bf16};
use blockscale_tests::{Dtype, Tensor};

use crate::page;
use crate::schemes::SCHEMES;
use crate::vectors::{
    COMPRESSED_TENSORS, Fields, MODELOPT, PACKED, TORCHAO, Vectors, WEIGHT, stack,
};

/// Peers of one file whose bytes one scheme is to give.
struct Row {
    scheme: &'static str,
    file: &'static str,
    /// Each with its format and the names of its fields.
    peers: Vec<(&'static str, Format, &'static Fields)>,
}

const E2M3_BYTES: Format = Format::MXFP6_E2M3.packed(Packing::Bytes);
const E3M2_BYTES: Format = Format::MXFP6_E3M2.packed(Packing::Bytes);
const FP8_TENSOR_E5M2: Format = Format {
    element: Element::E5m2,
    ..Format::FP8_TENSOR
};
const FP8_CHANNEL_E5M2: Format = Format {
    element: Element::E5m2,
    ..Format::FP8_CHANNEL
};

fn rows() -> Vec<Row> {
    let one = |scheme, file, peer, format, fields| Row {
        scheme,
        file,
        peers: vec![(peer, format, fields)],
    };
    let two = |scheme, file, a, b| Row {
        scheme,
        file,
        peers: vec![a, b],
    };
    let tensor_and_channel = |scheme, tensor, channel| {
        let (a, b) = (Format::FP8_TENSOR, Format::FP8_CHANNEL);
        two(
            scheme,
            "fp8_tensor_channel",
            (tensor, a, &WEIGHT),
            (channel, b, &WEIGHT),
        )
    };
    let blocks = |scheme, peer| one(scheme, "fp8_block", peer, Format::FP8_BLOCK, &WEIGHT);
    let mxfp4 = |scheme, peer| one(scheme, "mxfp4", peer, Format::MXFP4, &PACKED);

    let nvfp4 = Format::NVFP4;
    let compressed_tensors = |peer| {
        let (scheme, file) = ("COMPRESSED_TENSORS_NVFP4", "nvfp4_compressed_tensors");
        one(
            scheme,
            file,
            peer,
            Format::NVFP4_DIVISOR,
            &COMPRESSED_TENSORS,
        )
    };
    let mut rows = vec![
        two(
            "MODELOPT_NVFP4",
            "nvfp4_modelopt",
            ("modelopt", nvfp4, &MODELOPT),
            ("modelopt_shared", nvfp4, &MODELOPT),
        ),
        one(
            "MODELOPT_FOUR_OVER_SIX",
            "nvfp4_four_over_six",
            "modelopt",
            nvfp4,
            &MODELOPT,
        ),
        compressed_tensors("ct_f32"),
        compressed_tensors("ct"),
        two(
            "TORCHAO_NVFP4",
            "nvfp4_torchao",
            ("ao", nvfp4, &TORCHAO),
            ("ao_single", Format::NVFP4_ONE_LEVEL, &PACKED),
        ),
    ];
    rows.extend(torchao_mx());
    rows.extend([
        mxfp4("COMPRESSED_TENSORS_MXFP4", "ct"),
        one(
            "COMPRESSED_TENSORS_MXFP6",
            "mxfp6",
            "ct",
            Format::MXFP6_E2M3,
            &PACKED,
        ),
        one(
            "COMPRESSED_TENSORS_MXFP8",
            "mxfp8",
            "ct",
            Format::MXFP8_E4M3,
            &PACKED,
        ),
        mxfp4("MODELOPT_MXFP4", "modelopt"),
        one(
            "MODELOPT_MXFP8",
            "mxfp8",
            "modelopt",
            Format::MXFP8_E4M3,
            &PACKED,
        ),
        mxfp4("DEEPGEMM_FP4", "deepgemm"),
        mxfp4("TILEKERNELS_FP4", "tilekernels"),
        one("GGML_MXFP4", "gguf", "mxfp4", Format::MXFP4, &PACKED),
        blocks("DEEPGEMM_FP8", "deepgemm"),
        one(
            "DEEPGEMM_FP8",
            "fp8_block_ue8m0",
            "token_f32",
            Format::FP8_TOKEN,
            &WEIGHT,
        ),
        two(
            "DEEPGEMM_FP8_UE8M0",
            "fp8_block_ue8m0",
            ("deepgemm", Format::FP8_BLOCK, &WEIGHT),
            ("token", Format::FP8_TOKEN, &WEIGHT),
        ),
        blocks("COMPRESSED_TENSORS_FP8", "ct_f32"),
        blocks("COMPRESSED_TENSORS_FP8", "ct"),
        tensor_and_channel("COMPRESSED_TENSORS_FP8", "ct_tensor", "ct_channel"),
        blocks("MODELOPT_FP8", "modelopt_f32"),
        blocks("MODELOPT_FP8", "modelopt"),
        tensor_and_channel("MODELOPT_FP8", "modelopt_tensor", "modelopt_channel"),
        tensor_and_channel("TORCHAO_FP8", "ao_tensor", "ao_channel"),
        two(
            "TORCHAO_FP8",
            "fp8_tensor_channel",
            ("ao_tensor_e5m2", FP8_TENSOR_E5M2, &WEIGHT),
            ("ao_channel_e5m2", FP8_CHANNEL_E5M2, &WEIGHT),
        ),
    ]);
    rows
}

fn torchao_mx() -> Vec<Row> {
    let mode = |scheme, fp4, e2m3, e3m2, e4m3, e5m2| {
        [
            ("mxfp4", vec![(fp4, Format::MXFP4, &PACKED)]),
            (
                "mxfp6",
                vec![(e2m3, E2M3_BYTES, &PACKED), (e3m2, E3M2_BYTES, &PACKED)],
            ),
            (
                "mxfp8",
                vec![
                    (e4m3, Format::MXFP8_E4M3, &PACKED),
                    (e5m2, Format::MXFP8_E5M2, &PACKED),
                ],
            ),
        ]
        .map(|(file, peers)| Row {
            scheme,
            file,
            peers,
        })
    };
    macro_rules! mode {
        ($scheme:literal, $mode:literal) => {
            mode(
                $scheme,
                concat!("ao_e2m1_", $mode),
                concat!("ao_e2m3_", $mode),
                concat!("ao_e3m2_", $mode),
                concat!("ao_e4m3_", $mode),
                concat!("ao_e5m2_", $mode),
            )
        };
    }
    [
        mode!("TORCHAO_MX_FLOOR", "floor"),
        mode!("TORCHAO_MX_CEIL", "ceil"),
        mode!("TORCHAO_MX_EVEN", "even"),
        mode!("TORCHAO_MX_RCEIL", "rceil"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(crate) fn table() -> String {
    let head = ["`Scheme::`", "vectors", "of", "same bytes", "other bytes"];
    let inputs = Vectors::read("inputs");
    let row = |row: Row| {
        let vectors = Vectors::read(row.file);
        let (_, scheme, _) = SCHEMES
            .iter()
            .find(|(name, ..)| *name == row.scheme)
            .unwrap();
        let (mut same, mut cases, mut others) = (0, 0, Vec::new());
        for (peer, format, fields) in &row.peers {
            for case in vectors.cases(peer, fields.codes) {
                cases += 1;
                let peer = Peer {
                    vectors: &vectors,
                    peer,
                    format: *format,
                    fields,
                };
                match peer.gives_the_same(scheme, case, inputs.get(case)) {
                    true => same += 1,
                    false => others.push(case.to_owned()),
                }
            }
        }
        others.sort();
        others.dedup();
        let peers: Vec<_> = row
            .peers
            .iter()
            .map(|(peer, ..)| format!("`{peer}`"))
            .collect();
        [
            format!("`{}`", row.scheme),
            format!("`{}`", row.file),
            peers.join(", "),
            format!("{same} of {cases}"),
            others.join(", "),
        ]
    };
    let rows: Vec<_> = rows().into_iter().map(row).collect();
    page::table(head, &rows)
}

/// One peer in its file.
struct Peer<'a> {
    vectors: &'a Vectors,
    peer: &'a str,
    format: Format,
    fields: &'a Fields,
}

impl Peer<'_> {
    /// Whether all codes and scales of a case come out as the peer stores them.
    fn gives_the_same(&self, scheme: &Scheme, case: &str, input: &Tensor) -> bool {
        let (matrices, shape) = stack(input);
        let len = shape.len().unwrap();
        let stored = self.stored(case, shape);
        (0..matrices).all(|index| {
            let range = index * len..(index + 1) * len;
            match input.dtype {
                Dtype::BF16 => {
                    let bits = input.bf16_bits();
                    let values: Vec<_> = bits[range].iter().copied().map(bf16::from_bits).collect();
                    // Peers whose name ends so were given the weight in F32.
                    if self.peer.ends_with("_f32") {
                        let values: Vec<_> = values.into_iter().map(bf16::to_f32).collect();
                        return stored.is_encoding_of(scheme, shape, &values, index);
                    }
                    stored.is_encoding_of(scheme, shape, &values, index)
                }
                _ => stored.is_encoding_of(scheme, shape, &input.f32s()[range], index),
            }
        })
    }

    fn stored(&self, case: &str, shape: Shape) -> Stored {
        let get = |field: &str| self.vectors.get(&format!("{case}.{}.{field}", self.peer));
        let codes = get(self.fields.codes).data.clone();
        if self.peer == "mxfp4" {
            return Stored::of_ggml(self.format, shape, &codes);
        }
        let scales = get(self.fields.scales);
        Stored {
            format: match scales.dtype {
                Dtype::BF16 => Format {
                    scale: ScaleElement::Bf16,
                    ..self.format
                },
                _ => self.format,
            },
            codes,
            scales: scales.data.clone(),
            globals: self.fields.global.map(|field| get(field).f32s()),
            // A weight that shares its scale with others was given it.
            global_is_given: self.peer == "modelopt_shared",
        }
    }
}

/// What a peer stores for a stack of matrices.
struct Stored {
    format: Format,
    codes: Vec<u8>,
    scales: Vec<u8>,
    globals: Option<Vec<f32>>,
    global_is_given: bool,
}

impl Stored {
    /// Blocks of ggml, taken apart.
    fn of_ggml(format: Format, shape: Shape, blocks: &[u8]) -> Self {
        let mut codes = vec![0; format.code_bytes(shape).unwrap()];
        let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
        unpack_mxfp4(shape, blocks, &mut codes, &mut scales).unwrap();
        Self {
            format,
            codes,
            scales,
            globals: None,
            global_is_given: false,
        }
    }

    fn is_encoding_of<T: Real>(
        &self,
        scheme: &Scheme,
        shape: Shape,
        values: &[T],
        index: usize,
    ) -> bool {
        let format = &self.format;
        let mut codes = vec![0; format.code_bytes(shape).unwrap()];
        let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
        let own_global = global_scale_with(format, scheme, T::from_f32(amax(values)));
        let global = match &self.globals {
            Some(globals) if self.global_is_given => globals[index],
            _ => own_global,
        };
        encode_rows_with(
            format,
            scheme,
            shape,
            values,
            global,
            &mut codes,
            &mut scales,
        )
        .unwrap();
        let at = |all: &[u8], one: &[u8]| all[index * one.len()..][..one.len()] == *one;
        let same_global = self
            .globals
            .as_ref()
            .is_none_or(|globals| globals[index] == global);
        same_global && at(&self.codes, &codes) && at(&self.scales, &scales)
    }
}

/// Except two: what this project does, and one of which there are no vectors.
#[test]
fn every_scheme_of_a_peer_has_a_row() {
    let rows = rows();
    let without: Vec<_> = SCHEMES
        .iter()
        .map(|(name, ..)| *name)
        .filter(|name| rows.iter().all(|row| row.scheme != *name))
        .collect();
    assert_eq!(without, ["DEFAULT", "FOUR_OVER_SIX"]);
}
