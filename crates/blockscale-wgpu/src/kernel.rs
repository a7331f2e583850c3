//! Kernels: their text, put together of files in `kernels/wgsl`, and how they are launched.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor,
    BindGroupLayoutEntry, BindingType, Buffer, BufferBindingType, BufferDescriptor, BufferUsages,
    CommandEncoderDescriptor, ComputePassDescriptor, ComputePipeline, ComputePipelineDescriptor,
    Device, PipelineLayoutDescriptor, Queue, ShaderModuleDescriptor, ShaderSource, ShaderStages,
};

use crate::GpuError;
use crate::device::{Handle, buffer_with};

macro_rules! wgsl {
    ($name:literal) => {
        include_str!(concat!("../../../kernels/wgsl/", $name))
    };
}

/// Where a kernel's numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    Values,
    Scales,
    Difference,
    Codes,
    ScaleCodes,
}

impl Input {
    fn text(self) -> &'static str {
        match self {
            Self::Values => wgsl!("source/values.wgsl"),
            Self::Scales => wgsl!("source/scales.wgsl"),
            Self::Difference => wgsl!("source/difference.wgsl"),
            Self::Codes => wgsl!("source/codes.wgsl"),
            Self::ScaleCodes => wgsl!("source/scale_codes.wgsl"),
        }
    }

    fn weights(self) -> usize {
        match self {
            Self::Difference => 2,
            _ => 1,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    Tile(Input),
    Histogram(Input),
    Extremes(Input),
    Compare,
    FloatSubnormals,
}

impl Kernel {
    /// The bind groups of weights that it takes.
    fn weights(self) -> usize {
        match self {
            Self::Tile(input) | Self::Histogram(input) | Self::Extremes(input) => input.weights(),
            Self::Compare => 2,
            Self::FloatSubnormals => 0,
        }
    }

    fn text(self) -> String {
        let mut files = vec![wgsl!("arith.wgsl").to_owned()];
        let weight = wgsl!("weight.wgsl");
        if self.weights() >= 1 {
            files.push(weight.to_owned());
        }
        if self.weights() == 2 {
            files.push(second_weight(weight));
        }
        let more: &[&str] = match self {
            Self::Tile(input) => &[input.text(), wgsl!("tile.wgsl")],
            Self::Histogram(input) => &[input.text(), wgsl!("histogram.wgsl")],
            Self::Extremes(input) => &[
                input.text(),
                wgsl!("sums.wgsl"),
                wgsl!("pieces.wgsl"),
                wgsl!("extremes.wgsl"),
            ],
            Self::Compare => &[
                wgsl!("sums.wgsl"),
                wgsl!("pieces.wgsl"),
                wgsl!("compare.wgsl"),
            ],
            Self::FloatSubnormals => &[wgsl!("float_subnormals.wgsl")],
        };
        files.extend(more.iter().map(|&file| file.to_owned()));
        files.join("\n")
    }
}

/// The bindings and functions of a weight under the names of a second one. What both share, the
/// struct and its constants, comes before the first binding and is left out.
fn second_weight(weight: &str) -> String {
    let own = weight.find("@group").map_or("", |start| &weight[start..]);
    own.replace("@group(1)", "@group(2)").replace("_a", "_b")
}

/// Layouts and compiled kernels of a device.
#[derive(Debug)]
pub(crate) struct Kernels {
    /// Parameters, then words to read, then words to write.
    operation: BindGroupLayout,
    /// A part of a weight: parameters, codes, scales, tables.
    pub(crate) weight: BindGroupLayout,
    compiled: Mutex<HashMap<Kernel, ComputePipeline>>,
}

/// One launch of a kernel.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) parameters: &'a [u8],
    /// What the kernel reads beside weights.
    pub(crate) input: &'a [u8],
    /// The weights' parts, as many as the kernel takes.
    pub(crate) weights: &'a [&'a BindGroup],
    pub(crate) workgroups: u64,
    /// What the kernel writes; zeros before.
    pub(crate) output_words: usize,
}

/// The most workgroups one way of a launch.
const MOST_WORKGROUPS: u64 = 65_535;

impl Kernels {
    pub(crate) fn new(device: &Device) -> Self {
        use BufferBindingType::{Storage, Uniform};
        let read = Storage { read_only: true };
        let write = Storage { read_only: false };
        Self {
            operation: layout(device, &[Uniform, read, write]),
            weight: layout(device, &[Uniform, read, read, read]),
            compiled: Mutex::default(),
        }
    }

