//! Machines without an adapter, and adapters that go away.

use std::process::Command;

use blockscale::{Format, Shape};
use blockscale_wgpu::{
    AdapterChoice, Backend, Gpu, GpuError, Measure, Options, Software, Source, Window, cpu,
};

use crate::common::{Sample, assert_same, block_on, open};

#[test]
fn a_lost_adapter_is_a_typed_error_from_then_on() {
    let Some(gpu) = open(&Options::default()) else {
        return;
    };
    let sample = Sample::tame(&Format::NVFP4, Shape::new(8, 64), 51);
    let stored = sample.stored();
    let resident = block_on(gpu.upload(&stored)).unwrap();
    let window = Window::whole(sample.shape);
    block_on(gpu.tile(Source::Values(&resident), &window)).unwrap();

    gpu.destroy();
    for error in [
        block_on(gpu.tile(Source::Values(&resident), &window)).unwrap_err(),
        block_on(gpu.upload(&stored)).unwrap_err(),
        block_on(gpu.code_counts(&resident, &window)).unwrap_err(),
    ] {
        assert!(matches!(error, GpuError::DeviceLost { .. }), "{error}");
    }
}

#[test]
fn a_loss_in_the_middle_of_a_request_is_the_same_error() {
    let Some(gpu) = open(&Options::default()) else {
        return;
    };
    let sample = Sample::tame(&Format::NVFP4, Shape::new(512, 512), 57);
    let resident = block_on(gpu.upload(&sample.stored())).unwrap();
    let window = Window::whole(sample.shape);
    let (sender, receiver) = std::sync::mpsc::channel();
    let error = std::thread::scope(|scope| {
        let gpu = &gpu;
        scope.spawn(move || {
            receiver.recv().unwrap();
            gpu.destroy();
        });
        loop {
            if let Err(error) = block_on(gpu.tile(Source::Values(&resident), &window)) {
                break error;
            }
            // The first one that is done starts the other thread; later ones find it gone.
            let _ = sender.send(());
        }
    });
    assert!(matches!(error, GpuError::DeviceLost { .. }), "{error}");
}

#[test]
fn what_an_adapter_lost_is_gone_on_with_by_the_core() {
    let mut backend = block_on(Backend::new(&Options::default()));
    let sample = Sample::tame(&Format::NVFP4, Shape::new(40, 64), 52);
    let other = Sample::tame(&Format::MXFP8_E4M3, Shape::new(40, 64), 53);
    let window = Window::whole(sample.shape);
    let cells = Shape::new(4, 8);
    block_on(async {
        let weight = backend.load(sample.stored()).await;
        let other = backend.load(other.stored()).await;
        assert_eq!(backend.gpu().is_some(), weight.resident().is_some());
        let source = Source::Difference(&weight, &other);
        let before = backend.tile(source, &window).await.unwrap();
        let stats = backend
            .compare(&weight, &other, &window, cells)
            .await
            .unwrap();

        if let Some(gpu) = backend.gpu() {
            gpu.destroy();
        }
        let after = backend.tile(source, &window).await.unwrap();
        assert_same(&after, &before, "before and after the loss");
        assert!(backend.gpu().is_none() && backend.failure().is_some());

        let map = backend
            .heat_map(Source::Values(&weight), &window, cells, Measure::Magnitude)
            .await;
        let stored = Source::Values(weight.stored());
        assert_eq!(
            map,
            cpu::heat_map(stored, &window, cells, Measure::Magnitude)
        );
        let again = backend
            .compare(&weight, &other, &window, cells)
            .await
            .unwrap();
        assert_eq!(again[0].finite, stats[0].finite);
        let counts = backend.code_counts(&weight, &window).await;
        assert_eq!(counts, cpu::code_counts(weight.stored(), &window));
    });
}

#[test]
fn a_wrong_request_does_not_cost_the_adapter() {
    let mut backend = block_on(Backend::new(&Options::default()));
    let had = backend.gpu().is_some();
    let sample = Sample::tame(&Format::NVFP4, Shape::new(2, 16), 54);
    let weight = block_on(backend.load(sample.stored()));
    let outside = Window::new(0..3, 0..16);
    assert!(block_on(backend.tile(Source::Values(&weight), &outside)).is_err());
    assert_eq!(backend.gpu().is_some(), had);
}

