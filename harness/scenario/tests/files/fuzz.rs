//! A short run of what `cargo xtask fuzz scenario` does at length.
//!
//! Invariant: no bytes make the loader panic, and what loads is written back to the same scenario.

use rehang_scenario::fuzz::{mutate, one};

const CORPUS: [&[u8]; 3] = [include_bytes!("row-diff.toml"), include_bytes!("family.toml"), b""];

#[test]
fn mutated_files_do_no_harm() {
    let mut loaded = 0;
    for seed in 0..3_000 {
        loaded += u32::from(one(&mutate(seed, &CORPUS)));
    }
    // A mutator whose files never load, or always do, would test only one half.
    assert!((100..2_900).contains(&loaded), "{loaded} of 3,000 loaded");
}

#[test]
fn the_same_seed_gives_the_same_file() {
    assert_eq!(mutate(7, &CORPUS), mutate(7, &CORPUS));
    assert_ne!(mutate(7, &CORPUS), mutate(8, &CORPUS));
    assert!(mutate(7, &[]).len() < 1 << 20);
}

#[test]
fn every_cut_of_a_file_is_an_error_with_a_place_or_a_file() {
    for file in CORPUS {
        for end in 0..file.len() {
            one(&file[..end]);
        }
    }
}
