//! An adapter, opened and checked.

mod check;
mod counting;
mod patches;
mod reducing;
mod report;

use wgpu::{
    Adapter, Backends, Device, DeviceDescriptor, DeviceType, Instance, InstanceDescriptor, Limits,
    Queue, RequestAdapterOptions,
};

use crate::device::Handle;
use crate::kernel::Kernels;
use crate::resident::Resident;
use crate::{GpuError, Stored};

pub use report::{FloatSubnormals, Report, Software};

/// Which adapter to open, and in which portions to work.
///
/// ```
/// use blockscale_wgpu::{AdapterChoice, Options};
///
/// let options = Options { adapter: AdapterChoice::Software, ..Options::default() };
/// assert_eq!(options.part_bytes, 16 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which adapter.
    pub adapter: AdapterChoice,
    /// The most bytes of a buffer with codes, scales or results. A weight is cut into parts by it,
    /// and no launch looks at more than one part; the results do not depend on it. At least 256
    /// and at most half of what the adapter's buffers hold are taken.
    pub part_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            adapter: AdapterChoice::Default,
            part_bytes: 16 << 20,
        }
    }
}

/// Which adapter to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdapterChoice {
    /// The one that the system prefers, of hardware or of software.
    #[default]
    Default,
    /// The one that the system prefers, if it does not compute on the processor: the core is faster
    /// there.
    Hardware,
    /// One that computes on the processor.
    Software,
    /// The first whose name contains this, in any case. A browser does not tell names.
    Named(String),
}

/// An open adapter that was found to compute what the core computes.
///
/// All functions are asynchronous, for the sake of browsers. Natively they wait for the adapter
/// while they are polled, so any executor will do, `pollster::block_on` for one.
#[derive(Debug)]
pub struct Gpu {
    handle: Handle,
    kernels: Kernels,
    report: Report,
    part_bytes: usize,
}

impl Gpu {
    /// Opens an adapter, and lets it decode nasty codes and scales to see whether it does it right.
    ///
    /// # Errors
    ///
    /// [`GpuError::NoAdapter`], [`GpuError::NoSuchAdapter`], [`GpuError::LimitTooLow`],
    /// [`GpuError::NoDevice`]; [`GpuError::WrongResult`] where it computes something else than the
    /// core.
    ///
    /// ```
    /// use blockscale_wgpu::{Gpu, GpuError, Options};
    ///
    /// match pollster::block_on(Gpu::new(&Options::default())) {
    ///     Ok(gpu) => println!("{}", gpu.report()),
    ///     Err(GpuError::NoAdapter { reason }) => println!("skipped: no graphics adapter: {reason}"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok::<(), GpuError>(())
    /// ```
    pub async fn new(options: &Options) -> Result<Self, GpuError> {
        let adapter = find(&options.adapter).await?;
        let info = adapter.get_info();
        let name = report::name_of(&info);
        let limits = limits(&name, &adapter.limits())?;
        let (device, queue) = open(&adapter, &name, &limits).await?;
        let most = limits
            .max_storage_buffer_binding_size
            .min(limits.max_buffer_size)
            .min(1 << 27);
        let kernels = Kernels::new(&device);
        let mut gpu = Self {
            handle: Handle::new(device, queue),
            kernels,
            report: Report::new(&info, name, most),
            part_bytes: options.part_bytes.clamp(256, most as usize / 2),
        };
        gpu.check().await?;
        gpu.report.float_subnormals = gpu.float_subnormals().await?;
        Ok(gpu)
    }

    /// What was opened and what was found out about it.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Copies a weight to the adapter's memory.
    ///
    /// # Errors
    ///
    /// [`GpuError::TooLarge`], [`GpuError::OutOfMemory`], [`GpuError::DeviceLost`],
    /// [`GpuError::Device`].
    pub async fn upload(&self, stored: &Stored<'_>) -> Result<Resident, GpuError> {
        Resident::upload(&self.handle, &self.kernels, stored, self.part_bytes).await
    }

    /// Gives the adapter back at once, with all that was uploaded to it.
    ///
    /// Every later call fails with [`GpuError::DeviceLost`], as after a loss that nobody wanted.
    pub fn destroy(&self) {
        self.handle.destroy();
    }
}

