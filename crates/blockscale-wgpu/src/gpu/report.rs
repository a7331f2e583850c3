//! What is known of an adapter.

use std::fmt;

use wgpu::{AdapterInfo, DeviceType};

/// What was opened, and how it computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The adapter's name, or what is known instead.
    pub adapter: String,
    /// The interface to it: `vulkan`, `metal`, `dx12` or `webgpu`.
    pub interface: String,
    /// The driver's name and version, where the system tells.
    pub driver: String,
    /// Whether the adapter computes on the processor.
    pub software: Software,
    /// The largest buffer that kernels can read, in bytes.
    pub max_binding_bytes: u64,
    /// What the adapter's own `f32` products do with subnormals. No result here depends on it.
    pub float_subnormals: FloatSubnormals,
}

/// Whether an adapter computes on the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Software {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The driver does not say.
    Unknown,
}

/// What becomes of subnormal numbers in the adapter's own `f32` arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatSubnormals {
    /// They stay what they are.
    Kept,
    /// They become zero, as WGSL allows.
    Flushed,
}

impl Report {
    pub(super) fn new(info: &AdapterInfo, adapter: String, max_binding_bytes: u64) -> Self {
        let driver = [info.driver.trim(), info.driver_info.trim()];
        Self {
            adapter,
            interface: info.backend.to_string(),
            driver: driver.join(" ").trim().to_owned(),
            software: match info.device_type {
                DeviceType::Cpu => Software::Yes,
                DeviceType::Other => Software::Unknown,
                _ => Software::No,
            },
            max_binding_bytes,
            float_subnormals: FloatSubnormals::Kept,
        }
    }
}

/// One line: `llvmpipe (vulkan, software; its floats keep subnormals)`.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let software = match self.software {
            Software::Yes => ", software",
            Software::No | Software::Unknown => "",
        };
        let subnormals = match self.float_subnormals {
            FloatSubnormals::Kept => "keep",
            FloatSubnormals::Flushed => "flush",
        };
        let Self {
            adapter, interface, ..
        } = self;
        write!(
            f,
            "{adapter} ({interface}{software}; its floats {subnormals} subnormals)"
        )
    }
}

/// What to call an adapter; a browser may tell no name.
pub(super) fn name_of(info: &AdapterInfo) -> String {
    match info.name.trim() {
        "" => "unnamed adapter".to_owned(),
        name => name.to_owned(),
    }
}
