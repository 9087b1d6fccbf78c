use serde_json::json;

use super::database::Address;
use super::group::Owners;

#[test]
fn an_address_of_a_socket_names_a_user_a_folder_and_a_database() {
    let parsed = Address::parse("postgres://baton@%2Ftmp%2Fx/postgres").unwrap();
    assert_eq!(
        (&*parsed.user, &*parsed.folder, &*parsed.database),
        ("baton", "/tmp/x", "postgres")
    );
    for other in ["postgres://baton@host/postgres", "nats://a", "postgres://b@%2Ft/p?schema=x"] {
        assert_eq!(Address::parse(other), None, "{other}");
    }
}

#[test]
fn owners_are_known_when_every_shard_has_one_and_no_server_too_many() {
    let addresses = ["http://a".to_owned(), "http://b".to_owned()];
    let status = |a: &[u32], b: &[u32]| {
        json!({"shards": 4, "servers": [
            {"address": "http://a", "shards": a},
            {"address": "http://b", "shards": b},
        ]})
    };
    let owners = Owners::parse(&status(&[0, 3], &[1, 2]), &addresses);
    assert_eq!(owners, Some(Owners(vec![0, 1, 1, 0])));
    assert_eq!(Owners::parse(&status(&[0, 3], &[1]), &addresses), None, "2 has no owner");
    assert_eq!(Owners::parse(&status(&[0, 1, 3], &[2]), &addresses), None, "shards will move");
    let more = json!({"shards": 1, "servers": [{"address": "http://c", "shards": [0]}]});
    assert_eq!(Owners::parse(&more, &addresses), None, "a server that has gone is still listed");
    let fewer = json!({"shards": 1, "servers": [{"address": "http://a", "shards": [0]}]});
    assert_eq!(Owners::parse(&fewer, &addresses), None, "one has not joined");
}
