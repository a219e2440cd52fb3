use super::{CONNECTIONS, Connections};

#[test]
fn the_oldest_connection_without_a_key_makes_room() {
    let connections = Connections::default();
    let places: Vec<_> = (0..CONNECTIONS).map(|_| connections.enter().unwrap()).collect();
    places[0].caller().trust();
    let new = connections.enter().unwrap();
    let is_open = |number| super::lock(&connections.0).tasks.contains_key(&number);
    assert!(is_open(0) && !is_open(1) && is_open(2) && is_open(new.number));
    places.iter().for_each(|place| place.caller().trust());
    new.caller().trust();
    assert!(connections.enter().is_none());
    drop(places);
    assert!(connections.enter().is_some());
}
