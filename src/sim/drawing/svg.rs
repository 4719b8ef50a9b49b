//! Drawings as SVG: text that any browser shows, without anything from elsewhere.

use std::fmt::Write;

use super::{Anchor, Colour, Drawing, Place, Shape, TEXT};

impl Drawing {
    /// The drawing as an SVG document, which may also stand in a page of HTML.
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" \
             font-size=\"{TEXT}\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        for shape in &self.shapes {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", element(shape));
        }
        text + "</svg>\n"
    }
}

fn element(shape: &Shape) -> String {
    match shape {
        Shape::Box { at, width, height, fill, hint } => {
            let Place { x, y } = at;
            let head = format!(
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
                 fill=\"{}\"",
                hex(*fill)
            );
            match hint.as_str() {
                "" => head + "/>",
                hint => format!("{head}><title>{}</title></rect>", escaped(hint)),
            }
        }
        Shape::Line { points, colour, width, dashed } => {
            let places: Vec<_> =
                points.iter().map(|at| format!("{:.2},{:.2}", at.x, at.y)).collect();
            let dashes = if *dashed { " stroke-dasharray=\"5 4\"" } else { "" };
            format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{dashes}/>",
                places.join(" "),
                hex(*colour)
            )
        }
        Shape::Dot { at, radius, fill } => {
            let Place { x, y } = at;
            format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" fill=\"{}\"/>", hex(*fill))
        }
        Shape::Text { .. } => words(shape),
    }
}

fn words(shape: &Shape) -> String {
    let Shape::Text { at, text, anchor, colour, bold, upright } = shape else {
        return String::new();
    };
    let Place { x, y } = at;
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let weight = if *bold { " font-weight=\"bold\"" } else { "" };
    let turn = match upright {
        true => format!(" transform=\"rotate(-90 {x:.2} {y:.2})\""),
        false => String::new(),
    };
    format!(
        "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\" fill=\"{}\"{weight}{turn}>{}</text>",
        hex(*colour),
        escaped(text)
    )
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A text as it may stand in XML and HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_written_and_texts_are_escaped() {
        let mut drawing = Drawing::new(100.0, 50.0);
        drawing.rectangle(Place::at(1.0, 2.0), (3.0, 4.0), Colour(255, 0, 16), "a < b");
        drawing.line(&[Place::at(0.0, 0.0), Place::at(9.0, 9.5)], Colour::INK, 2.0);
        drawing.dashes(&[Place::at(0.0, 0.0), Place::at(9.0, 9.5)], Colour::INK, 2.0);
        drawing.dot(Place::at(5.0, 5.0), 2.0, Colour::GREY);
        drawing.upright(Place::at(7.0, 8.0), "R&D");
        let svg = drawing.svg();
        for part in [
            "viewBox=\"0 0 100 50\"",
            "fill=\"#ff0010\"><title>a &lt; b</title></rect>",
            "points=\"0.00,0.00 9.00,9.50\"",
            "stroke-dasharray",
            "<circle cx=\"5.00\"",
            "rotate(-90 7.00 8.00)\">R&amp;D</text>",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
    }
}
