//! Nibble orders, from the loudness of channels.

use blockscale::Format;
use blockscale_convert::interpret::{
    Certainty, ExamineOptions, Interpretation, NibbleOrder, examine,
};

use crate::checkpoint::{Opened, minilm_as};
use crate::matrices::Rate;

#[test]
fn nibble_orders_of_a_trained_model_are_told_by_its_channels() {
    for format in [Format::NVFP4, Format::MXFP4] {
        let mut rate = Rate::default();
        for nibbles in [
            NibbleOrder::Pairs,
            NibbleOrder::Swapped,
            NibbleOrder::Halves,
        ] {
            let meant = Interpretation {
                nibbles,
                ..Interpretation::AS_STORED
            };
            let Some(dir) = minilm_as(&format, &meant) else {
                return;
            };
            let opened = Opened::new(dir.path());
            let readings = examine(opened.weights(), &ExamineOptions::default()).unwrap();
            assert_eq!(readings.len(), 37);
            for reading in readings {
                let answer = reading.answers.last().unwrap();
                rate.add(answer, answer.best() == meant, || {
                    format!("{} {meant}", reading.name)
                });
                if answer.certainty() == Certainty::Decided {
                    assert_eq!(reading.interpretation, meant, "{}", reading.name);
                }
            }
        }
        rate.print(&format!("nibble order, {format}"));
        assert_eq!(rate.right_of_decided, rate.decided, "{format}");
        assert!(rate.decided * 100 >= rate.cases * 70, "{format}");
    }
}
