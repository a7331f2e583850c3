//! Orders of rows that blocks alone do not tell, from the loudness of channels.

use blockscale::Format;
use blockscale::layout::{RowShuffle, ScaleLayout};
use blockscale_convert::interpret::{
    Certainty, ExamineOptions, Interpretation, Question, ScaleOrder, examine,
};

use crate::checkpoint::{Opened, minilm_as};
use crate::matrices::Rate;

#[test]
fn whether_rows_were_shuffled_is_told_by_biases_and_embeddings() {
    let format = Format::NVFP4;
    let mut rate = Rate::default();
    let scales = |layout| Interpretation {
        scales: ScaleOrder::In(layout),
        ..Interpretation::AS_STORED
    };
    let shuffled = ScaleLayout::TrtllmLinear(RowShuffle::By32);
    let both = Interpretation {
        code_rows: Some(shuffled),
        ..scales(shuffled)
    };
    for meant in [scales(ScaleLayout::Tiles128x4), both] {
        let Some(dir) = minilm_as(&format, &meant) else {
            return;
        };
        let opened = Opened::new(dir.path());
        for reading in examine(opened.weights(), &ExamineOptions::default()).unwrap() {
            let answer = reading.answer(Question::RowOrder).unwrap();
            let right = answer.best() == meant;
            rate.add(answer, right, || format!("{} {meant}", reading.name));
            if answer.certainty() == Certainty::Decided {
                assert_eq!(reading.interpretation, meant, "{}", reading.name);
            }
        }
    }
    rate.print("row order, NVFP4");
    assert_eq!(rate.right_of_decided, rate.decided);
    assert!(rate.decided * 100 >= rate.cases * 40);
}
