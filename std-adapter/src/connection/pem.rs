//! Certificates, keys and tokens as they stand in files.

use reqwest::header::HeaderValue;
use reqwest::{Certificate, Identity};

use super::ConnectionError;
use super::secret::{Item, Secret};

/// What TLS is made of: all of it in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Material {
    pub(crate) ca: Option<Secret<Vec<u8>>>,
    /// A certificate with those above it, and then its key.
    pub(crate) client: Option<Secret<Vec<u8>>>,
}

impl Material {
    /// The authorities that `item` has now, after a look at each.
    pub(crate) fn read_ca(item: &Item) -> Result<Secret<Vec<u8>>, ConnectionError> {
        let pem = item.read()?;
        let is_one = authorities(&pem.0).is_some_and(|found| !found.is_empty());
        let unlike = || item.unlike("at least one certificate in PEM", "none");
        is_one.then_some(pem).ok_or_else(unlike)
    }

    /// The certificate and the key that two items have now.
    pub(crate) fn read_client(
        certificate: &Item,
        key: &Item,
    ) -> Result<Secret<Vec<u8>>, ConnectionError> {
        let pair = Self::pair(&certificate.read()?.0, &key.read()?.0);
        pair.map_err(|missing| match missing {
            Missing::Certificate => certificate.unlike("a certificate in PEM", "none"),
            Missing::Key(found) => {
                key.unlike("an unencrypted PKCS#1, PKCS#8 or SEC1 key in PEM", found)
            }
        })
    }

    /// Certificates from one text and a key from another. They may be one and the same text.
    pub(crate) fn pair(certificate: &[u8], key: &[u8]) -> Result<Secret<Vec<u8>>, Missing> {
        let mut pem = sections(certificate, |label| label == "CERTIFICATE");
        if pem.is_empty() {
            return Err(Missing::Certificate);
        }
        let is_key =
            |label: &str| matches!(label, "PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY");
        let key_pem = sections(key, is_key);
        if key_pem.is_empty() {
            let is_locked = |label: &str| label == "ENCRYPTED PRIVATE KEY";
            let is_locked = !sections(key, is_locked).is_empty();
            return Err(Missing::Key(if is_locked {
                "an encrypted one"
            } else {
                "none"
            }));
        }
        pem.extend(key_pem);
        if Identity::from_pem(&pem).is_err() {
            return Err(Missing::Key("one that can't be read"));
        }
        Ok(Secret(pem))
    }

    /// The authorities, as the client takes them.
    pub(crate) fn authorities(&self) -> Vec<Certificate> {
        let pem = self.ca.as_ref().map(|pem| pem.0.as_slice());
        pem.and_then(authorities).unwrap_or_default()
    }

    /// The certificate and its key, as the client takes them.
    pub(crate) fn identity(&self) -> Option<Identity> {
        Identity::from_pem(&self.client.as_ref()?.0).ok()
    }
}

/// What is not where it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Certificate,
    /// What was found in its place.
    Key(&'static str),
}

fn authorities(pem: &[u8]) -> Option<Vec<Certificate>> {
    Certificate::from_pem_bundle(pem).ok()
}

/// The sections of a PEM file whose label is meant, one after the other.
fn sections(pem: &[u8], is_meant: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for line in String::from_utf8_lossy(pem).lines().map(str::trim) {
        let label = |edge: &str| {
            let rest = line.strip_prefix("-----")?.strip_prefix(edge)?;
            rest.strip_suffix("-----")
        };
        is_inside |= label("BEGIN ").is_some_and(&is_meant);
        if is_inside {
            found.extend_from_slice(line.as_bytes());
            found.push(b'\n');
        }
        is_inside &= label("END ").is_none();
    }
    found
}

/// The header that carries `token`, marked so that nobody prints it.
pub(crate) fn bearer(item: &Item, token: &[u8]) -> Result<HeaderValue, ConnectionError> {
    let token = token.trim_ascii();
    let is_plain = !token.is_empty() && token.iter().all(u8::is_ascii_graphic);
    let header = [b"Bearer ", token].concat();
    let header = HeaderValue::from_bytes(&header).ok().filter(|_| is_plain);
    let mut header =
        header.ok_or_else(|| item.unlike("visible ASCII", "nothing or other characters"))?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(label: &str, body: &str) -> String {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    }

    #[test]
    fn each_text_gives_only_what_is_meant() {
        let both = [
            "Bag Attributes\r\n",
            &pem("CERTIFICATE", "YQ=="),
            &pem("EC PARAMETERS", "Yg=="),
            &pem("EC PRIVATE KEY", "Yw=="),
            &pem("CERTIFICATE", "ZA=="),
        ]
        .concat();
        let certificates = [pem("CERTIFICATE", "YQ=="), pem("CERTIFICATE", "ZA==")].concat();
        let found = sections(both.as_bytes(), |label| label == "CERTIFICATE");
        assert_eq!(String::from_utf8(found).unwrap(), certificates);
        let pair = Material::pair(both.as_bytes(), both.as_bytes()).unwrap();
        let expected = [certificates, pem("EC PRIVATE KEY", "Yw==")].concat();
        assert_eq!(String::from_utf8(pair.0).unwrap(), expected);
    }

    #[test]
    fn what_is_missing_in_a_pair_is_said() {
        let (certificate, key) = (pem("CERTIFICATE", "YQ=="), pem("PRIVATE KEY", "Yg=="));
        let locked = pem("ENCRYPTED PRIVATE KEY", "Yg==");
        let cases = [
            (&key, &key, Missing::Certificate),
            (&certificate, &certificate, Missing::Key("none")),
            (&certificate, &locked, Missing::Key("an encrypted one")),
        ];
        for (certificate, key, missing) in cases {
            let pair = Material::pair(certificate.as_bytes(), key.as_bytes());
            assert_eq!(pair, Err(missing));
        }
    }

    #[test]
    fn a_token_is_marked_so_that_nobody_prints_it() {
        let item = Item::given("bearer_token", "");
        let header = bearer(&item, b" s3cret\n").unwrap();
        assert_eq!(header.as_bytes(), b"Bearer s3cret");
        assert!(!format!("{header:?}").contains("s3cret"));
        for bad in ["", " ", "a b", "a\nb", "t\u{f6}ken"] {
            let error = bearer(&item, bad.as_bytes()).unwrap_err().to_string();
            let expected =
                "bearer_token: expected visible ASCII, found nothing or other characters";
            assert_eq!(error, expected);
        }
    }
}
