use crate::{Errand, Means, ScreenWindow, Terminal, means};

#[test]
fn the_client_itself_comes_first_and_a_bookmark_is_always_typed() {
    let terminal = Terminal::Screen(ScreenWindow { session: "s".to_owned(), window: "0".to_owned() });
    for errand in Errand::ALL {
        let bridged = errand != Errand::Bookmark;
        assert_eq!(means(errand, true, Some(&terminal)) == Means::Bridge, bridged, "{errand:?}");
        assert_eq!(means(errand, true, None), if bridged { Means::Bridge } else { Means::None });
        assert_eq!(means(errand, false, Some(&terminal)), Means::Terminal(&terminal));
        assert_eq!(means(errand, false, None), Means::None);
    }
}
