//! Weights in the adapter's memory, in parts that fit its buffers.

use blockscale::Shape;
use wgpu::{BindGroup, BufferUsages};

use crate::device::{Handle, buffer_with};
use crate::geometry::Geometry;
use crate::kernel::{Kernels, bind_group};
use crate::{GpuError, Kind, Stored, Window};

/// A weight in the adapter's memory, by [`Gpu::upload`](crate::Gpu::upload).
///
/// It takes what the stored bytes take, and four bytes for each scale that is not a byte. Dropping
/// it frees them.
#[derive(Debug)]
pub struct Resident {
    kind: Kind,
    shape: Shape,
    pub(crate) parts: Vec<Part>,
}

/// Some rows of a weight, or some columns of one row.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) elements: Window,
    /// Scales whose first element lies here: each scale is in one part's window only.
    pub(crate) scales: Window,
    /// Its buffers, to be bound as either weight of a kernel.
    pub(crate) group: BindGroup,
}

impl Resident {
    /// What the bytes are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Rows and columns in elements.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) async fn upload(
        handle: &Handle,
        kernels: &Kernels,
        stored: &Stored<'_>,
        part_bytes: usize,
    ) -> Result<Self, GpuError> {
        let (kind, shape) = (stored.kind(), stored.shape());
        if shape.rows.max(shape.cols) > u32::MAX as usize - 1 {
            return Err(GpuError::TooLarge { shape });
        }
        let tables = handle
            .guarded(|device, queue| {
                let tables = tables(stored);
                let bytes = bytemuck::cast_slice(&tables);
                buffer_with(device, queue, BufferUsages::STORAGE, bytes)
            })
            .await?;
        let geometry = Geometry::of(stored);
        let mut parts = Vec::new();
        for elements in geometry.cut(part_bytes) {
            let group = handle
                .guarded(|device, queue| {
                    let buffer = |usage, bytes: &[u8]| buffer_with(device, queue, usage, bytes);
                    let parameters = geometry.parameters(&elements);
                    let group = [
                        &buffer(BufferUsages::UNIFORM, bytemuck::bytes_of(&parameters)),
                        &buffer(BufferUsages::STORAGE, geometry.codes(stored, &elements)),
                        &buffer(BufferUsages::STORAGE, &geometry.scales(stored, &elements)),
                        &tables,
                    ];
                    // What was written lies in memory of the host until something is submitted.
                    queue.submit([]);
                    bind_group(device, &kernels.weight, &group)
                })
                .await?;
            parts.push(Part {
                scales: geometry.scales_that_start_in(&elements),
                elements,
                group,
            });
        }
        Ok(Self { kind, shape, parts })
    }
}

/// The values of all codes, then the scales of both levels for all bytes, as the core has them.
fn tables(stored: &Stored<'_>) -> Vec<u32> {
    let Kind::Blocks(format) = stored.kind() else {
        return Vec::new();
    };
    let codes = 0..=u8::MAX;
    let elements = codes.clone().map(|code| format.element.decode(code));
    let scales = codes.map(|code| format.effective_scale(&[code], stored.global()));
    elements.chain(scales).map(f32::to_bits).collect()
}
