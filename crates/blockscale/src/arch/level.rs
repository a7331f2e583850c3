//! Instruction sets, and the one in use.

use core::sync::atomic::{AtomicU8, Ordering};
use std::fmt;

/// Instructions that loops are written for.
///
/// A level is used as a whole: a processor that lacks one of its parts gets the level below. Results
/// do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Portable code; the definition.
    Scalar,
    /// 128-bit vectors of WebAssembly.
    Simd128,
    /// NEON of 64-bit ARM, little-endian.
    Neon,
    /// AVX2 and F16C of x86-64.
    Avx2,
    /// AVX-512 F, BW, DQ, VL and VBMI of x86-64 (Ice Lake, Zen 4 and later), beside AVX2 and F16C.
    Avx512,
}

/// A level whose instructions this machine, or this build, does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelUnavailable {
    /// The level asked for.
    pub level: Level,
}

impl fmt::Display for LevelUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this machine has no `{}`; the fastest level here is `{}`",
            self.level,
            Level::detected()
        )
    }
}

impl core::error::Error for LevelUnavailable {}

/// The level in use, one above its number; 0 before it was asked for.
static IN_USE: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// Every level, the fastest last of those that a machine can have together.
    pub const ALL: [Self; 5] = [
        Self::Scalar,
        Self::Simd128,
        Self::Neon,
        Self::Avx2,
        Self::Avx512,
    ];

    /// The levels that can run here, [`Scalar`](Self::Scalar) first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|level| level.is_available())
    }

    /// Whether this level can run here.
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Simd128 => cfg!(all(target_arch = "wasm32", target_feature = "simd128")),
            Self::Neon => {
                cfg!(all(
                    target_arch = "aarch64",
                    target_endian = "little",
                    target_feature = "neon"
                ))
            }
            Self::Avx2 => has_avx2(),
            Self::Avx512 => has_avx2() && has_avx512(),
        }
    }

    /// The fastest level that can run here.
    pub fn detected() -> Self {
        Self::available().last().unwrap_or(Self::Scalar)
    }

    /// The level that all operations use: [`detected`](Self::detected), unless
    /// [`use_everywhere`](Self::use_everywhere) said otherwise.
    pub fn in_use() -> Self {
        let stored = IN_USE.load(Ordering::Relaxed);
        if let Some(level) = Self::ALL
            .into_iter()
            .find(|&level| level.stored() == stored)
        {
            return level;
        }
        let level = Self::detected();
        IN_USE.store(level.stored(), Ordering::Relaxed);
        level
    }

    /// Makes all operations of this process use this level from now on, on every thread.
    ///
    /// For measuring and testing a slower level than the fastest; results stay the same.
    ///
    /// # Errors
    ///
    /// [`LevelUnavailable`] where it cannot run here; nothing changes then.
    ///
    /// ```
    /// use blockscale::arch::Level;
    ///
    /// Level::Scalar.use_everywhere()?;
    /// assert_eq!(Level::in_use(), Level::Scalar);
    /// Level::detected().use_everywhere()?;
    /// # Ok::<(), blockscale::arch::LevelUnavailable>(())
    /// ```
    pub fn use_everywhere(self) -> Result<(), LevelUnavailable> {
        if !self.is_available() {
            return Err(LevelUnavailable { level: self });
        }
        IN_USE.store(self.stored(), Ordering::Relaxed);
        Ok(())
    }

    const fn stored(self) -> u8 {
        self as u8 + 1
    }

    /// Short name: `scalar`, `simd128`, `neon`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Simd128 => "simd128",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The level of that name, `None` where there is none.
    ///
    /// ```
    /// use blockscale::arch::Level;
    ///
    /// assert_eq!(Level::from_name("avx2"), Some(Level::Avx2));
    /// assert_eq!(Level::from_name("mmx"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether a list of x86-64 features is there: asked of the processor, or known from the build.
#[cfg(target_arch = "x86_64")]
macro_rules! has {
    ($($feature:tt)*) => {{
        #[cfg(feature = "std")]
        let has = $(std::arch::is_x86_feature_detected!($feature))&&*;
        #[cfg(not(feature = "std"))]
        let has = cfg!(all($(target_feature = $feature),*));
        has
    }};
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    has!("avx2" "f16c")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has!("avx512f" "avx512bw" "avx512dq" "avx512vl" "avx512vbmi")
}

#[cfg(not(target_arch = "x86_64"))]
const fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
const fn has_avx512() -> bool {
    false
}
