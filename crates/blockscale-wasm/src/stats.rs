//! The core's statistics as JavaScript has them.

use blockscale::stats::{BlockStats, ErrorStats, ScaleStats, ValueStats};
use blockscale::{Format, ScaleElement};
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
        "std": Number(deviation(stats)),
        "maxAbs": Number::from(stats.max_abs),
    })
}

/// Standard deviation of the finite numbers.
fn deviation(stats: &ValueStats) -> f64 {
    let finite = stats.finite().max(1) as f64;
    let mean = stats.sum / finite;
    (stats.sum_sq / finite - mean * mean).max(0.0).sqrt()
}

/// `name` is the type of the scales, `element` that by whose bytes or exponents they are counted.
pub(crate) fn scale_stats_json(stats: &ScaleStats, name: &str, element: ScaleElement) -> Value {
    let by_byte = element.bytes() == 1;
    let value = |entry: u8| match by_byte {
        true => Number::from(element.decode(&[entry])),
        // The power of two of that exponent; 0 is that of zeros and subnormals, 255 of no number.
        false if entry == 0 => Number(0.0),
        false if entry == 255 => Number(f64::NAN),
        false => Number(f64::from(f32::from_bits(u32::from(entry) << 23))),
    };
    json!({
        "count": stats.count,
        "element": name,
        "counts": stats.histogram.to_vec(),
        // What an entry of `counts` stands for.
        "countsBy": if by_byte { "byte" } else { "exponent" },
        "values": (0..=255).map(value).collect::<Vec<_>>(),
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
        "rmsError": Number(rms_error(stats)),
        "specialMismatch": stats.special_mismatch,
        "exact": stats.is_exact(),
    })
}

/// Root mean square of the errors of finite pairs; NaN where there is none.
pub(crate) fn rms_error(stats: &ErrorStats) -> f64 {
    (stats.sum_err_sq / stats.finite as f64).sqrt()
}
