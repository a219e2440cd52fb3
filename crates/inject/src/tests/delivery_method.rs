use crate::{DeliveryMethod, Errand, ScreenWindow, Terminal, delivery_method};

#[test]
fn the_client_itself_comes_first_and_a_bookmark_is_always_typed() {
    let terminal = Terminal::Screen(ScreenWindow { session: "s".to_owned(), window: "0".to_owned() });
    for errand in Errand::ALL {
        let bridged = errand != Errand::Bookmark;
        assert_eq!(delivery_method(errand, true, Some(&terminal)) == DeliveryMethod::Bridge, bridged, "{errand:?}");
        assert_eq!(
            delivery_method(errand, true, None),
            if bridged { DeliveryMethod::Bridge } else { DeliveryMethod::None }
        );
        assert_eq!(delivery_method(errand, false, Some(&terminal)), DeliveryMethod::Terminal(&terminal));
        assert_eq!(delivery_method(errand, false, None), DeliveryMethod::None);
    }
}
