//! What `run` and its guard say to each other, one line each.

use kubelease::Instant;

/// What the guard is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The command may run on: it gets SIGTERM at `term_at` and SIGKILL at `kill_at`, both on the
    /// clock that counts suspend, unless another order comes before.
    Bounds(Bounds),
    /// Send this signal to the command's group.
    Signal(i32),
}

/// How long a command may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) term_at: Instant,
    pub(super) kill_at: Instant,
}

/// What the guard tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The command runs, as the leader of the process group with this number.
    Started(i32),
    /// The command exited with this code, and nothing that it started is left.
    Exited(i32),
    /// This signal ended the command, and nothing that it started is left.
    Signaled(i32),
    /// Nothing was started: the time was over before.
    TooLate,
    /// The command has ended, but something that it started could not be killed.
    Survived,
}

impl Order {
    /// The line, with its end.
    pub(super) fn to_line(self) -> String {
        match self {
            Self::Bounds(Bounds { term_at, kill_at }) => {
                format!("bounds {} {}\n", term_at.as_millis(), kill_at.as_millis())
            }
            Self::Signal(number) => format!("signal {number}\n"),
        }
    }

    /// Reads a line without its end; `None` where it is none of these.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        match words.next()? {
            "bounds" => {
                let mut instant = || words.next()?.parse().ok().map(Instant::from_millis);
                Some(Self::Bounds(Bounds {
                    term_at: instant()?,
                    kill_at: instant()?,
                }))
            }
            "signal" => Some(Self::Signal(words.next()?.parse().ok()?)),
            _ => None,
        }
    }
}

impl Report {
    /// The line, with its end.
    pub(super) fn to_line(self) -> String {
        match self {
            Self::Started(group) => format!("started {group}\n"),
            Self::Exited(code) => format!("exited {code}\n"),
            Self::Signaled(number) => format!("signaled {number}\n"),
            Self::TooLate => "late 0\n".to_owned(),
            Self::Survived => "survived 0\n".to_owned(),
        }
    }

    /// Reads a line without its end; `None` where it is none of these.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, number) = line.split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "started" => Some(Self::Started(number)),
            "exited" => Some(Self::Exited(number)),
            "signaled" => Some(Self::Signaled(number)),
            "late" => Some(Self::TooLate),
            "survived" => Some(Self::Survived),
            _ => None,
        }
    }
}

/// Takes the first whole line out of what was read so far.
pub(super) fn take_line(read: &mut Vec<u8>) -> Option<String> {
    let end = read.iter().position(|byte| *byte == b'\n')?;
    let line = read.drain(..=end).take(end).collect();
    String::from_utf8(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_what_they_were() {
        let bounds = Bounds {
            term_at: Instant::from_millis(1),
            kill_at: Instant::from_millis(u64::MAX),
        };
        for order in [Order::Bounds(bounds), Order::Signal(15)] {
            assert_eq!(Order::parse(order.to_line().trim_end()), Some(order));
        }
        let reports = [
            Report::Started(7),
            Report::Exited(255),
            Report::Signaled(9),
            Report::TooLate,
            Report::Survived,
        ];
        for report in reports {
            assert_eq!(Report::parse(report.to_line().trim_end()), Some(report));
        }
        for line in ["", "bounds", "bounds 1", "bounds 1 x", "signal", "stop 1"] {
            assert_eq!(Order::parse(line), None, "{line}");
            assert_eq!(Report::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_is_taken_only_when_it_is_whole() {
        let mut read = b"signal 1\nsig".to_vec();
        assert_eq!(take_line(&mut read).as_deref(), Some("signal 1"));
        assert_eq!(take_line(&mut read), None);
        read.extend(b"nal 2\n");
        assert_eq!(take_line(&mut read).as_deref(), Some("signal 2"));
        assert!(read.is_empty());
    }
}
