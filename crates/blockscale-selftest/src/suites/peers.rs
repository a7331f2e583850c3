//! What other implementations store: decoded to the numbers that they decode it to, and their inputs
//! encoded as the core encodes them under the scheme that is named for them. (That the core's bytes are
//! the peers' is what `tests/tests/conformance` shows.)

use blockscale::encode::Scheme;
use blockscale::format::Packing;
use blockscale::layout::Stack;
use blockscale::{Block, Element, Format, GlobalScale, ScaleElement};

use super::CORE;
use crate::engine::{Engine, Rows};
use crate::numbers::{Kind, Numbers};
use crate::report::{Group, Report};
use crate::vectors::{ArchiveError, Vectors};

/// One peer's vectors.
struct Peer {
    file: &'static str,
    peer: &'static str,
    format: Format,
    /// What its inputs are encoded under; `None` for what it only decodes.
    scheme: Option<Scheme>,
    fields: Fields,
}

/// What a peer calls the parts.
#[derive(Clone, Copy)]
struct Fields {
    codes: &'static str,
    scales: &'static str,
    global: Option<&'static str>,
}

const PACKED: Fields = Fields {
    codes: "packed",
    scales: "scale",
    global: None,
};
const WEIGHT: Fields = Fields {
    codes: "weight",
    ..PACKED
};
const E8M0: Fields = Fields {
    scales: "e8m0",
    ..WEIGHT
};

const fn global(name: &'static str) -> Fields {
    Fields {
        global: Some(name),
        ..PACKED
    }
}

fn peers() -> Vec<Peer> {
    let with = |file, fields: Fields| {
        move |peer, format, scheme: Option<Scheme>| Peer {
            file,
            peer,
            format,
            scheme,
            fields,
        }
    };
    let modelopt = with("nvfp4_modelopt", global("scale_2"));
    let compressed = with("nvfp4_compressed_tensors", global("global_scale"));
    let torchao = with("nvfp4_torchao", global("per_tensor_scale"));
    let torchao_single = with("nvfp4_torchao", PACKED);
    let mxfp4 = with("mxfp4", PACKED);
    let mxfp6 = with("mxfp6", PACKED);
    let mxfp8 = with("mxfp8", PACKED);
    let block = with("fp8_block", WEIGHT);
    let ue8m0 = with("fp8_block_ue8m0", WEIGHT);
    let exponents = with("fp8_block_ue8m0", E8M0);
    let channel = with("fp8_tensor_channel", WEIGHT);

    let bytes = |format: Format| format.packed(Packing::Bytes);
    let (e2m3, e3m2) = (bytes(Format::MXFP6_E2M3), bytes(Format::MXFP6_E3M2));
    let bf16_scales = Format {
        scale: ScaleElement::Bf16,
        ..Format::FP8_BLOCK
    };
    let fp8 = |block, element| Format {
        block,
        element,
        ..Format::FP8_TENSOR
    };
    let (nvfp4, divisor) = (Format::NVFP4, Format::NVFP4_DIVISOR);
    let (e4m3, e5m2) = (Element::E4m3Fn, Element::E5m2);
    let ct = Scheme::COMPRESSED_TENSORS_NVFP4;
    vec![
        modelopt("modelopt", nvfp4, Some(Scheme::MODELOPT_NVFP4)),
        modelopt("modelopt_shared", nvfp4, Some(Scheme::MODELOPT_NVFP4)),
        compressed("ct", divisor, Some(ct)),
        compressed("ct_f32", divisor, Some(ct)),
        torchao("ao", nvfp4, Some(Scheme::TORCHAO_NVFP4)),
        torchao_single(
            "ao_single",
            Format::NVFP4_ONE_LEVEL,
            Some(Scheme::TORCHAO_NVFP4),
        ),
        mxfp4(
            "ao_e2m1_floor",
            Format::MXFP4,
            Some(Scheme::TORCHAO_MX_FLOOR),
        ),
        mxfp4("ao_e2m1_ceil", Format::MXFP4, Some(Scheme::TORCHAO_MX_CEIL)),
        mxfp4("ao_e2m1_even", Format::MXFP4, Some(Scheme::TORCHAO_MX_EVEN)),
        mxfp4(
            "ao_e2m1_rceil",
            Format::MXFP4,
            Some(Scheme::TORCHAO_MX_RCEIL),
        ),
        mxfp4("ct", Format::MXFP4, Some(Scheme::COMPRESSED_TENSORS_MXFP4)),
        mxfp4("modelopt", Format::MXFP4, Some(Scheme::MODELOPT_MXFP4)),
        mxfp4("deepgemm", Format::MXFP4, Some(Scheme::DEEPGEMM_FP4)),
        mxfp4("tilekernels", Format::MXFP4, Some(Scheme::TILEKERNELS_FP4)),
        mxfp6("ao_e2m3_floor", e2m3, Some(Scheme::TORCHAO_MX_FLOOR)),
        mxfp6("ao_e3m2_floor", e3m2, Some(Scheme::TORCHAO_MX_FLOOR)),
        mxfp6(
            "ct",
            Format::MXFP6_E2M3,
            Some(Scheme::COMPRESSED_TENSORS_MXFP6),
        ),
        mxfp8(
            "ao_e4m3_floor",
            Format::MXFP8_E4M3,
            Some(Scheme::TORCHAO_MX_FLOOR),
        ),
        mxfp8(
            "ao_e5m2_floor",
            Format::MXFP8_E5M2,
            Some(Scheme::TORCHAO_MX_FLOOR),
        ),
        mxfp8(
            "ct",
            Format::MXFP8_E4M3,
            Some(Scheme::COMPRESSED_TENSORS_MXFP8),
        ),
        mxfp8("modelopt", Format::MXFP8_E4M3, Some(Scheme::MODELOPT_MXFP8)),
        block("deepgemm", Format::FP8_BLOCK, Some(Scheme::DEEPGEMM_FP8)),
        block("ct_f32", Format::FP8_BLOCK, None),
        block("ct", bf16_scales, Some(Scheme::COMPRESSED_TENSORS_FP8)),
        ue8m0(
            "deepgemm",
            Format::FP8_BLOCK,
            Some(Scheme::DEEPGEMM_FP8_UE8M0),
        ),
        exponents(
            "deepgemm",
            Format::FP8_BLOCK_UE8M0,
            Some(Scheme::DEEPGEMM_FP8_UE8M0),
        ),
        ue8m0("token_f32", Format::FP8_TOKEN, Some(Scheme::DEEPGEMM_FP8)),
        ue8m0("token", Format::FP8_TOKEN, Some(Scheme::DEEPGEMM_FP8_UE8M0)),
        channel("ao_tensor", fp8(Block::Tensor, e4m3), Some(Scheme::DEFAULT)),
        channel("ao_channel", fp8(Block::Row, e4m3), Some(Scheme::DEFAULT)),
        channel(
            "ao_tensor_e5m2",
            fp8(Block::Tensor, e5m2),
            Some(Scheme::DEFAULT),
        ),
        channel(
            "ao_channel_e5m2",
            fp8(Block::Row, e5m2),
            Some(Scheme::DEFAULT),
        ),
    ]
}

