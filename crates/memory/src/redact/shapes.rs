//! The table of token prefixes, and how the text behind each of them must look.

/// The characters a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Letters and digits.
    Alnum,
    /// Hexadecimal digits.
    Hex,
    /// Capital letters and digits.
    Upper,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits and `-`.
    Dashed,
    /// Letters, digits, `_` and `-`.
    Token,
    /// The same and `.`.
    Dotted,
    /// Letters, digits, `_`, `-`, `.` and `=`.
    Web,
    /// Capital letters, digits and `-`.
    UpperDashed,
    /// Letters, digits, `_`, `-`, `.`, `/`, `+` and `@`, as in the path of an address.
    Path,
    /// Both alphabets of base64, and `=`.
    Base64,
}

impl Body {
    const ALL: [Self; 11] = [
        Self::Hex,
        Self::Upper,
        Self::Alnum,
        Self::Word,
        Self::Dashed,
        Self::Token,
        Self::Dotted,
        Self::Web,
        Self::UpperDashed,
        Self::Path,
        Self::Base64,
    ];

    /// Returns whether a token of this kind may hold the byte.
    #[inline]
    pub(crate) fn has(self, byte: u8) -> bool {
        HOLDERS[usize::from(byte)] >> self as u16 & 1 == 1
    }

    const fn holds(self, byte: u8) -> bool {
        let upper_or_digit = byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let is_sign = match self {
            Self::Hex => return byte.is_ascii_hexdigit(),
            Self::Upper => return upper_or_digit,
            Self::UpperDashed => return upper_or_digit || byte == b'-',
            Self::Alnum => false,
            Self::Word => byte == b'_',
            Self::Dashed => byte == b'-',
            Self::Token => matches!(byte, b'_' | b'-'),
            Self::Dotted => matches!(byte, b'_' | b'-' | b'.'),
            Self::Web => matches!(byte, b'_' | b'-' | b'.' | b'='),
            Self::Path => matches!(byte, b'_' | b'-' | b'.' | b'/' | b'@' | b'+'),
            Self::Base64 => matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'),
        };
        byte.is_ascii_alphanumeric() || is_sign
    }
}

/// For every byte the kinds of token that may hold it, as bits.
static HOLDERS: [u16; 256] = {
    let mut holders = [0; 256];
    let mut at = 0;
    while at < 256 * Body::ALL.len() {
        let (byte, body) = (at / Body::ALL.len(), Body::ALL[at % Body::ALL.len()]);
        if body.holds(byte as u8) {
            holders[byte] |= 1 << body as u16;
        }
        at += 1;
    }
    holders
};

/// A kind of token that is known by its first characters.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What it begins with. At the anchor at least two characters have been read.
    pub(crate) prefix: &'static [u8],
    /// Which byte of the prefix the scanner looks for: one that text rarely has, the third at the earliest, and one of
    /// [`ANCHORS`].
    pub(crate) anchor: usize,
    /// What follows the prefix.
    pub(crate) body: Body,
    /// How many characters of `body` must follow.
    pub(crate) least: usize,
}

const fn shape(prefix: &'static str, anchor: usize, body: Body, least: usize) -> Shape {
    Shape { prefix: prefix.as_bytes(), anchor, body, least }
}

