//! How bytes are meant, found without believing the file: on matrices of a trained model and on the
//! sample, each damaged on purpose.

mod calibration;
mod checkpoint;
mod matrices;
mod nibbles;
mod numbers;
mod orders;
mod reference;
mod repair;
mod rows;
