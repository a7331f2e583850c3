//! The core's statistics as JavaScript has them.

use blockscale::Format;
use blockscale::stats::{BlockStats, ErrorStats, ScaleStats, ValueStats};
use serde_json::{Value, json};

use crate::js::Number;

pub(crate) fn value_stats_json(stats: &ValueStats) -> Value {
    let finite = stats.finite().max(1) as f64;
    json!({
        "count": stats.count,
        "nan": stats.nan,
        "infinite": stats.inf,
        "zeros": stats.zeros,
        "mean": Number(stats.sum / finite),
        "rms": Number(stats.rms()),
        "maxAbs": Number::from(stats.max_abs),
    })
}

pub(crate) fn scale_stats_json(stats: &ScaleStats, format: &Format) -> Value {
    json!({
        "count": stats.count,
        "element": format.scale.name(),
        "counts": stats.histogram.to_vec(),
        // What an entry of `counts` stands for.
        "countsBy": if format.scale.bytes() == 1 { "byte" } else { "exponent" },
        "zeros": stats.zeros,
        "negative": stats.negative,
        "notFinite": stats.not_finite,
        "ones": stats.ones,
        "notPowerOfTwo": stats.not_power_of_two,
        "min": Number::from(stats.min),
        "max": Number::from(stats.max),
        "constant": stats.is_constant(),
    })
}

pub(crate) fn block_stats_json(stats: &BlockStats, format: &Format) -> Value {
    let codes = 1 << format.element.bits();
    let most = format.element.max_finite();
    let saturated = stats.count_where(format.element, |value| value.abs() == most);
    json!({
        "element": format.element.name(),
        "codes": stats.codes[..codes].to_vec(),
        "values": (0..codes)
            .map(|code| Number::from(format.element.decode(code as u8)))
            .collect::<Vec<_>>(),
        "count": stats.count(),
        "zeros": stats.count_where(format.element, |value| value == 0.0),
        "saturated": saturated,
        "blocks": stats.blocks,
        "zeroBlocks": stats.zero_blocks,
        "silenced": stats.silenced,
    })
}

pub(crate) fn error_stats_json(stats: &ErrorStats) -> Value {
    json!({
        "count": stats.count,
        "finite": stats.finite,
        "differing": stats.differing,
        "sqnrDb": Number(stats.sqnr_db()),
        "cosine": Number(stats.cosine()),
        "relativeL2": Number(stats.relative_l2()),
        "normRatio": Number(stats.norm_ratio()),
        "maxAbsError": Number(stats.max_abs_err),
        "specialMismatch": stats.special_mismatch,
        "exact": stats.is_exact(),
    })
}
