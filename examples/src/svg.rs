//! Pictures.

use std::fmt::Write;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 48.0;
const GAP: f64 = 96.0;

/// One chart a store: how much of each part of it is live, from its oldest byte at the left to its newest at the right.
pub fn density_picture(title: &str, stores: &[(String, &[f64])]) -> String {
    let height = TOP + stores.len() as f64 * (HEIGHT + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{height}\" viewBox=\"0 0 {w} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">{}</text>\n",
        escaped(title),
        w = WIDTH + 2.0 * LEFT
    );
    for (index, (name, bins)) in stores.iter().enumerate() {
        chart(&mut svg, TOP + index as f64 * (HEIGHT + GAP) + 24.0, name, bins);
    }
    svg.push_str("</svg>\n");
    svg
}

fn chart(svg: &mut String, top: f64, name: &str, bins: &[f64]) {
    let bottom = top + HEIGHT;
    text(svg, LEFT, top - 8.0, "start", name);
    text(svg, LEFT, bottom + 18.0, "start", "oldest byte");
    text(svg, LEFT + WIDTH, bottom + 18.0, "end", "newest byte");
    for percent in [0, 50, 100] {
        let y = bottom - HEIGHT * f64::from(percent) / 100.0;
        text(svg, LEFT - 6.0, y + 4.0, "end", &format!("{percent} %"));
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#cccccc\"/>",
            LEFT + WIDTH
        );
    }
    let width = WIDTH / bins.len().max(1) as f64;
    for (bin, share) in bins.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        // Thin shares stay visible.
        let height = (share * HEIGHT).max(0.5);
        let _ = writeln!(
            svg,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"#2f6f4f\"/>",
            LEFT + bin as f64 * width,
            bottom - height
        );
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(text));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bar_a_filled_part() {
        let svg = density_picture("a < b", &[("before".into(), &[0.0, 0.5, 1.0])]);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("a &lt; b"));
        assert_eq!(svg.matches("#2f6f4f").count(), 2);
    }
}
