//! Links the executables of tests at a fixed address and without symbols.

#[expect(clippy::disallowed_methods, reason = "a build script has no Env to be passed")]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // Tests start a hundred executables each second. Those without optimisation are large, and to adapt one to the address where it
    // happens to be loaded took a third of its start: a fifth of the time of such tests.
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo:rustc-link-arg-bins=-Wl,--no-pie");
        // Tests of installations copy them and compute their checksums. The names of functions are a third of such an executable.
        println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    }
}
