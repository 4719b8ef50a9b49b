//! Drawings as PNG, at twice the size so that they stay sharp in print.
//!
//! Shapes are painted by tiny-skia. Texts are set in the bitmap font of embedded-graphics, which is part
//! of the program: a picture does not depend on the fonts of the machine. (Rendering the SVG itself would
//! need a shaping engine, a font data base and 60 crates more.)

use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::mono_font::iso_8859_1::FONT_10X20;
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::BinaryColor;
use embedded_graphics::text::{Baseline, Text};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Rect,
    Stroke, StrokeDash, Transform,
};

use super::{Anchor, Colour, Drawing, Place, Shape};

impl Drawing {
    /// The drawing as a PNG file.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        let (width, height) = ((self.width * SCALE) as u32, (self.height * SCALE) as u32);
        let sheet = Pixmap::new(width, height);
        let mut sheet = sheet.ok_or_else(|| format!("no picture has {width} by {height} dots"))?;
        sheet.fill(Color::WHITE);
        for shape in &self.shapes {
            paint(&mut sheet, shape);
        }
        sheet.encode_png().map_err(|error| error.to_string())
    }
}

fn paint(sheet: &mut Pixmap, shape: &Shape) {
    match shape {
        Shape::Box { at, width, height, fill, .. } => {
            if let Some(area) = Rect::from_xywh(at.x, at.y, *width, *height) {
                sheet.fill_rect(area, &ink(*fill), scaled(), None);
            }
        }
        Shape::Line { points, colour, width, dashed } => {
            let dash = if *dashed { StrokeDash::new(vec![5.0, 4.0], 0.0) } else { None };
            let (line_cap, line_join) = (LineCap::Butt, LineJoin::Round);
            let stroke = Stroke { width: *width, dash, line_cap, line_join, ..Stroke::default() };
            if let Some(path) = path(points) {
                sheet.stroke_path(&path, &ink(*colour), &stroke, scaled(), None);
            }
        }
        Shape::Dot { at, radius, fill } => {
            if let Some(path) = PathBuilder::from_circle(at.x, at.y, *radius) {
                sheet.fill_path(&path, &ink(*fill), FillRule::Winding, scaled(), None);
            }
        }
        Shape::Text { at, text, anchor, colour, bold, upright } => {
            let mut pen = Pen { sheet, colour: *colour, upright: *upright, at: *at, right: 0 };
            pen.write(text, *anchor);
            if *bold {
                pen.right = 1;
                pen.write(text, *anchor);
            }
        }
    }
}

fn path(points: &[Place]) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    builder.move_to(first.x, first.y);
    rest.iter().for_each(|place| builder.line_to(place.x, place.y));
    builder.finish()
}

fn ink(Colour(red, green, blue): Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

fn scaled() -> Transform {
    Transform::from_scale(SCALE, SCALE)
}

/// Writes texts dot by dot.
struct Pen<'a> {
    sheet: &'a mut Pixmap,
    colour: Colour,
    upright: bool,
    at: Place,
    /// Dots further to the right: a text written twice is bold.
    right: i32,
}

impl Pen<'_> {
    fn write(&mut self, text: &str, anchor: Anchor) {
        let text: String = text.chars().map(in_font).collect();
        let length = text.chars().count() as i32 * FONT.character_size.width as i32;
        let before = match anchor {
            Anchor::Start => 0,
            Anchor::Middle => length / 2,
            Anchor::End => length,
        };
        let style = MonoTextStyle::new(FONT, BinaryColor::On);
        let begin = Point::new(self.right - before, 0);
        // Drawing on a sheet in memory cannot fail.
        let _ = embedded_graphics::Drawable::draw(
            &Text::with_baseline(&text, begin, style, Baseline::Alphabetic),
            self,
        );
    }
}

impl OriginDimensions for Pen<'_> {
    fn size(&self) -> Size {
        Size::new(self.sheet.width(), self.sheet.height())
    }
}

impl DrawTarget for Pen<'_> {
    type Color = BinaryColor;
    type Error = std::convert::Infallible;

    fn draw_iter<I>(&mut self, pixels: I) -> Result<(), Self::Error>
    where
        I: IntoIterator<Item = Pixel<BinaryColor>>,
    {
        let Colour(red, green, blue) = self.colour;
        let dot = PremultipliedColorU8::from_rgba(red, green, blue, 255);
        let origin = ((self.at.x * SCALE) as i32, (self.at.y * SCALE) as i32);
        let (width, height) = (self.sheet.width() as i32, self.sheet.height() as i32);
        for Pixel(Point { x, y }, _) in pixels.into_iter().filter(|pixel| pixel.1.is_on()) {
            let (x, y) = if self.upright { (y, -x) } else { (x, y) };
            let (x, y) = (origin.0 + x, origin.1 + y);
            let inside = (0..width).contains(&x) && (0..height).contains(&y);
            if let (true, Some(dot)) = (inside, dot) {
                self.sheet.pixels_mut()[(y * width + x) as usize] = dot;
            }
        }
        Ok(())
    }
}

/// The font has the letters of Western Europe; what it has not is written as what it has.
const fn in_font(letter: char) -> char {
    match letter {
        '–' | '−' | '—' => '-',
        '≈' => '~',
        '≤' => '<',
        '≥' => '>',
        '’' => '\'',
        other => other,
    }
}

const SCALE: f32 = 2.0;
const FONT: &MonoFont<'static> = &FONT_10X20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_size_and_its_colours() {
        let mut drawing = Drawing::new(60.0, 40.0);
        drawing.rectangle(Place::at(10.0, 10.0), (5.0, 5.0), Colour(255, 0, 0), "");
        drawing.text(Place::at(20.0, 30.0), "Ab", Anchor::Start, Colour(0, 0, 255));
        drawing.upright(Place::at(55.0, 20.0), "up");
        let png = drawing.png().expect("it is small");
        let sheet = Pixmap::decode_png(&png).expect("what was written can be read");
        assert_eq!((sheet.width(), sheet.height()), (120, 80));
        let count = |colour: (u8, u8, u8)| {
            let is = |dot: &&PremultipliedColorU8| (dot.red(), dot.green(), dot.blue()) == colour;
            sheet.pixels().iter().filter(is).count()
        };
        assert_eq!(count((255, 0, 0)), 100);
        assert!((20..200).contains(&count((0, 0, 255))), "letters have dots");
        assert!(Drawing::new(0.0, 10.0).png().is_err());
    }
}