/// Every prefix, with the service that hands it out. The first row that matches decides.
pub(crate) const SHAPES: &[Shape] = &[
    // GitHub
    shape("ghp_", 3, Body::Word, 20),
    shape("gho_", 3, Body::Word, 20),
    shape("ghu_", 3, Body::Word, 20),
    shape("ghs_", 3, Body::Word, 20),
    shape("ghr_", 3, Body::Word, 20),
    shape("github_pat_", 6, Body::Word, 16),
    // GitLab
    shape("glpat-", 5, Body::Dotted, 20),
    shape("glptt-", 5, Body::Token, 20),
    shape("gldt-", 4, Body::Token, 20),
    shape("glrt-", 4, Body::Dotted, 20),
    shape("glcbt-", 5, Body::Token, 20),
    shape("glft-", 4, Body::Token, 20),
    shape("glsoat-", 6, Body::Token, 20),
    shape("glimt-", 5, Body::Token, 20),
    shape("glagent-", 7, Body::Token, 20),
    shape("gloas-", 5, Body::Token, 20),
    shape("glffct-", 6, Body::Token, 20),
    shape("GR1348941", 2, Body::Token, 20),
    // Anthropic, OpenAI, OpenRouter
    shape("sk-ant-", 2, Body::Token, 12),
    shape("sk-proj-", 2, Body::Token, 11),
    shape("sk-svcacct-", 2, Body::Token, 8),
    shape("sk-admin-", 2, Body::Token, 10),
    shape("sk-or-v1-", 2, Body::Token, 10),
    // Without a name only an unbroken run is a key: `sk-some-css-class` is none.
    shape("sk-", 2, Body::Alnum, 20),
    // Amazon Bedrock
    shape("ABSK", 3, Body::Base64, 80),
    shape("bedrock-api-key-", 7, Body::Base64, 30),
    // Hugging Face, Replicate, Groq, Perplexity, xAI
    shape("hf_", 2, Body::Alnum, 30),
    shape("api_org_", 7, Body::Alnum, 30),
    shape("r8_", 2, Body::Alnum, 37),
    shape("gsk_", 3, Body::Alnum, 40),
    shape("pplx-", 4, Body::Alnum, 40),
    shape("xai-", 3, Body::Alnum, 40),
    shape("nvapi-", 5, Body::Token, 40),
    shape("pcsk_", 4, Body::Word, 40),
    // Stripe
    shape("sk_live_", 7, Body::Alnum, 16),
    shape("sk_test_", 7, Body::Alnum, 16),
    shape("rk_live_", 7, Body::Alnum, 16),
    shape("rk_test_", 7, Body::Alnum, 16),
    shape("sk_prod_", 7, Body::Alnum, 16),
    shape("rk_prod_", 7, Body::Alnum, 16),
    shape("whsec_", 5, Body::Base64, 24),
    // Package registries: npm, PyPI, RubyGems, Docker Hub
    shape("npm_", 3, Body::Alnum, 30),
    shape("pypi-AgE", 4, Body::Token, 50),
    shape("rubygems_", 8, Body::Hex, 40),
    shape("dckr_pat_", 8, Body::Token, 20),
    shape("dckr_oat_", 8, Body::Token, 20),
    shape("CLOJARS_", 7, Body::Alnum, 60),
    // Artifactory
    shape("AKCp", 2, Body::Alnum, 60),
    shape("cmVmd", 2, Body::Alnum, 59),
    // Slack
    shape("xoxa-", 4, Body::Dashed, 10),
    shape("xoxb-", 4, Body::Dashed, 10),
    shape("xoxe-", 4, Body::Dashed, 10),
    shape("xoxo-", 4, Body::Dashed, 10),
    shape("xoxp-", 4, Body::Dashed, 10),
    shape("xoxr-", 4, Body::Dashed, 10),
    shape("xoxs-", 4, Body::Dashed, 10),
    shape("xapp-", 4, Body::Dashed, 10),
    shape("xoxe.xox", 4, Body::Dashed, 20),
    shape("hooks.slack.com/services/", 5, Body::Path, 10),
    shape("hooks.slack.com/workflows/", 5, Body::Path, 10),
    shape("hooks.slack.com/triggers/", 5, Body::Path, 10),
    // Discord
    shape("discord.com/api/webhooks/", 7, Body::Path, 40),
    shape("discordapp.com/api/webhooks/", 10, Body::Path, 40),
    // Microsoft Teams
    shape("webhook.office.com/webhookb2/", 7, Body::Path, 40),
    // Google
    shape("AIza", 2, Body::Token, 35),
    shape("ya29.", 4, Body::Token, 20),
    shape("GOCSPX-", 6, Body::Token, 20),
    // SendGrid, Mailgun, Brevo
    shape("SG.", 2, Body::Dotted, 40),
    shape("key-", 3, Body::Hex, 32),
    shape("xkeysib-", 7, Body::Dashed, 40),
    shape("xsmtpsib-", 8, Body::Dashed, 40),
    // DigitalOcean, Heroku, Shopify, Square
    shape("dop_v1_", 6, Body::Hex, 32),
    shape("doo_v1_", 6, Body::Hex, 32),
    shape("dor_v1_", 6, Body::Hex, 32),
    shape("HRKU-", 4, Body::Token, 30),
    shape("shpat_", 5, Body::Hex, 32),
    shape("shpca_", 5, Body::Hex, 32),
    shape("shppa_", 5, Body::Hex, 32),
    shape("shpss_", 5, Body::Hex, 32),
    shape("sq0atp-", 6, Body::Token, 22),
    shape("sq0csp-", 6, Body::Token, 22),
    shape("EAAA", 2, Body::Token, 22),
    // Facebook
    shape("EAA", 2, Body::Alnum, 100),
    // Alibaba, Cloudflare (origin), Databricks, ClickHouse, Yandex
    shape("LTAI", 3, Body::Alnum, 20),
    shape("v1.0-", 4, Body::Dashed, 100),
    shape("dapi", 2, Body::Hex, 32),
    shape("4b1d", 2, Body::Alnum, 38),
    shape("AQVN", 2, Body::Token, 35),
    shape("t1.", 2, Body::Web, 100),
    // Adobe, Atlassian, Contentful, Dropbox, Duffel, EasyPost, Flutterwave, Frame.io
    shape("p8e-", 3, Body::Alnum, 32),
    shape("ATATT3", 2, Body::Web, 100),
    shape("CFPAT-", 5, Body::Token, 40),
    shape("sl.", 2, Body::Web, 130),
    shape("duffel_live_", 6, Body::Web, 40),
    shape("duffel_test_", 6, Body::Web, 40),
    shape("EZAK", 3, Body::Alnum, 54),
    shape("EZTK", 3, Body::Alnum, 54),
    shape("FLWSECK_TEST-", 7, Body::Dashed, 12),
    shape("FLWPUBK_TEST-", 7, Body::Dashed, 32),
    shape("FLWSECK-", 7, Body::Dashed, 32),
    shape("fio-u-", 3, Body::Web, 60),
    // Defined Networking, Doppler, Dynatrace, Harness, Infracost, Intra42
    shape("dnkey-", 5, Body::Web, 60),
    shape("dp.pt.", 2, Body::Alnum, 40),
    shape("dp.st.", 2, Body::Dotted, 40),
    shape("dp.ct.", 2, Body::Alnum, 40),
    shape("dp.sa.", 2, Body::Alnum, 40),
    shape("dp.scim.", 2, Body::Alnum, 40),
    shape("dp.audit.", 2, Body::Alnum, 40),
    shape("dt0c01.", 6, Body::Dotted, 80),
    shape("dt0s01.", 6, Body::Dotted, 80),
    shape("pat.", 3, Body::Dotted, 66),
    shape("sat.", 3, Body::Dotted, 66),
    shape("ico-", 3, Body::Alnum, 32),
    shape("s-s4t2ud-", 8, Body::Hex, 64),
    shape("s-s4t2af-", 8, Body::Hex, 64),
    // Mapbox, Octopus Deploy, OpenShift, Plaid, Prefect, ReadMe
    shape("pk.eyJ", 2, Body::Dotted, 60),
    shape("sk.eyJ", 2, Body::Dotted, 60),
    shape("API-", 3, Body::Upper, 26),
    shape("sha256~", 6, Body::Token, 43),
    shape("access-sandbox-", 6, Body::Dashed, 36),
    shape("access-development-", 6, Body::Dashed, 36),
    shape("access-production-", 6, Body::Dashed, 36),
    shape("pnu_", 3, Body::Alnum, 36),
    shape("rdme_", 4, Body::Alnum, 70),
    // Scalingo, SettleMint, Shippo, SonarQube, Sourcegraph, Typeform
    shape("tk-us-", 2, Body::Token, 48),
    shape("sm_aat_", 2, Body::Alnum, 16),
    shape("sm_pat_", 2, Body::Alnum, 16),
    shape("sm_sat_", 2, Body::Alnum, 16),
    shape("shippo_live_", 6, Body::Hex, 40),
    shape("shippo_test_", 6, Body::Hex, 40),
    shape("squ_", 3, Body::Hex, 40),
    shape("sqp_", 3, Body::Hex, 40),
    shape("sqa_", 3, Body::Hex, 40),
    shape("sgp_", 3, Body::Word, 40),
    shape("tfp_", 3, Body::Web, 50),
    // Grafana, New Relic, Sentry, Postman, Linear, Figma, Notion
    shape("glsa_", 4, Body::Word, 32),
    shape("glc_", 3, Body::Base64, 32),
    shape("NRAK-", 4, Body::Upper, 27),
    shape("NRII-", 4, Body::Dashed, 30),
    shape("NRJS-", 4, Body::Hex, 19),
    shape("sntrys_", 6, Body::Base64, 40),
    shape("sntryu_", 6, Body::Hex, 40),
    shape("PMAK-", 4, Body::Dashed, 40),
    shape("lin_api_", 7, Body::Alnum, 32),
    shape("figd_", 4, Body::Token, 40),
    shape("ntn_", 3, Body::Alnum, 40),
    shape("secret_", 6, Body::Alnum, 40),
    // Vault, age, Pulumi, Tailscale, PlanetScale, Supabase, Netlify, Fly, 1Password
    shape("hvs.", 3, Body::Token, 24),
    shape("hvb.", 3, Body::Token, 24),
    shape("AGE-SECRET-KEY-1", 3, Body::Upper, 50),
    shape("pul-", 3, Body::Hex, 40),
    shape("tskey-", 5, Body::Token, 20),
    shape("pscale_tkn_", 10, Body::Web, 32),
    shape("pscale_pw_", 9, Body::Web, 32),
    shape("pscale_oauth_", 6, Body::Web, 32),
    shape("sbp_", 3, Body::Hex, 40),
    shape("sb_secret_", 9, Body::Token, 20),
    shape("nfp_", 3, Body::Alnum, 36),
    shape("fm2_", 3, Body::Base64, 60),
    shape("fm1a_", 4, Body::Base64, 60),
    shape("fm1r_", 4, Body::Base64, 60),
    shape("fo1_", 3, Body::Token, 40),
    shape("A3-", 2, Body::UpperDashed, 30),
    shape("ops_eyJ", 3, Body::Base64, 60),
];

