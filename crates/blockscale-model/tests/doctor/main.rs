//! Rules, their pages and levels, and what becomes of findings and refusals.

mod known;
mod levels;
mod pages;