pub(super) fn run(
    engine: &dyn Engine,
    vectors: &Vectors,
    report: &mut Report,
) -> Result<(), ArchiveError> {
    for peer in peers() {
        peer.decode(engine, vectors, report.group("decode, vectors of peers"))?;
        peer.encode(engine, vectors, report.group("encode, inputs of peers"))?;
    }
    Ok(())
}

impl Peer {
    fn rows(&self, vectors: &Vectors, case: &str) -> Result<Rows, ArchiveError> {
        let get = |field: &str| vectors.get(self.file, &format!("{case}.{}.{field}", self.peer));
        let globals = match self.fields.global {
            Some(field) => get(field)?.numbers()?.widened(),
            None => Vec::new(),
        };
        Ok(Rows {
            codes: get(self.fields.codes)?.data.clone(),
            scales: get(self.fields.scales)?.data.clone(),
            globals,
        })
    }

    /// To the peer's numbers; as numbers, since some peers drop the sign of zero.
    fn decode(
        &self,
        engine: &dyn Engine,
        vectors: &Vectors,
        group: &mut Group,
    ) -> Result<(), ArchiveError> {
        let (file, peer) = (self.file, self.peer);
        for field in ["dequant_f32", "dequant_bf16", "dequant"] {
            for case in vectors.cases(file, peer, field) {
                let name = format!("{case}.{peer}.{field}");
                let tensor = vectors.get(file, &name)?;
                let (stack, expected) = (tensor.stack()?, tensor.numbers()?);
                let rows = self.rows(vectors, &case)?;
                let to = match expected.kind() {
                    Kind::Bf16 => Kind::Bf16,
                    _ => Kind::F32,
                };
                let found = engine.decode(&self.format, stack, &rows, to);
                let found = found.map(|numbers| unsigned_zeros(&numbers));
                let expected = Ok(unsigned_zeros(&expected));
                group.compare(|| format!("{file} {name}"), found, &expected);
            }
        }
        Ok(())
    }

    fn encode(
        &self,
        engine: &dyn Engine,
        vectors: &Vectors,
        group: &mut Group,
    ) -> Result<(), ArchiveError> {
        let Some(scheme) = &self.scheme else {
            return Ok(());
        };
        let (file, peer) = (self.file, self.peer);
        for case in vectors.cases(file, peer, self.fields.codes) {
            let Some(input) = vectors.find("inputs", &case) else {
                continue;
            };
            let (stack, values) = (input.stack()?, input.numbers()?);
            let globals = self.globals(scheme, stack, &values);
            let encode =
                |engine: &dyn Engine| engine.encode(&self.format, scheme, stack, &values, &globals);
            let what = || format!("{file} {case}.{peer}");
            group.compare(what, encode(engine), &encode(&CORE));
        }
        Ok(())
    }

    fn globals(&self, scheme: &Scheme, stack: Stack, values: &Numbers) -> Vec<f32> {
        if self.format.global == GlobalScale::None {
            return Vec::new();
        }
        CORE.amax(stack, values)
            .and_then(|amax| CORE.globals(&self.format, scheme, values.kind(), &amax))
            .unwrap_or_default()
    }
}

fn unsigned_zeros(numbers: &Numbers) -> Vec<f32> {
    let values = numbers.widened().into_iter();
    values.map(|x| if x == 0.0 { 0.0 } else { x }).collect()
}
