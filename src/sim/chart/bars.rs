//! Groups of bars: for each column what was published, if it was, and what the model says.

use super::super::drawing::{Anchor, Colour, Drawing, Place, width_of};
use super::{LEFT, RIGHT, WIDTH, marks, scale};

/// A bar chart.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// What it shows.
    pub title: String,
    /// What the values are, with their unit.
    pub values: String,
    /// What the grey bars are.
    pub published: String,
    /// Groups from left to right.
    pub groups: Vec<Group>,
}

/// Columns that belong together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// What they have in common.
    pub name: String,
    /// The columns.
    pub columns: Vec<Column>,
}

/// A column: one bar or two.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The published value.
    pub published: Option<f64>,
    /// The model's value.
    pub ours: f64,
    /// Half the width of its confidence interval.
    pub margin: Option<f64>,
}

impl Bars {
    /// The chart.
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(WIDTH, HEIGHT);
        drawing.heading(Place::at(LEFT, 18.0), &self.title);
        self.legend(&mut drawing);
        let columns = self.groups.iter().flat_map(|group| &group.columns);
        let values = columns.flat_map(|one| [Some(one.ours), one.published]).flatten();
        let axis = scale(values.fold(0.0, f64::max));
        marks(&mut drawing, axis, (TOP, LOW), &self.values);
        let count: usize = self.groups.iter().map(|group| group.columns.len() + 1).sum();
        let step = (WIDTH - LEFT - RIGHT) / count.max(1) as f32;
        let mut x = LEFT + step / 2.0;
        for group in &self.groups {
            let begin = x;
            for column in &group.columns {
                column.draw(&mut drawing, x, step, axis.0);
                x += step;
            }
            let middle = Place::at(f32::midpoint(begin, x), LOW + 34.0);
            drawing.text(middle, &group.name, Anchor::Middle, Colour::INK);
            x += step;
        }
        drawing
    }

    fn legend(&self, drawing: &mut Drawing) {
        let mut x = LEFT;
        let mut entry = |colour, text: &str| {
            drawing.rectangle(Place::at(x, 28.0), (12.0, 12.0), colour, "");
            drawing.text(Place::at(x + 17.0, 38.0), text, Anchor::Start, Colour::GREY);
            x += width_of(text) + 50.0;
        };
        entry(OURS, "simulated");
        if self.groups.iter().flat_map(|group| &group.columns).any(|one| one.published.is_some()) {
            entry(Colour::PUBLISHED, &self.published);
        }
    }
}

impl Column {
    fn draw(&self, drawing: &mut Drawing, x: f32, step: f32, top: f64) {
        let height = |value: f64| (LOW - TOP) * (value / top) as f32;
        let width = (step * 0.42).min(26.0);
        let middle = x + step / 2.0;
        let hint = |what: &str, value: f64| format!("{}, {what}: {value:.2}", self.name);
        if let Some(value) = self.published {
            let at = Place::at(middle - width, LOW - height(value));
            drawing.rectangle(
                at,
                (width, height(value)),
                Colour::PUBLISHED,
                &hint("published", value),
            );
        }
        let left = if self.published.is_some() { middle } else { middle - width / 2.0 };
        let at = Place::at(left, LOW - height(self.ours));
        drawing.rectangle(at, (width, height(self.ours)), OURS, &hint("simulated", self.ours));
        if let Some(margin) = self.margin {
            let x = left + width / 2.0;
            let ends = [self.ours - margin, self.ours + margin]
                .map(|end| LOW - height(end.clamp(0.0, top)));
            drawing.line(&[Place::at(x, ends[0]), Place::at(x, ends[1])], Colour::INK, 1.0);
        }
        let label = if self.ours >= 100.0 {
            format!("{:.0}", self.ours)
        } else {
            format!("{:.1}", self.ours)
        };
        let above = Place::at(left + width / 2.0, LOW - height(self.ours) - 4.0);
        drawing.text(above, &label, Anchor::Middle, Colour::INK);
        drawing.text(Place::at(middle, LOW + 16.0), &self.name, Anchor::Middle, Colour::GREY);
    }
}

const OURS: Colour = Colour(0x00, 0x72, 0xb2);
const HEIGHT: f32 = 330.0;
const TOP: f32 = 58.0;
const LOW: f32 = 284.0;
