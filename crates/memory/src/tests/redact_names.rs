use std::borrow::Cow;

use super::redact::{HEX, check};
use crate::redact;

/// What is known by its name: what stands before the secret, the secret, and what stands behind it.
fn named() -> Vec<(&'static str, String, &'static str)> {
    let mixed = "aB3dE5gH7jK9mN1pQ3sT5vX7";
    vec![
        ("PASSWORD=", "hunter2hunter2".to_owned(), ""),
        ("export DB_PASSWORD='", "correct-horse-battery".to_owned(), "'"),
        ("DB_PASSWORD=\"", "correct horse battery staple".to_owned(), "\" run"),
        ("\"passphrase\": \"", "h0rseback battery staple".to_owned(), "\", \"x\": \"y\""),
        ("PGPASSWORD=", "p@ss,w;rd&x".to_owned(), " psql"),
        ("DB_PASSWORD=\"", "correct horse battery st4ple".to_owned(), "\""),
        ("export DB_PASSWORD='", "kx7 mn4qq zz81".to_owned(), "'"),
        ("PASSWORD=", "ab12\\$cd34kk".to_owned(), " next"),
        ("PASSWORD=", "*4fk29dfkQ".to_owned(), ""),
        ("PASSWORD=", "&9dkfQ2mmx".to_owned(), ""),
        ("PASSWORD='", "$ecr3t!Pw91x".to_owned(), "'"),
        ("DB_PASS=", "zk81mmQpw".to_owned(), ""),
        ("SECRET_KEY_BASE=", HEX.repeat(4), ""),
        ("SECRET=", "zUp3rGeh3im99".to_owned(), ""),
        ("TOKEN=", mixed.to_owned(), ""),
        ("HEROKU_API_KEY=", "01234567-89ab-cdef-0123-456789abcdef".to_owned(), ""),
        ("DD_API_KEY=", HEX.repeat(2), ""),
        ("DD_APP_KEY: ", format!("{}01234567", HEX.repeat(2)), ""),
        ("TWILIO_AUTH_TOKEN=", HEX.repeat(2), ""),
        ("\"password\": \"", "hunter2!x".to_owned(), "\","),
        ("password: ", "hunter2hunter2".to_owned(), "\n"),
        ("api_key = '", mixed.to_owned(), "'"),
        ("X-Api-Key: ", mixed.to_owned(), ""),
        ("--token=", mixed.to_owned(), " run"),
        ("?access_token=", mixed.to_owned(), "&page=2"),
        ("Authorization: Basic ", "YXBwOnMzY3IzdFBhc3M=".to_owned(), "\r\n"),
        ("authorization: bearer ", mixed.to_owned(), "\""),
        ("\"Authorization\": \"Bearer ", mixed.to_owned(), "\""),
        ("AccountName=a;AccountKey=", format!("{mixed}/{mixed}+{mixed}=="), ";EndpointSuffix=b"),
        ("postgres://app:", "s3cr3t".to_owned(), "@db:5432/app"),
        ("mongodb+srv://app:", "p@ss:wörd".to_owned(), "@cluster.example.net/"),
        ("redis://:", "longpass9".to_owned(), "@cache:6379"),
        ("https://build:", mixed.to_owned(), "@example.com/x.git"),
        ("https://a.example/c?sv=1&sig=", format!("{mixed}{mixed}"), "&se=2"),
        ("password: \"", "kzqwvmhjbnrt".to_owned(), "\""),
        ("\"Authorization\": \"Bearer ", "kzqwvmHj".to_owned(), "\""),
        ("Authorization: Bearer \"", "kzqwvmHj".to_owned(), "\""),
    ]
}

#[test]
fn a_secret_is_known_by_the_name_before_it() {
    for (before, secret, after) in named() {
        check(&format!("a\n{before}{secret}{after}"), &format!("a\n{before}[redacted]{after}"));
        let raw = serde_json::to_string(&format!("a\n{before}{secret}{after}")).unwrap();
        let expected = serde_json::to_string(&format!("a\n{before}[redacted]{after}")).unwrap();
        check(&raw, &expected);
    }
}

