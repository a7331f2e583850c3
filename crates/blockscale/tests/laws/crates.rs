//! The element types against other crates, on every 16-bit float and around every bound, with the
//! deviations of those crates listed.

use blockscale::element::{E8m0Fnu, EncodePolicy, NanCode, Overflow};
use blockscale::{Element, bf16, f16};

/// Every bf16 and f16, and each midpoint between two values of the type with its neighbours.
fn inputs(element: Element) -> impl Iterator<Item = f32> {
    let codes = 0..1_u8 << (element.bits() - 1);
    let values: Vec<f32> = codes.map(|code| element.decode(code)).collect();
    let middles: Vec<f32> = values
        .windows(2)
        .map(|pair| (pair[0] + pair[1]) / 2.0)
        .collect();
    let around = middles.into_iter().filter(|x| x.is_finite()).flat_map(|x| {
        [x.next_down(), x, x.next_up()]
            .into_iter()
            .flat_map(|x| [x, -x])
    });
    (0..=u16::MAX)
        .flat_map(|bits| {
            [
                bf16::from_bits(bits).to_f32(),
                f16::from_bits(bits).to_f32(),
            ]
        })
        .chain(around)
}

/// The policy of ml_dtypes, which microfloat follows: overflow is special, NaN keeps its sign.
fn of_ml_dtypes(element: Element) -> EncodePolicy {
    let nan = match element {
        Element::E4m3Fn => NanCode::Signed(0x7f),
        Element::E5m2 => NanCode::Signed(0x7e),
        _ => NanCode::Opposite(0),
    };
    EncodePolicy {
        overflow: Overflow::Special,
        nan,
        ..EncodePolicy::DEFAULT
    }
}

#[test]
fn microfloat_rounds_the_same_but_at_the_bound_of_e4m3() {
    type Row = (Element, fn(f32) -> u8, fn(u8) -> f32);
    macro_rules! row {
        ($element:ident, $theirs:ident) => {
            (
                Element::$element,
                |x| microfloat::$theirs::from_f32(x).to_bits(),
                |code| microfloat::$theirs::from_bits(code).to_f32(),
            )
        };
    }
    let rows: [Row; 6] = [
        row!(E2m1, f4e2m1fn),
        row!(E2m3, f6e2m3fn),
        row!(E3m2, f6e3m2fn),
        row!(E4m3Fn, f8e4m3fn),
        row!(E4m3Fnuz, f8e4m3fnuz),
        row!(E5m2, f8e5m2),
    ];
    for (element, theirs, decode) in rows {
        for code in (0..=u8::MAX).take(1 << element.bits()) {
            let (ours, theirs) = (element.decode(code), decode(code));
            let same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
            assert!(same, "{element} {code:#04x}: {ours} {theirs}");
        }
        let policy = of_ml_dtypes(element);
        for x in inputs(element) {
            // Of a NaN without a code microfloat makes -0, whatever its sign.
            if x.is_nan() && element.bits() < 8 {
                assert_eq!(theirs(x), 1 << (element.bits() - 1), "{element}");
                continue;
            }
            // microfloat makes the tie between 448 and 480 NaN; ml_dtypes rounds it to 448.
            if element == Element::E4m3Fn && x.abs() == 464.0 {
                assert_eq!(theirs(x) & 0x7f, 0x7f);
                assert_eq!(element.encode_with(x, &policy) & 0x7f, 0x7e);
                continue;
            }
            assert_eq!(
                element.encode_with(x, &policy),
                theirs(x),
                "{element} of {x:e}"
            );
        }
    }
}

#[test]
fn float4_rounds_e2m1_the_same() {
    for x in inputs(Element::E2m1).filter(|x| !x.is_nan()) {
        let theirs = float4::F4E2M1::from_f64(f64::from(x)).to_bits();
        assert_eq!(Element::E2m1.encode(x), theirs, "{x:e}");
    }
    for code in 0..16 {
        let theirs = float4::F4E2M1::from_bits(code).to_f64();
        assert_eq!(f64::from(Element::E2m1.decode(code)), theirs);
    }
}

#[test]
fn float8_rounds_the_same_and_saturates_too() {
    for x in inputs(Element::E4m3Fn).filter(|x| !x.is_nan()) {
        let theirs = float8::F8E4M3::from_f32(x).to_bits();
        assert_eq!(Element::E4m3Fn.encode(x), theirs, "E4M3 of {x:e}");
    }
    for x in inputs(Element::E5m2).filter(|x| !x.is_nan()) {
        let theirs = float8::F8E5M2::from_f32(x).to_bits();
        assert_eq!(Element::E5m2.encode(x), theirs, "E5M2 of {x:e}");
    }
}

/// What they make of numbers that have no power of two, each in its way.
#[test]
fn powers_of_two_of_the_crates_part_where_there_is_none() {
    let ours = |x: f32| {
        let (ceil, nearest) = (E8m0Fnu::from_f32_ceil(x), E8m0Fnu::from_f32_nearest(x));
        [ceil.to_bits(), nearest.to_bits()]
    };
    let theirs = |x: f32| {
        let ceil = float4::E8M0::from_f64(f64::from(x)).to_bits();
        [ceil, microfloat::f8e8m0fnu::from_f32(x).to_bits()]
    };
    assert_eq!((ours(0.0), theirs(0.0)), ([0, 0], [0, 0xff]));
    assert_eq!((ours(-1.0), theirs(-1.0)), ([0, 0], [0, 0xff]));
    let infinity = f32::INFINITY;
    assert_eq!(
        (ours(infinity), theirs(infinity)),
        ([0xff, 0xff], [0xfe, 0xff])
    );
    let top = 1.5 * 2_f32.powi(127);
    assert_eq!((ours(top), theirs(top)), ([0xfe, 0xff], [0xfe, 0xfe]));
    assert_eq!((ours(f32::NAN)), ([0xff, 0xff]));
}

/// Elsewhere they agree, though float4 takes a logarithm.
#[test]
fn powers_of_two_of_the_crates_agree_on_ordinary_numbers() {
    for bits in 0..=u16::MAX {
        let x = bf16::from_bits(bits).to_f32();
        if x >= f32::MIN_POSITIVE && x <= 2_f32.powi(126) {
            let ceil = float4::E8M0::from_f64(f64::from(x)).to_bits();
            assert_eq!(E8m0Fnu::from_f32_ceil(x).to_bits(), ceil, "{x:e}");
            let nearest = microfloat::f8e8m0fnu::from_f32(x).to_bits();
            assert_eq!(E8m0Fnu::from_f32_nearest(x).to_bits(), nearest, "{x:e}");
        }
    }
}
