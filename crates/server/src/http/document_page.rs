//! A document as a page for browsers: its text as it is, with a target for each heading, and with
//! links that can be followed. The `type` of a problem leads to such a target.

use std::fmt::Write;

/// The page may load and run nothing.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
const HEAD: &str = "<!doctype html>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n\
    <meta name=\"color-scheme\" content=\"light dark\">\n\
    <style>pre{max-width:100ch;margin:2rem auto;padding:0 1rem;white-space:pre-wrap;\
    overflow-wrap:anywhere;font:14px/1.5 ui-monospace,monospace}\
    :target{background:#fc06}</style>\n";

/// A page with a Markdown text.
pub(super) fn page(markdown: &str) -> String {
    let title = markdown.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let mut out = format!("{HEAD}<title>{}</title>\n<pre>", escaped(title));
    let mut is_code = false;
    for line in markdown.lines() {
        is_code ^= line.starts_with("```");
        match line.strip_prefix('#').filter(|_| !is_code) {
            Some(rest) => write_heading(&mut out, rest.trim_start_matches('#').trim(), line),
            None if is_code => out.push_str(&escaped(line)),
            None => write_text(&mut out, line),
        }
        out.push('\n');
    }
    out.push_str("</pre>\n");
    out
}

/// A heading has the name that links in the documents use. One that is a code has also that code.
fn write_heading(out: &mut String, heading: &str, line: &str) {
    let line = escaped(line);
    let code = heading.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let name = escaped(&anchor(heading));
    match code {
        Some(code) => {
            let code = escaped(code);
            let _ = write!(out, "<b id=\"{code}\"><a id=\"{name}\"></a>{line}</b>");
        }
        None => {
            let _ = write!(out, "<b id=\"{name}\">{line}</b>");
        }
    }
}

/// The name of a heading in links: in lower case, with dashes for spaces, without punctuation.
fn anchor(heading: &str) -> String {
    let is_kept = |character: &char| character.is_alphanumeric() || "-_ ".contains(*character);
    heading.to_lowercase().chars().filter(is_kept).collect::<String>().replace(' ', "-")
}

/// Text in which `[words](target)` is a link.
fn write_text(out: &mut String, line: &str) {
    let mut rest = line;
    while let Some((before, words, target, after)) = next_link(rest) {
        let (before, words, target) = (escaped(before), escaped(words), escaped(target));
        let _ = write!(out, "{before}<a href=\"{target}\">{words}</a>");
        rest = after;
    }
    out.push_str(&escaped(rest));
}

/// The text before the next link, its words, its target, and the text after it.
fn next_link(line: &str) -> Option<(&str, &str, &str, &str)> {
    let (linked, rest) = line.split_once("](")?;
    let (before, words) = linked.rsplit_once('[')?;
    let (target, after) = rest.split_once(')')?;
    // A target with a scheme could be a script.
    let is_target =
        !target.contains([' ', '"']) && (target.starts_with("https://") || !target.contains(':'));
    is_target.then_some((before, words, target, after))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn headings_can_be_linked_to_and_links_followed() {
        let markdown = "# Errors & more\n## `state.not_found`\n\
            See [the wire](wire.md#host-and-origin), `a<b`.\n\
            ```\n# no heading\n[no](link)\n```\n## Host and Origin\n[x](javascript:y)\n";
        let page = page(markdown);
        for part in [
            "<title>Errors &amp; more</title>",
            "<b id=\"state.not_found\"><a id=\"statenot_found\"></a>## `state.not_found`</b>",
            "See <a href=\"wire.md#host-and-origin\">the wire</a>, `a&lt;b`.",
            "\n# no heading\n[no](link)\n",
            "<b id=\"host-and-origin\">## Host and Origin</b>",
            "\n[x](javascript:y)\n",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }
}
