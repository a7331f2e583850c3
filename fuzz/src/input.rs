//! Structured input out of unstructured bytes.

use arbitrary::Unstructured;
use blockscale::format::Packing;
use blockscale::{Block, Element, Format, GlobalScale, ScaleElement, Shape};

/// The longest buffer that a target makes.
const MAX_BUFFER: usize = 1 << 14;

/// Numbers at which products overflow, counts wrap, or loops never end.
const EDGES: [usize; 8] = [
    usize::MAX,
    usize::MAX - 7,
    usize::MAX / 2 + 1,
    1 << 61,
    1 << 40,
    1 << 32,
    (1 << 31) - 1,
    65_536,
];

/// Bytes that are taken as choices, numbers and buffers, from the front. When they are used up,
/// everything is zero.
pub(crate) struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or_default()
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or_default()
    }

    pub(crate) fn float(&mut self) -> f32 {
        f32::from_bits(self.0.arbitrary().unwrap_or_default())
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Mostly small, now and then where arithmetic ends.
    pub(crate) fn size(&mut self) -> usize {
        match self.byte() {
            small @ 0..=199 => usize::from(small) % 70,
            medium @ 200..=239 => usize::from(medium - 199) * 32,
            _ => self.pick(&EDGES),
        }
    }

    pub(crate) fn shape(&mut self) -> Shape {
        let (rows, cols) = (self.size(), self.size());
        Shape::new(rows, cols)
    }

    /// A format of any parts.
    pub(crate) fn format(&mut self) -> Format {
        const ELEMENTS: [Element; 6] = [
            Element::E2m1,
            Element::E2m3,
            Element::E3m2,
            Element::E4m3Fn,
            Element::E4m3Fnuz,
            Element::E5m2,
        ];
        let grid = Block::Grid {
            rows: self.size(),
            cols: self.size(),
        };
        Format {
            element: self.pick(&ELEMENTS),
            packing: self.pick(&[Packing::Dense, Packing::Bytes]),
            block: self.pick(&[grid, grid, grid, Block::Row, Block::Tensor]),
            scale: self.scale_element(),
            global: self.pick(&[
                GlobalScale::None,
                GlobalScale::Multiplier,
                GlobalScale::Divisor,
            ]),
        }
    }

    pub(crate) fn scale_element(&mut self) -> ScaleElement {
        self.pick(&[
            ScaleElement::E4m3Fn,
            ScaleElement::E8m0Fnu,
            ScaleElement::F32,
            ScaleElement::Bf16,
            ScaleElement::F16,
        ])
    }

    /// Mostly a length that is asked for, now and then another.
    pub(crate) fn length(&mut self, asked: Option<usize>) -> usize {
        let fits = asked.filter(|&len| len <= MAX_BUFFER);
        match (fits, self.byte()) {
            (Some(len), 0..=229) => len,
            (Some(len), 230..=239) => len + 1,
            (Some(len), 240..=249) => len.saturating_sub(1),
            (_, other) => usize::from(other) % 64,
        }
    }

    /// A buffer of mostly the length that is asked for.
    pub(crate) fn buffer(&mut self, asked: Option<usize>) -> Vec<u8> {
        let len = self.length(asked);
        self.bytes(len)
    }

    /// `len` bytes: half of those that are left, over and over.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let taken = len.min(self.0.len().div_ceil(2));
        match self.0.bytes(taken) {
            Ok(bytes) if !bytes.is_empty() => bytes.iter().copied().cycle().take(len).collect(),
            _ => vec![0; len],
        }
    }

    /// As many numbers of mostly the length that is asked for, of any bits.
    pub(crate) fn floats(&mut self, asked: Option<usize>) -> Vec<f32> {
        let len = self.length(asked);
        let bytes = self.bytes(len * 4);
        let (bits, _) = bytes.as_chunks::<4>();
        bits.iter().map(|&bits| f32::from_le_bytes(bits)).collect()
    }
}