    /// Runs a kernel and returns what it wrote.
    pub(crate) async fn run(
        &self,
        handle: &Handle,
        launch: &Launch<'_>,
    ) -> Result<Vec<u32>, GpuError> {
        let written = handle
            .guarded(|device, queue| {
                let pipeline = self.compiled(device, launch.kernel);
                self.launch(device, queue, &pipeline, launch)
            })
            .await;
        match written {
            Ok(buffer) => handle.read(&buffer).await,
            Err(error) => {
                // A kernel that could not be compiled shall not be taken for one that was.
                self.lock().remove(&launch.kernel);
                Err(error)
            }
        }
    }

    fn launch(
        &self,
        device: &Device,
        queue: &Queue,
        pipeline: &ComputePipeline,
        launch: &Launch<'_>,
    ) -> Buffer {
        let size = launch.output_words as u64 * 4;
        let buffer = |usage| {
            device.create_buffer(&BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let output = buffer(BufferUsages::STORAGE | BufferUsages::COPY_SRC);
        let readable = buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let operation = bind_group(
            device,
            &self.operation,
            &[
                &buffer_with(device, queue, BufferUsages::UNIFORM, launch.parameters),
                &buffer_with(device, queue, BufferUsages::STORAGE, launch.input),
                &output,
            ],
        );

        let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &operation, &[]);
        for (index, &weight) in (1..).zip(launch.weights) {
            pass.set_bind_group(index, weight, &[]);
        }
        let wide = launch.workgroups.min(MOST_WORKGROUPS);
        let high = launch.workgroups.div_ceil(wide.max(1));
        pass.dispatch_workgroups(wide as u32, high as u32, 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&output, 0, &readable, 0, size);
        queue.submit([encoder.finish()]);
        readable
    }

    fn compiled(&self, device: &Device, kernel: Kernel) -> ComputePipeline {
        self.lock()
            .entry(kernel)
            .or_insert_with(|| self.compile(device, kernel))
            .clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Kernel, ComputePipeline>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compile(&self, device: &Device, kernel: Kernel) -> ComputePipeline {
        let module = device.create_shader_module(ShaderModuleDescriptor {
            label: None,
            source: ShaderSource::Wgsl(kernel.text().into()),
        });
        let groups = [
            Some(&self.operation),
            Some(&self.weight),
            Some(&self.weight),
        ];
        let layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &groups[..=kernel.weights()],
            immediate_size: 0,
        });
        device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: None,
            layout: Some(&layout),
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        })
    }
}

fn layout(device: &Device, types: &[BufferBindingType]) -> BindGroupLayout {
    let entries: Vec<_> = (0..)
        .zip(types)
        .map(|(binding, &ty)| BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer {
                ty,
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&BindGroupLayoutDescriptor {
        label: None,
        entries: &entries,
    })
}

/// A group of whole buffers, bound in their order.
pub(crate) fn bind_group(
    device: &Device,
    layout: &BindGroupLayout,
    buffers: &[&Buffer],
) -> BindGroup {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, buffer)| BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        })
        .collect();
    device.create_bind_group(&BindGroupDescriptor {
        label: None,
        layout,
        entries: &entries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    const INPUTS: [Input; 5] = [
        Input::Values,
        Input::Scales,
        Input::Difference,
        Input::Codes,
        Input::ScaleCodes,
    ];

    fn all() -> Vec<Kernel> {
        let of_inputs = INPUTS.into_iter().flat_map(|input| {
            [
                Kernel::Tile(input),
                Kernel::Histogram(input),
                Kernel::Extremes(input),
            ]
        });
        of_inputs
            .chain([Kernel::Compare, Kernel::FloatSubnormals])
            .collect()
    }

    /// Halves, subgroups and the like are capabilities.
    #[test]
    fn every_kernel_is_wgsl_that_needs_nothing_optional() {
        for kernel in all() {
            let text = kernel.text();
            let module = naga::front::wgsl::parse_str(&text)
                .unwrap_or_else(|error| panic!("{kernel:?}: {}", error.emit_to_string(&text)));
            let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
            let valid = validator.validate(&module);
            assert!(valid.is_ok(), "{kernel:?}: {:?}", valid.err());
            assert_eq!(module.entry_points.len(), 1, "{kernel:?}");
        }
    }

    #[test]
    fn no_result_is_computed_in_floats() {
        for kernel in all() {
            let floats = kernel.text().contains("f32>") || kernel.text().contains("bitcast");
            assert_eq!(floats, kernel == Kernel::FloatSubnormals, "{kernel:?}");
        }
    }
}
