#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(door) = counterpoint_fuzz::door("model") {
        (door.run)(data);
    }
});
