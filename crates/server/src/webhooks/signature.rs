//! Signatures: HMAC-SHA256 (RFC 2104) over the timestamp, a dot and the body.

use sha2::{Digest, Sha256};

/// The length of a block of SHA-256.
const BLOCK: usize = 64;

/// The signature in the form of the header.
pub(super) fn signature(secret: &str, timestamp: &str, body: &[u8]) -> String {
    let code = hmac(secret.as_bytes(), &[timestamp.as_bytes(), b".", body]);
    format!("sha256={}", hexadecimal(&code))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new();
    inner.update(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new();
    outer.update(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test cases 1, 2 and 6 of RFC 4231.
    #[test]
    fn codes_are_those_of_the_standard() {
        for (key, data, expected) in [
            (
                vec![0x0b; 20],
                "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            let (front, back) = data.as_bytes().split_at(3);
            assert_eq!(hexadecimal(&hmac(&key, &[front, back])), expected);
        }
        let signed = signature("Jefe", "1", b"x");
        assert!(signed.starts_with("sha256=") && signed.len() == 71);
    }
}
