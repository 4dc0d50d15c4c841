//! A request as the handlers see it.

/// A request whose body has come in whole.
#[derive(Debug, Default, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    /// As sent, escapes and all.
    pub(super) path: String,
    /// As sent, without the question mark.
    pub(super) query: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The decoded value of the first parameter of this name.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        self.query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key, true) == name).then(|| decoded(value, true))
        })
    }

    /// A parameter that is there and not empty.
    pub(super) fn given(&self, name: &str) -> Option<String> {
        self.parameter(name).filter(|value| !value.is_empty())
    }

    pub(super) fn user_agent(&self) -> Option<&str> {
        self.header("user-agent")
    }
}

/// Text without its percent escapes; `is_query` takes `+` for a blank.
pub(super) fn decoded(text: &str, is_query: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        let escaped = || {
            let (high, low) = (*tail.first()?, *tail.get(1)?);
            let (high, low) = (
                char::from(high).to_digit(16)?,
                char::from(low).to_digit(16)?,
            );
            u8::try_from(high * 16 + low).ok()
        };
        match (first, escaped()) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            (b'+', _) if is_query => bytes.push(b' '),
            _ => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::Request;

    #[test]
    fn parameters_are_decoded() {
        let query = "a=1&fieldSelector=metadata.name%3Dx+y&empty=".to_owned();
        let request = Request {
            query,
            ..Request::default()
        };
        assert_eq!(
            request.parameter("fieldSelector").unwrap(),
            "metadata.name=x y"
        );
        assert_eq!(request.parameter("empty").as_deref(), Some(""));
        assert_eq!(request.given("empty"), None);
        assert_eq!(request.parameter("b"), None);
    }
}