#[test]
fn what_stands_for_a_value_stays() {
    let same = [
        "PASSWORD=changeme",
        "PASSWORD=$DB_PASSWORD",
        "PASSWORD=${DB_PASSWORD:-x}",
        "PASSWORD=",
        "PASSWORD=\"\"",
        "TOKEN=$(cat token)",
        "TOKEN: ${{ secrets.GITHUB_TOKEN }}",
        "TOKEN={{ .Values.token }}",
        "TOKEN=<your token>",
        "PASSWORD=<32 characters>",
        "PASSWORD=\"$DB_PASSWORD1\" run",
        "FIRST_PASS=enabled",
        "COMPASS=north12345",
        "3 passed, PASS: all8tests",
        "API_KEY=YOUR_API_KEY_HERE",
        "API_KEY=xxxxxxxxxxxxxxxx",
        "password: str",
        "password: string;",
        "password: ********",
        "token = get_token()",
        "token = get_token2(a)",
        "let token = self.token2.clone();",
        "token: Token::Ident2,",
        "secret: &'static str",
        "if token == expected1234 {",
        "password != other1234",
        "PWD=/home/user1/project2",
        "OLDPWD=/home/user1",
        "SSH_KEY=/home/user1/.ssh/id_ed25519",
        "key: value1234",
        "monkey=banana12345678901234",
        "tokens: 123456789",
        "token: 1234",
        "max_token=8192",
        "\"token\": null, \"password\": true",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "Authorization: Bearer token",
        "Authorization: Basic",
        "\"Authorization\": \"kzqwvmHj\"",
        "design_sig=aB3dE5gH7jK9mN1pQ3sT5vX7aB3dE5gH7jK9mN1pQ3sT5vX7",
        "the password: see below",
        "postgres://localhost:5432/app",
        "postgres://user:password@localhost/app",
        "postgres://user:$PASSWORD@localhost/app",
        "postgres://user:${PASSWORD}@localhost/app",
        "http://localhost:8080/a@b",
        "ssh://git@github.com:22/a",
        "12:34:56 a token: the lexer's",
        "use crate::token::Token;",
    ];
    for text in same {
        assert!(matches!(redact(text), Cow::Borrowed(kept) if kept == text), "{text}: {}", redact(text));
    }
}

/// Each name with a random value, as in an environment file, in JSON and in YAML.
#[test]
fn a_word_counts_anywhere_in_a_name() {
    let names = "DB_PASSWORD_PROD API_KEY_2 PASSWORD1 STRIPE_SECRET_KEY_LIVE AWS_BEARER_TOKEN_BEDROCK GH_PAT ADMIN_PW \
        FERNET_KEY DEPLOY_KEY TOKEN_GITHUB JWT_SECRET_V2 CLIENT_SECRET_PROD HMAC_KEY ENC_KEY SERVICE_ACCOUNT_KEY ROOT_PW \
        DB_PASS_PROD SMTP_PASS_1 API_TOKEN_STAGING APIKEY_PROD PASSPHRASE_OLD REDIS_PWD_DEV SESSION_SECRET_2 \
        ENCRYPTION_KEY_V1 WEBHOOK_SECRET_STRIPE GITLAB_PAT NPM_AUTH_TOKEN_RO STORAGE_KEY DJANGO_SECRET RAILS_MASTER_KEY";
    for name in names.split_whitespace() {
        let value = "kz7Q4w8V2mhJbn5r";
        check(&format!("{name}={value}\n"), &format!("{name}=[redacted]\n"));
        check(&format!("{{\"{name}\":\"{value}\"}}"), &format!("{{\"{name}\":\"[redacted]\"}}"));
        let yaml = name.to_lowercase();
        check(&format!("  {yaml}: {value}\n"), &format!("  {yaml}: [redacted]\n"));
    }
    for name in
        ["TOKEN_URL", "PASSWORD_FILE", "SECRET_NAME", "TOKEN_TYPE", "CACHE_KEY", "PUBLIC_KEY", "tokenKind", "monkey"]
    {
        let same = format!("{name}=kz7Q4w8V2mhJbn5r");
        check(&same, &same);
    }
    let same = r#""AWS::IAM::AccessKey": "72c2a1b3d4e5f60718293a4b5c6d7e8f""#;
    check(same, same);
}

#[test]
fn a_password_with_signs_goes_whole() {
    for value in [
        "aB3,x;y&z|w",
        "q7<r>(s){t}[u]v",
        "kz$(w7q!v",
        "x7{{mh!vq2",
        "t7...qB!mw",
        "(k7#vm)wQ2",
        ")k7#vm,wQ2",
        ";k7>vm:wQ2",
    ] {
        check(&format!("db:\n  password: {value}\n  host: x\n"), "db:\n  password: [redacted]\n  host: x\n");
        check(&format!("{{\"password\":\"{value}\"}}"), "{\"password\":\"[redacted]\"}");
        check(&format!("DB_PASSWORD={value}\n"), "DB_PASSWORD=[redacted]\n");
    }
    check("api_key: \"p2gvgbjl\"", "api_key: \"[redacted]\"");
}

