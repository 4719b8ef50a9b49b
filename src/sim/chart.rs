//! Charts: groups of bars with what was published beside them, and lines over a row of settings.

mod bars;
mod lines;

pub use bars::{Bars, Column, Group};
pub use lines::{Lines, Series};

use super::drawing::{Anchor, Colour, Drawing, Place};

const WIDTH: f32 = 960.0;
const LEFT: f32 = 70.0;
const RIGHT: f32 = 20.0;

/// A scale for values from zero to the largest: its top, and the step between its marks.
fn scale(largest: f64) -> (f64, f64) {
    let rough = (largest.max(1e-9) * 1.05) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps.into_iter().map(|one| one * power).find(|one| *one >= rough);
    let step = step.unwrap_or(10.0 * power);
    ((largest * 1.05 / step).ceil().max(1.0) * step, step)
}

/// The marks of the upright axis, with a faint line across for each.
fn marks(drawing: &mut Drawing, (top, step): (f64, f64), (high, low): (f32, f32), name: &str) {
    let count = (top / step).round() as u32;
    for mark in 0..=count {
        let value = f64::from(mark) * step;
        let y = low - (low - high) * (value / top) as f32;
        drawing.line(&[Place::at(LEFT, y), Place::at(WIDTH - RIGHT, y)], Colour::FAINT, 1.0);
        let digits = usize::from(step < 1.0) + usize::from(step < 0.1);
        let label = format!("{value:.digits$}");
        drawing.text(Place::at(LEFT - 8.0, y + 4.0), &label, Anchor::End, Colour::GREY);
    }
    drawing.upright(Place::at(16.0, f32::midpoint(high, low)), name);
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn scales_have_round_steps_and_room_for_the_largest() {
        for largest in [0.0, 0.3, 1.0, 7.0, 99.0, 203.2, 1358.0] {
            let (top, step) = scale(largest);
            assert!(top >= largest && top <= largest * 1.6 + 1e-6, "{largest}: {top}");
            let count = top / step;
            assert!((1.0..=7.0).contains(&count), "{largest}: {count} steps");
        }
    }
}
