//! The few shapes of an SVG that a picture is made of.

use core::fmt::{Display, Write};

/// Text and shapes in the order in which they are painted.
#[derive(Debug, Default)]
pub(super) struct Svg(String);

impl Svg {
    pub(super) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), title: &str) {
        let ((x, y), (width, height)) = (at, size);
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
             height=\"{height:.1}\">{}</rect>",
            width.max(0.0),
            Title(title)
        ));
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    /// A rhombus around a point.
    pub(super) fn diamond(&mut self, class: &str, (x, y): (f64, f64), title: &str) {
        let r = 5.0;
        self.put(format_args!(
            "<path class=\"{class}\" d=\"M{:.1} {y:.1} L{x:.1} {:.1} L{:.1} {y:.1} L{x:.1} {:.1} \
             Z\">{}</path>",
            x - r,
            y - r,
            x + r,
            y + r,
            Title(title)
        ));
    }

    /// A cross around a point.
    pub(super) fn cross(&mut self, class: &str, (x, y): (f64, f64)) {
        let r = 5.0;
        self.line(class, (x - r, y - r), (x + r, y + r));
        self.line(class, (x - r, y + r), (x + r, y - r));
    }

    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), text: impl Display) {
        let text = escape(&text.to_string());
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }

    /// The whole file.
    pub(super) fn finish(self, size: (f64, f64), title: &str, style: &str) -> String {
        let (width, height) = size;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<defs>\
             <pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fbe3b0\"/>\
             <rect width=\"2\" height=\"6\" fill=\"#d9952b\"/></pattern></defs>\n\
             <style>\n{style}</style>\n{}</svg>\n",
            escape(title),
            self.0
        )
    }

    fn put(&mut self, shape: core::fmt::Arguments<'_>) {
        // Writing into a String does not fail.
        let _ = writeln!(self.0, "{shape}");
    }
}

/// What a browser shows under the pointer.
struct Title<'a>(&'a str);

impl Display for Title<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "<title>{}</title>", escape(self.0))
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_its_element() {
        let mut svg = Svg::default();
        svg.text("x", (1.0, 2.0), "a < b & c");
        let file = svg.finish((10.0, 20.0), "t", "");
        assert!(file.contains("<text class=\"x\" x=\"1.0\" y=\"2.0\">a &lt; b &amp; c</text>"));
        assert!(file.ends_with("</svg>\n"));
    }
}