async fn find(choice: &AdapterChoice) -> Result<Adapter, GpuError> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
    if let AdapterChoice::Named(name) = choice {
        return find_named(&instance, name).await;
    }
    let options = RequestAdapterOptions {
        force_fallback_adapter: *choice == AdapterChoice::Software,
        ..RequestAdapterOptions::default()
    };
    let found = instance.request_adapter(&options).await;
    let adapter = found.map_err(|error| GpuError::NoAdapter {
        reason: error.to_string(),
    })?;
    let info = adapter.get_info();
    if *choice == AdapterChoice::Hardware && info.device_type == DeviceType::Cpu {
        let reason = format!("`{}` computes on the processor", report::name_of(&info));
        return Err(GpuError::NoAdapter { reason });
    }
    Ok(adapter)
}

async fn find_named(instance: &Instance, name: &str) -> Result<Adapter, GpuError> {
    let adapters = instance.enumerate_adapters(Backends::all()).await;
    let names: Vec<_> = adapters
        .iter()
        .map(|adapter| report::name_of(&adapter.get_info()))
        .collect();
    let wanted = name.to_lowercase();
    let index = names
        .iter()
        .position(|name| name.to_lowercase().contains(&wanted));
    let adapter = index.and_then(|index| adapters.into_iter().nth(index));
    adapter.ok_or_else(|| GpuError::NoSuchAdapter {
        name: name.to_owned(),
        found: names,
    })
}

/// What the kernels need, which every WebGPU implementation has, and large buffers if there are.
fn limits(name: &str, found: &Limits) -> Result<Limits, GpuError> {
    let needed = Limits {
        max_storage_buffers_per_shader_stage: 8,
        max_storage_buffer_binding_size: 1 << 20,
        max_buffer_size: 1 << 20,
        ..Limits::downlevel_defaults()
    };
    let mut lacking = None;
    needed.check_limits_with_fail_fn(found, true, |limit, needed, found| {
        lacking = Some(GpuError::LimitTooLow {
            adapter: name.to_owned(),
            limit,
            needed,
            found,
        });
    });
    match lacking {
        Some(error) => Err(error),
        None => Ok(Limits {
            max_storage_buffer_binding_size: found.max_storage_buffer_binding_size,
            max_buffer_size: found.max_buffer_size,
            ..needed
        }),
    }
}

async fn open(adapter: &Adapter, name: &str, limits: &Limits) -> Result<(Device, Queue), GpuError> {
    let descriptor = DeviceDescriptor {
        required_limits: limits.clone(),
        ..DeviceDescriptor::default()
    };
    let opened = adapter.request_device(&descriptor).await;
    opened.map_err(|error| GpuError::NoDevice {
        adapter: name.to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_with_only_the_least_of_webgpu_will_do() {
        let limits = limits("least", &Limits::default()).unwrap();
        assert_eq!(limits.max_storage_buffer_binding_size, 128 << 20);
    }

    /// The driver's own news of a loss, without [`Gpu::destroy`].
    #[test]
    fn a_loss_that_nobody_announced_is_noticed() {
        let gpu = match pollster::block_on(Gpu::new(&Options::default())) {
            Ok(gpu) => gpu,
            Err(error) => return println!("skipped: {error}"),
        };
        let bytes = 1.0_f32.to_le_bytes();
        let shape = blockscale::Shape::new(1, 1);
        let stored = Stored::numbers(crate::Number::F32, shape, &bytes).unwrap();
        let resident = pollster::block_on(gpu.upload(&stored)).unwrap();
        gpu.handle.device.destroy();
        let window = crate::Window::whole(shape);
        let source = crate::Source::Values(&resident);
        for _ in 0..2 {
            let error = pollster::block_on(gpu.tile(source, &window)).unwrap_err();
            assert!(matches!(error, GpuError::DeviceLost { .. }), "{error:?}");
        }
        let error = pollster::block_on(gpu.upload(&stored)).unwrap_err();
        assert!(matches!(error, GpuError::DeviceLost { .. }), "{error:?}");
    }

    #[test]
    fn a_limit_that_is_too_low_is_named() {
        let found = Limits {
            max_storage_buffers_per_shader_stage: 4,
            ..Limits::default()
        };
        let error = limits("old", &found).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`old`: `max_storage_buffers_per_shader_stage` is 4, 8 is needed"
        );
    }
}
