//! A device with the kernels loaded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError};
use cudarc::nvrtc::Ptx;

use crate::CudaError;

/// Machine code for several architectures, and PTX for those to come, in one image.
static IMAGE: &[u8] = include_bytes!("../kernels/blockscale.fatbin");

/// The oldest compute capability that the kernels are built for.
const OLDEST: (i32, i32) = (8, 0);

/// A device of this machine, with the kernels loaded.
///
/// Operations are methods that take the stream to work on and return once they are queued there.
/// Cheap to share: wrap it in an [`Arc`].
#[derive(Debug)]
pub struct Device {
    context: Arc<CudaContext>,
    module: Arc<CudaModule>,
    functions: Mutex<HashMap<String, CudaFunction>>,
    name: String,
    capability: (i32, i32),
}

/// Whether the driver's library can be loaded: asked once, since the bindings panic without it.
fn driver_is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: loading a library runs its initialisers. The names tried are those of NVIDIA's
    // driver, which every CUDA program loads the same way.
    *PRESENT.get_or_init(|| unsafe { sys::is_culib_present() })
}

impl Device {
    /// The number of devices; 0 where the driver finds none.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoDriver`] where there is no driver.
    pub fn count() -> Result<usize, CudaError> {
        if !driver_is_present() {
            return Err(CudaError::NoDriver);
        }
        match CudaContext::device_count() {
            Ok(count) => Ok(usize::try_from(count).unwrap_or(0)),
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens device `ordinal` in its primary context, which other libraries of the process share.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoDriver`], [`CudaError::NoDevice`], [`CudaError::Unsupported`] and
    /// [`CudaError::Image`].
    ///
    /// ```
    /// use blockscale_cuda::{CudaError, Device};
    ///
    /// match Device::open(0) {
    ///     Ok(device) => println!("{} {:?}", device.name(), device.capability()),
    ///     Err(CudaError::NoDriver | CudaError::NoDevice { .. }) => println!("on the CPU, then"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok::<(), CudaError>(())
    /// ```
    pub fn open(ordinal: usize) -> Result<Self, CudaError> {
        let count = Self::count()?;
        if ordinal >= count {
            return Err(CudaError::NoDevice { ordinal, count });
        }
        Self::in_context(CudaContext::new(ordinal)?)
    }

    /// Loads the kernels into a context that is there already, such as an engine's own.
    ///
    /// # Errors
    ///
    /// [`CudaError::Unsupported`] and [`CudaError::Image`].
    pub fn in_context(context: Arc<CudaContext>) -> Result<Self, CudaError> {
        let (name, capability) = (context.name()?, context.compute_capability()?);
        if capability < OLDEST {
            return Err(CudaError::Unsupported { name, capability });
        }
        let module = context
            .load_module(Ptx::from_binary(IMAGE.to_vec()))
            .map_err(|DriverError(code)| match code {
                CUresult::CUDA_ERROR_OUT_OF_MEMORY => CudaError::OutOfMemory,
                code => CudaError::Image {
                    reason: format!("{code:?}"),
                },
            })?;
        Ok(Self {
            context,
            module,
            functions: Mutex::default(),
            name,
            capability,
        })
    }

    /// Name of the device, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Compute capability, major and minor.
    pub fn capability(&self) -> (i32, i32) {
        self.capability
    }

    /// The context that the kernels are loaded in.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// A new stream.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn new_stream(&self) -> Result<Arc<CudaStream>, CudaError> {
        Ok(self.context.new_stream()?)
    }

    /// The kernel of that name.
    pub(crate) fn function(&self, name: &str) -> Result<CudaFunction, CudaError> {
        // What a panicking thread leaves is a map all the same.
        let mut functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(name) {
            return Ok(function.clone());
        }
        let function = self
            .module
            .load_function(name)
            .map_err(|DriverError(code)| match code {
                CUresult::CUDA_ERROR_NOT_FOUND => CudaError::MissingKernel {
                    name: name.to_owned(),
                },
                code => DriverError(code).into(),
            })?;
        functions.insert(name.to_owned(), function.clone());
        Ok(function)
    }

    /// Whether something lies in this device's context.
    pub(crate) fn check_context(
        &self,
        what: &'static str,
        stream: &CudaStream,
    ) -> Result<(), CudaError> {
        if *self.context == **stream.context() {
            return Ok(());
        }
        Err(CudaError::OtherDevice { what })
    }
}