/// The bytes that are the anchor of some row.
pub(crate) const ANCHORS: &[u8] = b"-_.~z1ACIKTVp";

/// For every anchor the pairs of bytes that stand before it in some prefix, as bits.
///
/// One look here spares the comparison with every prefix at nearly every anchor of ordinary text. Bytes are folded to
/// five bits: a wrong yes costs a comparison, a wrong no does not happen.
static PAIRS: [[u32; 32]; 128] = {
    let mut pairs = [[0; 32]; 128];
    let mut at = 0;
    while at < SHAPES.len() {
        let shape = &SHAPES[at];
        let (before, last) = (shape.prefix[shape.anchor - 2], shape.prefix[shape.anchor - 1]);
        pairs[shape.prefix[shape.anchor] as usize][(last & 31) as usize] |= 1 << (before & 31);
        at += 1;
    }
    pairs
};

/// Returns whether some prefix may have its anchor at the last of three bytes.
#[inline]
pub(crate) fn may_match(before: u8, last: u8, anchor: u8) -> bool {
    PAIRS[usize::from(anchor & 127)][usize::from(last & 31)] >> (before & 31) & 1 == 1
}

/// Returns the shapes that may have their anchor at `at`.
pub(crate) fn shapes_at(bytes: &[u8], at: usize) -> impl Iterator<Item = &'static Shape> {
    let near = &bytes[at.saturating_sub(2)..=at];
    let may_match = matches!(*near, [before, last, anchor] if may_match(before, last, anchor));
    let shapes = if may_match { SHAPES } else { &[] };
    shapes.iter().filter(move |shape| shape.prefix[shape.anchor - 2..=shape.anchor] == *near)
}
