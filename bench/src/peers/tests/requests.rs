use super::super::driver::Requests;
use super::super::requests::{KEYS, Prebuilt, share};

#[test]
fn the_shares_of_all_connections_are_all_keys() {
    let prebuilt = Prebuilt::build(|number| u32::try_from(number).unwrap().to_be_bytes().to_vec());
    for connections in [1, 3, 64, 16_000] {
        let mut out = Vec::new();
        for number in 0..connections {
            let mut cycle = prebuilt.of_connection(number, connections);
            (0..share(connections)).for_each(|_| cycle.next(&mut out));
        }
        let mut keys: Vec<&[u8]> = out.chunks(4).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), KEYS, "{connections} connections");
    }
}
