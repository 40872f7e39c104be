//! Marks the library as one that leaves return addresses alone. The loader turns a process's shadow
//! stack off if any library lacks that mark, and the compiler does not set it by itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64") {
        println!("cargo:rustc-link-arg-cdylib=-Wl,-z,shstk");
    }
}
