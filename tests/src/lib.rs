//! The shared test harness: a driver that asserts the laws of the machine contract on every step
//! of every test, timetables, a small lease store, and the checks of the source itself.

pub mod book;
pub mod choices;
pub mod coverage;
pub mod driven;
pub mod driver;
pub mod faulty;
pub mod fuzz;
pub mod heart;
pub mod input;
pub mod laws;
pub mod life;
pub mod lived;
pub mod model;
pub mod mutants;
pub mod prelude;
pub mod seen;
pub mod sim;
pub mod store;
pub mod subject;
pub mod text;
pub mod tidy;
pub mod timetable;
pub mod transcript;
