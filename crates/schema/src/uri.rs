//! The grammar of URIs and IRIs (RFC 3986, 3987) and of URI templates (RFC 6570).

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether a text is a URI, or with `relative` a reference to one. With `unicode` it may be an IRI.
pub(crate) fn is_uri(text: &str, relative: bool, unicode: bool) -> bool {
    let (text, fragment) = text.split_once('#').map_or((text, ""), |(left, right)| (left, right));
    let (text, query) = text.split_once('?').map_or((text, ""), |(left, right)| (left, right));
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, text),
    };
    if scheme.is_none() && !relative {
        return false;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !is_authority(authority, unicode) {
                return false;
            }
            path
        }
        // Text before a colon would be read as a scheme.
        None if scheme.is_none() && rest.split('/').next().is_some_and(|s| s.contains(':')) => {
            return false;
        }
        None => rest,
    };
    consists_of(path, ":@/", unicode)
        && consists_of(fragment, ":@/?", unicode)
        && consists_of_query(query, unicode)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_authority(text: &str, unicode: bool) -> bool {
    let (user, host) = text.split_once('@').map_or(("", text), |(user, host)| (user, host));
    let (host, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((literal, port)) => {
            if !is_ip_literal(literal) || !(port.is_empty() || port.starts_with(':')) {
                return false;
            }
            ("", port.strip_prefix(':').unwrap_or(port))
        }
        None => host.split_once(':').map_or((host, ""), |(host, port)| (host, port)),
    };
    consists_of(user, ":", unicode)
        && consists_of(host, "", unicode)
        && port.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_ip_literal(text: &str) -> bool {
    let future = text.strip_prefix(['v', 'V']).and_then(|rest| rest.split_once('.'));
    match future {
        Some((version, address)) => {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !address.is_empty()
                && !address.contains('%')
                && consists_of(address, ":", false)
        }
        None => is_ipv6(text),
    }
}

/// Whether a text has only unreserved characters, these others, and valid escapes.
fn consists_of(text: &str, others: &str, unicode: bool) -> bool {
    escapes_are_sound(text)
        && text.chars().all(|character| {
            character == '%'
                || is_plain(character)
                || others.contains(character)
                || unicode && is_ucs(character)
        })
}

fn consists_of_query(text: &str, unicode: bool) -> bool {
    let is_private = |character: char| {
        let code = u32::from(character);
        matches!(code, 0xe000..=0xf8ff | 0xf_0000..=0xf_fffd | 0x10_0000..=0x10_fffd)
    };
    let public: String = text.chars().filter(|c| !(unicode && is_private(*c))).collect();
    consists_of(&public, ":@/?", unicode)
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-._~!$&'()*+,;=".contains(character)
}

/// Characters beyond ASCII that an IRI may have.
fn is_ucs(character: char) -> bool {
    let code = u32::from(character);
    matches!(code, 0xa0..=0xd7ff | 0xf900..=0xfdcf | 0xfdf0..=0xffef)
        || (0x1_0000..0xf_0000).contains(&code)
            && code & 0xffff <= 0xfffd
            && !(0xe_0000..0xe_1000).contains(&code)
}

fn escapes_are_sound(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

/// Whether a text is an IPv4 address.
pub(crate) fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

/// Whether a text is an IPv6 address.
pub(crate) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// Whether a text is a URI template.
pub(crate) fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else { return false };
        if !is_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = after;
    }
    is_literal(rest)
}

fn is_literal(text: &str) -> bool {
    let forbidden =
        |character: char| character.is_ascii_control() || " \"<>\\^`{|}".contains(character);
    escapes_are_sound(text) && !text.contains(forbidden)
}

fn is_expression(text: &str) -> bool {
    let operators = ['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|'];
    text.strip_prefix(operators).unwrap_or(text).split(',').all(is_variable)
}

fn is_variable(text: &str) -> bool {
    let name = match text.split_once(':') {
        Some((name, length)) => {
            let sound = (1..=4).contains(&length.len())
                && !length.starts_with('0')
                && length.bytes().all(|byte| byte.is_ascii_digit());
            if !sound {
                return false;
            }
            name
        }
        None => text.strip_suffix('*').unwrap_or(text),
    };
    let is_name = |part: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'%';
        !part.is_empty() && part.bytes().all(known) && escapes_are_sound(part)
    };
    name.split('.').all(is_name)
}
