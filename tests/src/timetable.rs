//! Timetables: what happens when, and what the machine makes of it.

/// One row: at so many milliseconds, after this input if there is one, exactly these outputs.
///
/// A wait is compared only where the row has one.
///
/// ```
/// use kubelease_tests::prelude::*;
///
/// let mut e = Driver::new(A);
/// at!(e, 0 => ["GET"]);
/// at!(e, 100, held_by("B", 9) => ["Leader B", "wait 2000"]);
/// ```
#[macro_export]
macro_rules! at {
    ($driver:ident, $ms:expr => [$($output:expr),* $(,)?]) => {
        $driver.go_to($ms);
        $driver.expect(&[$($output),*]);
    };
    ($driver:ident, $ms:expr, $input:expr => [$($output:expr),* $(,)?]) => {
        $driver.go_to($ms);
        $driver.take($input);
        $driver.expect(&[$($output),*]);
    };
}
