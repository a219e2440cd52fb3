//! TLS as `sslmode` requires it, with a server and certificates of the test's own.

use std::path::Path;
use std::process::Command;

use tempfile::{TempDir, tempdir};

use super::postgres_server::PostgresServer;
use crate::{EngineAddress, EngineError};

fn check(url: &str) -> Result<(), EngineError> {
    EngineAddress::parse(url, None)?.connect(None).map(drop)
}

#[test]
fn a_server_without_tls_is_refused_if_tls_is_required() {
    let Some(server) = PostgresServer::start_with_tcp() else { return };
    assert!(check(&server.tcp_url("127.0.0.1", "")).is_ok(), "on this machine, TLS is not required");
    for mode in ["require", "verify-ca", "verify-full"] {
        let error = check(&server.tcp_url("127.0.0.1", &format!("sslmode={mode}"))).unwrap_err();
        assert!(matches!(&error, EngineError::Tls { mode: found, .. } if *found == mode), "{error:?}");
    }
}

#[test]
fn the_certificate_is_checked_as_sslmode_says() {
    let Some(certificates) = Certificates::make() else { return };
    let Some(server) =
        PostgresServer::start_with_tls(&certificates.path("server.crt"), &certificates.path("server.key"))
    else {
        return;
    };
    let root = format!("sslrootcert={}", certificates.path("ca.crt").display());
    let other = format!("sslrootcert={}", certificates.path("other.crt").display());
    let is_accepted = |host: &str, parameters: &str| match check(&server.tcp_url(host, parameters)) {
        Ok(()) => true,
        Err(EngineError::Tls { .. }) => false,
        Err(error) => panic!("{error}"),
    };
    // The certificate is for localhost.
    assert!(is_accepted("localhost", "sslmode=require"));
    assert!(is_accepted("localhost", &format!("sslmode=verify-full&{root}")));
    assert!(is_accepted("127.0.0.1", &format!("sslmode=verify-ca&{root}")));
    assert!(!is_accepted("127.0.0.1", &format!("sslmode=verify-full&{root}")), "another name");
    assert!(!is_accepted("localhost", &format!("sslmode=verify-ca&{other}")), "another authority");
    assert!(!is_accepted("localhost", &format!("sslmode=require&{other}")), "a named authority is used");
    assert!(!is_accepted("localhost", "sslmode=verify-full"), "no public authority has signed it");
    assert!(!is_accepted("localhost", "sslmode=verify-full&sslrootcert=/nonexistent"));
}

/// Two authorities, and a certificate for localhost by the first.
struct Certificates(TempDir);

impl Certificates {
    /// Makes them; `None` where openssl is not installed, which PostgreSQL's packages need too.
    fn make() -> Option<Self> {
        let made = Self(tempdir().unwrap());
        for name in ["ca", "other"] {
            let subject = format!("/CN={name}");
            let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
            made.openssl(&[
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                &subject,
                "-keyout",
                &key,
                "-out",
                &certificate,
            ])?;
        }
        made.openssl(&[
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=localhost",
            "-keyout",
            "server.key",
            "-out",
            "server.csr",
        ])?;
        std::fs::write(made.path("names"), "subjectAltName=DNS:localhost\n").unwrap();
        made.openssl(&[
            "x509",
            "-req",
            "-in",
            "server.csr",
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "names",
            "-out",
            "server.crt",
        ])?;
        Some(made)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        Path::new(self.0.path()).join(name)
    }

    #[expect(clippy::disallowed_methods, reason = "tests run programs")]
    fn openssl(&self, arguments: &[&str]) -> Option<()> {
        let output = Command::new("openssl").args(arguments).current_dir(self.0.path()).output().ok()?;
        assert!(output.status.success(), "{output:?}");
        Some(())
    }
}