/// What stands before a secret and behind it, by the place where it is written.
#[test]
fn a_secret_is_known_by_its_place() {
    let value = "kz7Q4w8V2mhJbn5rXt9pLc3d";
    let login = "bWU6a3o3UTR3OFYybWhK";
    for (before, secret, after) in [
        ("machine h login me password ", value, "\n"),
        ("machine h\n  login me\n  password ", "word4", "\n"),
        ("Cookie: theme=dark; session=", value, "\n"),
        ("Set-Cookie: sid=", value, "; Path=/\n"),
        ("{\"auths\":{\"r\":{\"auth\":\"", login, "\"}}}"),
        ("SignedHeaders=host;range, Signature=", "0a1b2c3d4e5f60710a1b2c3d4e5f6071", "\n"),
        ("db:\n  password:\n    ", value, "\n  host: x\n"),
        ("db:\n  password: |\n    ", value, "\n  host: x\n"),
        ("db:\n  token: >-\n    ", value, "\n  host: x\n"),
        ("- name: DB_PASSWORD\n  value: ", value, "\n"),
        ("[{\"name\":\"DB_PASSWORD\",\"value\":\"", value, "\"}]"),
        ("[{\"value\":\"", value, "\",\"name\":\"DB_PASSWORD\"}]"),
        ("<add key=\"ClearTextPassword\" value=\"", value, "\" />"),
        ("<password>", value, "</password>"),
        ("<wsse:Password Type=\"PasswordText\">", value, "</wsse:Password>"),
        ("db.example.com:5432:app:me:", value, "\n"),
        ("*:*:*:postgres:", value, "\n"),
        ("{\"db_password\":{\"sensitive\":true,\"type\":\"string\",\"value\":\"", value, "\"}}"),
        ("output \"db_password\" {\n  value = \"", value, "\"\n}\n"),
        ("      + password             = \"", value, "\"\n"),
        ("setenv DB_PASSWORD ", value, "\n"),
        ("set -gx API_TOKEN ", value, "\n"),
        ("ALTER USER app WITH PASSWORD '", value, "';"),
        ("CREATE USER 'a'@'h' IDENTIFIED BY '", value, "';"),
        ("h1 ansible_host=10.0.0.1 ansible_ssh_pass=", "q7(r!v2mh", " ansible_user=a\n"),
        ("Bearer ", value, "\n"),
        ("kind: Secret\nmetadata:\n  name: x\ndata:\n  thing: ", "a3o3UTR3OFY=", "\n"),
        ("{\"kind\":\"Secret\",\"data\":{\"thing\":\"", "a3o3UTR3OFY=", "\"}}"),
    ] {
        check(&format!("{before}{secret}{after}"), &format!("{before}[redacted]{after}"));
    }
}

#[test]
fn only_a_name_in_capitals_before_a_bare_sign_is_of_an_environment() {
    check("PASSWORD=kzqwvm", "PASSWORD=[redacted]");
    check("DB2_PASSWORD=kzqwvm X=1", "DB2_PASSWORD=[redacted] X=1");
    check("PASSWORD='kzqwvm hj' X=1", "PASSWORD='[redacted]' X=1");
    check("PASSWORD='kzqwvm hj\nX='1'", "PASSWORD='[redacted] hj\nX='1'");
    for same in [
        "PASSWORD = kzqwvm",
        "PASSWORD= kzqwvm",
        "PASSWORD =kzqwvm",
        "PASSWORD: kzqwvm",
        "Password=kzqwvm",
        "password: \"see the manual of it\"",
    ] {
        check(same, same);
    }
}

#[test]
fn comparisons_and_calls_assign_nothing() {
    let value = "kz7q4w8v2mhj";
    check(&format!("token = {value}"), "token = [redacted]");
    check(&format!("token => {value}"), "token => [redacted]");
    check(&format!("token := {value}"), "token := [redacted]");
    for sign in ["==", "=~", "!=", "<=", ">=", "+=", "::", "~="] {
        for same in [format!("token {sign} {value}"), format!("token{sign}{value}")] {
            check(&same, &same);
        }
    }
    for same in [format!("token = {value}("), format!("token = {value}[0]")] {
        check(&same, &same);
    }
}

#[test]
fn the_password_of_an_address_has_three_characters_and_ends_before_the_host() {
    check("https://u:q7v@h", "https://u:[redacted]@h");
    check("https://u:q7@v@h", "https://u:[redacted]@h");
    check("https://u:q7@h", "https://u:q7@h");
    for sign in ["/", "?", "#", ","] {
        check(&format!("https://u:q7{sign}vm@h"), "https://u:[redacted]@h");
        for same in [format!("https://u:80{sign}vm@h"), format!("https://h.example:q7{sign}vm@h")] {
            check(&same, &same);
        }
    }
    for sign in ["<", ">", "(", ")", " ", "\"", "'", "`", "\n"] {
        let same = format!("https://u:q7{sign}vm@h");
        check(&same, &same);
    }
    for sign in ["$", "[", "{", "*", "%"] {
        let same = format!("https://u:{sign}q7vm@h");
        check(&same, &same);
    }
}
