//! Which interpretations a format and a shape leave open.

use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
use blockscale::layout::{RowShuffle, ScaleLayout, Stack};

use super::codes::nibble_block;
use super::{Interpretation, NibbleOrder, ScaleOrder, ScaleUse, SignForm};

/// Layouts whose scale plane may be as long as the plane of rows, simplest first.
const LAYOUTS: [ScaleLayout; 9] = [
    ScaleLayout::Tiles128x4,
    ScaleLayout::Tiles8x4,
    ScaleLayout::DeepGemmPacked,
    ScaleLayout::MegaMoeL2,
    ScaleLayout::TrtllmLinear(RowShuffle::By32),
    ScaleLayout::TrtllmMoeW13(RowShuffle::By32),
    ScaleLayout::TrtllmLinear(RowShuffle::By16),
    ScaleLayout::TrtllmMoeW13(RowShuffle::By16),
    ScaleLayout::MegaMoeL1,
];

/// Every order that the rows and scales of a matrix can be in, as stored first.
///
/// Only orders in which the scale plane is as long as in rows: others show in the shape.
pub fn orders(format: &Format, shape: Shape) -> Vec<Interpretation> {
    let stored = Interpretation::AS_STORED;
    let mut orders = vec![stored];
    let plane = format.scale_shape(shape);
    if plane.rows < 2 || plane.cols < 2 {
        return orders;
    }
    let scales = |scales| Interpretation { scales, ..stored };
    orders.push(scales(ScaleOrder::Transposed));
    if !matches!(format.block, Block::Grid { rows: 0 | 1, .. }) {
        return orders;
    }
    let layouts = LAYOUTS.into_iter().filter(|layout| {
        let stack = Stack::single(Shape::new(shape.rows, plane.cols));
        let linear = plane.rows * plane.cols * format.scale.bytes();
        layout.scale_bytes(stack, format.scale) == Ok(linear)
    });
    for layout in layouts {
        orders.push(scales(ScaleOrder::In(layout)));
        if layout == ScaleLayout::Tiles128x4 {
            orders.push(scales(ScaleOrder::Twice(layout)));
            orders.push(scales(ScaleOrder::Undone(layout)));
        }
        if moves_rows(layout, shape.rows) {
            let codes = Interpretation {
                code_rows: Some(layout),
                ..stored
            };
            orders.push(Interpretation {
                scales: ScaleOrder::In(layout),
                ..codes
            });
            orders.push(codes);
        }
    }
    orders
}

/// Whether codes of so many rows are moved by a layout.
fn moves_rows(layout: ScaleLayout, rows: usize) -> bool {
    moves_codes(layout) && layout.code_bytes(Stack::single(Shape::new(rows, 1))) == Ok(rows)
}

/// Whether a layout moves rows of codes as well as scales.
pub fn moves_codes(layout: ScaleLayout) -> bool {
    matches!(
        layout,
        ScaleLayout::TrtllmLinear(_)
            | ScaleLayout::TrtllmMoeW2(_)
            | ScaleLayout::TrtllmMoeW13(_)
            | ScaleLayout::MegaMoeL1
    )
}

/// The orders of nibbles that a format leaves open.
pub fn nibble_orders(format: &Format) -> &'static [NibbleOrder] {
    match nibble_block(format) {
        Some(_) => &[
            NibbleOrder::Pairs,
            NibbleOrder::Swapped,
            NibbleOrder::Halves,
        ],
        None => &[NibbleOrder::Pairs],
    }
}

/// The forms of signs that a format leaves open.
pub fn sign_forms(format: &Format) -> &'static [SignForm] {
    match format.element.bits() {
        4 | 8 => &[SignForm::Magnitude, SignForm::TwosComplement],
        _ => &[SignForm::Magnitude],
    }
}

/// The other element that bytes of a format may hold.
pub fn elements(format: &Format) -> Vec<Option<Element>> {
    let other = match format.element {
        Element::E4m3Fn => Some(Element::E5m2),
        Element::E5m2 => Some(Element::E4m3Fn),
        _ => None,
    };
    [None].into_iter().chain(other.map(Some)).collect()
}

/// How block scales may be applied. Reciprocals of E4M3 scales are not written by anything.
pub fn scale_uses(format: &Format) -> &'static [ScaleUse] {
    match format.scale {
        ScaleElement::E4m3Fn => &[ScaleUse::Multiplies],
        _ => &[ScaleUse::Multiplies, ScaleUse::Divides],
    }
}

/// Whether there is a second-level scale.
pub fn has_global(format: &Format) -> bool {
    format.global != GlobalScale::None
}
