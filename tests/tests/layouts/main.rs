//! Bytes that other implementations lay out, among them the runtimes' own kernels on a GPU.
//!
//! `data/conformance/layouts/README.md` and `data/conformance/runtime/README.md` say what made them.

mod common;
mod deepgemm;
mod field;
mod formula;
mod marlin;
mod quantised;
mod row_orders;
mod tiles;
mod trtllm;

use common::Vectors;

#[test]
fn no_vector_is_forgotten() {
    // Tests may run one a process, so all that compare are run here.
    for test in deepgemm::TESTS
        .iter()
        .chain(&formula::TESTS)
        .chain(&marlin::TESTS)
        .chain(&quantised::TESTS)
        .chain(&row_orders::TESTS)
        .chain(&tiles::TESTS)
        .chain(&trtllm::TESTS)
    {
        test();
    }
    assert_eq!(Vectors::layouts().not_looked_at(), [""; 0]);
    for group in ["deepgemm", "flashinfer", "torchao", "vllm"] {
        assert_eq!(Vectors::runtime(group).not_looked_at(), [""; 0], "{group}");
    }
}