#[test]
fn a_weight_on_another_adapter_is_refused() {
    let usual = Options::default();
    let (Some(first), Some(second)) = (open(&usual), open(&usual)) else {
        return;
    };
    let sample = Sample::tame(&Format::NVFP4, Shape::new(2, 16), 55);
    let resident = block_on(first.upload(&sample.stored())).unwrap();
    let window = Window::whole(sample.shape);
    let error = block_on(second.tile(Source::Values(&resident), &window)).unwrap_err();
    assert!(matches!(error, GpuError::Device { .. }), "{error}");
    block_on(first.tile(Source::Values(&resident), &window)).unwrap();
}

#[test]
fn an_adapter_is_found_by_a_part_of_its_name() {
    let Some(usual) = open(&Options::default()) else {
        return;
    };
    let named = |name: &str| Options {
        adapter: AdapterChoice::Named(name.to_owned()),
        ..Options::default()
    };
    let name = &usual.report().adapter;
    let found = block_on(Gpu::new(&named(&name[..name.len().min(6)].to_uppercase()))).unwrap();
    assert_eq!(found.report().adapter, *name);
    match block_on(Gpu::new(&named("no such card"))).unwrap_err() {
        GpuError::NoSuchAdapter { found, .. } => assert!(found.contains(name)),
        error => panic!("{error}"),
    }
}

#[test]
fn a_software_adapter_works_and_says_so() {
    let options = Options {
        adapter: AdapterChoice::Software,
        ..Options::default()
    };
    let Some(gpu) = open(&options) else { return };
    assert_eq!(gpu.report().software, Software::Yes);
    assert!(
        gpu.report().to_string().contains("software"),
        "{}",
        gpu.report()
    );
}

#[test]
fn an_adapter_of_software_is_no_hardware() {
    let Some(usual) = open(&Options::default()) else {
        return;
    };
    let options = Options {
        adapter: AdapterChoice::Hardware,
        ..Options::default()
    };
    let hardware = block_on(Gpu::new(&options));
    match usual.report().software {
        Software::Yes => assert!(matches!(hardware, Err(GpuError::NoAdapter { .. }))),
        _ => assert!(hardware.is_ok()),
    }
}

/// So that a server can have one thread wait for another's request.
#[test]
fn requests_can_be_sent_to_other_threads() {
    fn is_send<T: Send>(_: &T) {}
    let Some(gpu) = open(&Options::default()) else {
        return;
    };
    let sample = Sample::tame(&Format::NVFP4, Shape::new(2, 16), 56);
    let stored = sample.stored();
    let (window, cells) = (Window::whole(sample.shape), Shape::new(1, 1));
    let upload = gpu.upload(&stored);
    is_send(&upload);
    let resident = block_on(upload).unwrap();
    is_send(&gpu.tile(Source::Values(&resident), &window));
    is_send(&gpu.code_counts(&resident, &window));
    is_send(&gpu.heat_map(Source::Values(&resident), &window, cells, Measure::Signed));
    is_send(&gpu.compare(&resident, &resident, &window, cells));
}

const WITHOUT_DRIVER: &str = "losing::without_a_driver_there_is_no_adapter";

/// Runs itself again with drivers out of sight.
#[test]
fn without_a_driver_there_is_no_adapter() {
    if std::env::var_os("BLOCKSCALE_TEST_NO_DRIVER").is_some() {
        let error = block_on(Gpu::new(&Options::default())).unwrap_err();
        assert!(matches!(error, GpuError::NoAdapter { .. }), "{error}");
        let backend = block_on(Backend::new(&Options::default()));
        assert_eq!(backend.failure(), Some(&error));
        return;
    }
    if !cfg!(target_os = "linux") {
        println!("skipped: drivers can be hidden on Linux only");
        return;
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", WITHOUT_DRIVER])
        .env("BLOCKSCALE_TEST_NO_DRIVER", "1")
        .env("VK_DRIVER_FILES", "/nowhere.json")
        .env("VK_ICD_FILENAMES", "/nowhere.json")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(
        status.status.success() && said.contains("1 passed"),
        "{said}"
    );
}
