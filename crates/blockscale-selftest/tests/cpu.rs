//! The CPU against the vectors inside the crate, and cut to single blocks of rows against itself.

use blockscale_selftest::{Backend, selftest};

#[test]
fn the_cpu_passes_and_leaves_nothing_out() {
    let report = selftest(&Backend::Cpu).unwrap();
    for group in &report.groups {
        assert_eq!(
            group.mismatches, 0,
            "{}: {:#?}",
            group.name, group.described
        );
        assert_eq!(group.left_to_cpu, 0, "{}", group.name);
        assert!(group.cases > 0, "{}", group.name);
    }
}
