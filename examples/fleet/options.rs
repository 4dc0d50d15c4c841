//! The arguments.

use core::error::Error;
use core::time::Duration;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) leases: u32,
    pub(crate) interval: Duration,
    pub(crate) length: Duration,
    /// With one request in a hundred hanging for 5 s, a hundredth of five times the requests a
    /// second hang at any moment: what is in flight has to be well above that.
    pub(crate) in_flight: usize,
    pub(crate) server: Option<String>,
    pub(crate) restarts: bool,
    /// Whether this process is the server's.
    pub(crate) serves: bool,
}

impl Options {
    pub(crate) fn parse(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            leases: 1000,
            interval: Duration::from_secs(10),
            length: Duration::from_secs(30),
            in_flight: 64,
            server: None,
            restarts: false,
            serves: false,
        };
        while let Some(option) = arguments.next() {
            match option.as_str() {
                "--restart" => options.restarts = true,
                "--serve" => options.serves = true,
                _ => {
                    let value = arguments
                        .next()
                        .ok_or_else(|| format!("{option} wants a value"))?;
                    options.set(&option, value)?;
                }
            }
        }
        Ok(options)
    }

    fn set(&mut self, option: &str, value: String) -> Result<(), Box<dyn Error>> {
        match option {
            "--leases" => self.leases = value.parse()?,
            "--interval" => self.interval = seconds(&value)?,
            "--for" => self.length = seconds(&value)?,
            "--in-flight" => self.in_flight = value.parse()?,
            "--server" => self.server = Some(value),
            _ => return Err(format!("unknown option {option}").into()),
        }
        Ok(())
    }
}

/// A length such as `10s`, `1.5s` or `10`.
fn seconds(text: &str) -> Result<Duration, Box<dyn Error>> {
    let number: f64 = text.strip_suffix('s').unwrap_or(text).parse()?;
    Ok(Duration::try_from_secs_f64(number)?)
}
