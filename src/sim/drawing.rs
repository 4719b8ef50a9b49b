//! A drawing: rectangles, lines, dots and texts, once described and written as SVG or as PNG.

mod png;
mod svg;

pub(crate) use svg::escaped;

/// A drawing on a white sheet; lengths are in pixels of a screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Width of the sheet.
    pub width: f32,
    /// Height of the sheet.
    pub height: f32,
    shapes: Vec<Shape>,
}

/// A place on the sheet, from the top left.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// From the left.
    pub x: f32,
    /// From the top.
    pub y: f32,
}

/// A colour as three bytes: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// What a text's place is to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Box { at: Place, width: f32, height: f32, fill: Colour, hint: String },
    Line { points: Vec<Place>, colour: Colour, width: f32, dashed: bool },
    Dot { at: Place, radius: f32, fill: Colour },
    Text { at: Place, text: String, anchor: Anchor, colour: Colour, bold: bool, upright: bool },
}

impl Drawing {
    /// An empty sheet.
    pub fn new(width: f32, height: f32) -> Drawing {
        Drawing { width, height, shapes: Vec::new() }
    }

    /// A filled rectangle, with a text for whoever points at it.
    pub fn rectangle(&mut self, at: Place, size: (f32, f32), fill: Colour, hint: &str) {
        let (width, height) = size;
        self.shapes.push(Shape::Box { at, width, height, fill, hint: hint.into() });
    }

    /// A line through these places.
    pub fn line(&mut self, points: &[Place], colour: Colour, width: f32) {
        self.shapes.push(Shape::Line { points: points.to_vec(), colour, width, dashed: false });
    }

    /// A dashed line through these places.
    pub fn dashes(&mut self, points: &[Place], colour: Colour, width: f32) {
        self.shapes.push(Shape::Line { points: points.to_vec(), colour, width, dashed: true });
    }

    /// A dot.
    pub fn dot(&mut self, at: Place, radius: f32, fill: Colour) {
        self.shapes.push(Shape::Dot { at, radius, fill });
    }

    /// A text in one line.
    pub fn text(&mut self, at: Place, text: &str, anchor: Anchor, colour: Colour) {
        self.write(at, text, anchor, colour, (false, false));
    }

    /// A heading.
    pub fn heading(&mut self, at: Place, text: &str) {
        self.write(at, text, Anchor::Start, Colour::INK, (true, false));
    }

    /// A text that runs upwards.
    pub fn upright(&mut self, at: Place, text: &str) {
        self.write(at, text, Anchor::Middle, Colour::GREY, (false, true));
    }

    /// Puts another drawing on this one, its top left corner at a place.
    pub fn add(&mut self, at: Place, other: Drawing) {
        let shapes = other.shapes.into_iter().map(|shape| shape.moved(at));
        self.shapes.extend(shapes);
    }

    fn write(&mut self, at: Place, text: &str, anchor: Anchor, colour: Colour, kind: (bool, bool)) {
        let ((bold, upright), text) = (kind, text.to_string());
        self.shapes.push(Shape::Text { at, text, anchor, colour, bold, upright });
    }
}

impl Shape {
    fn moved(mut self, by: Place) -> Shape {
        let shift = |place: &mut Place| *place = Place { x: place.x + by.x, y: place.y + by.y };
        match &mut self {
            Shape::Box { at, .. } | Shape::Dot { at, .. } | Shape::Text { at, .. } => shift(at),
            Shape::Line { points, .. } => points.iter_mut().for_each(shift),
        }
        self
    }
}

impl Place {
    /// A place.
    pub const fn at(x: f32, y: f32) -> Place {
        Place { x, y }
    }
}

impl Colour {
    /// For texts.
    pub const INK: Colour = Colour(0x22, 0x26, 0x2b);
    /// For what explains.
    pub const GREY: Colour = Colour(0x5b, 0x63, 0x6b);
    /// For axes and grids.
    pub const FAINT: Colour = Colour(0xdd, 0xe1, 0xe5);
    /// What was published.
    pub const PUBLISHED: Colour = Colour(0xb8, 0xbf, 0xc7);

    /// One of a row of colours that are easy to tell apart, also for most of the colour-blind
    /// (Okabe and Ito).
    pub const fn of(index: usize) -> Colour {
        ROW[index % ROW.len()]
    }
}

const ROW: [Colour; 8] = [
    Colour(0x00, 0x72, 0xb2),
    Colour(0xe6, 0x9f, 0x00),
    Colour(0x00, 0x9e, 0x73),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x56, 0xb4, 0xe9),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0x8a, 0x6d, 0x3b),
    Colour(0x4b, 0x4b, 0x6b),
];

/// Height of a text in pixels.
const TEXT: f32 = 12.0;
/// Width of a character, about.
const CHARACTER: f32 = 6.6;

/// About how wide a text is, to leave room for it.
pub fn width_of(text: &str) -> f32 {
    text.chars().count() as f32 * CHARACTER
}
