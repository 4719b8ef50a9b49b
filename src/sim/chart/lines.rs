//! Lines over a row of settings, evenly spaced, whatever the settings are.

use super::super::drawing::{Anchor, Colour, Drawing, Place, width_of};
use super::{LEFT, RIGHT, WIDTH, marks, scale};

/// A line chart.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// What it shows.
    pub title: String,
    /// What the settings are, with their unit.
    pub settings: String,
    /// What the values are, with their unit.
    pub values: String,
    /// The settings from left to right.
    pub ticks: Vec<String>,
    /// The lines.
    pub series: Vec<Series>,
}

/// A line: a value for each setting.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its values; one that does not depend on the setting is the same everywhere.
    pub values: Vec<f64>,
    /// Drawn dashed: something to compare with.
    pub reference: bool,
}

impl Lines {
    /// The chart.
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(WIDTH, HEIGHT);
        drawing.heading(Place::at(LEFT, 18.0), &self.title);
        let all = self.series.iter().flat_map(|series| series.values.iter().copied());
        let axis = scale(all.fold(0.0, f64::max));
        marks(&mut drawing, axis, (TOP, LOW), &self.values);
        let step = (WIDTH - LEFT - RIGHT) / self.ticks.len().max(1) as f32;
        let place = |index: usize, value: f64| {
            let x = LEFT + step * (index as f32 + 0.5);
            Place::at(x, LOW - (LOW - TOP) * (value / axis.0) as f32)
        };
        for (index, tick) in self.ticks.iter().enumerate() {
            let at = Place::at(place(index, 0.0).x, LOW + 17.0);
            drawing.text(at, tick, Anchor::Middle, Colour::GREY);
        }
        let middle = Place::at(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, LOW + 36.0);
        drawing.text(middle, &self.settings, Anchor::Middle, Colour::GREY);
        let mut legend = LEFT;
        for (number, series) in self.series.iter().enumerate() {
            let colour = Colour::of(number);
            let numbered = series.values.iter().enumerate();
            let points: Vec<_> = numbered.map(|(index, value)| place(index, *value)).collect();
            match series.reference {
                true => drawing.dashes(&points, colour, 1.5),
                false => {
                    drawing.line(&points, colour, 2.0);
                    points.iter().for_each(|point| drawing.dot(*point, 3.5, colour));
                }
            }
            drawing.rectangle(Place::at(legend, 28.0), (12.0, 12.0), colour, "");
            let name = Place::at(legend + 17.0, 38.0);
            drawing.text(name, &series.name, Anchor::Start, Colour::GREY);
            legend += width_of(&series.name) + 42.0;
        }
        drawing
    }
}

const HEIGHT: f32 = 330.0;
const TOP: f32 = 58.0;
const LOW: f32 = 278.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_and_tick_is_drawn() {
        let lines = Lines {
            title: "Windows".into(),
            settings: "window".into(),
            values: "seconds".into(),
            ticks: ["1ms", "8ms"].map(String::from).to_vec(),
            series: vec![
                Series { name: "twins".into(), values: vec![3.0, 2.0], reference: false },
                Series { name: "fifo".into(), values: vec![4.0, 4.0], reference: true },
            ],
        };
        let svg = lines.drawing().svg();
        assert_eq!(svg.matches("<circle").count(), 2, "a dot for each value of a line");
        assert_eq!(svg.matches("stroke-dasharray").count(), 1);
        for text in ["Windows", "window", "seconds", "1ms", "8ms", "twins", "fifo"] {
            assert!(svg.contains(&format!(">{text}</text>")), "{text}");
        }
    }
}
